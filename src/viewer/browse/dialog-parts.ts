import { request } from '../api.js';
import { showMessage } from '../dom.js';
import { showFormDialog } from '../forms.js';
import { browseTexts, commonTexts } from '../texts.js';

/** The fields for a name and a description, with their current values. */
export function nameFields({ name, description }: { name?: string | undefined; description?: string | null | undefined } = {}) {
  return [
    { name: 'name', label: commonTexts.name, value: name, required: true },
    { name: 'description', label: browseTexts.descriptionOptional, type: 'textarea', value: description ?? '' },
  ];
}

/** Removes a document. @returns the message of the server */
export async function removeDocument(path: `${'group' | 'user'}/${string}`) {
  return (await request('DELETE', path)).message;
}

/** Asks before something is removed. `remove` resolves with the message to show afterwards. */
export function askToRemove({ title, text, remove }: { title: string; text: string; remove: () => Promise<string> }) {
  showFormDialog({ title, text, action: commonTexts.delete, kind: 'danger', send: async () => showMessage(await remove()) });
}
