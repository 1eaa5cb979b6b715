import { request } from '../api.js';
import { announce } from '../dom.js';
import { ask } from '../forms.js';
import { browseTexts, commonTexts } from '../texts.js';

/** Name and description of something, as far as they are known. */
type Named = { name?: string | undefined; description?: string | undefined };

/** The fields for a name and a description. */
export function nameFields({ name, description }: Named = {}) {
  return [
    { name: 'name', label: commonTexts.name, value: name, required: true },
    { name: 'description', label: browseTexts.descriptionOptional, type: 'textarea', value: description },
  ];
}

/** A dialog that creates something from a name and a description. If that fails, it stays open and shows the server's message. */
export function askToCreate(options: {
  title: string;
  /** label of the button */
  action: string;
  /** label of a check box */
  option?: string;
  values?: Named;
  create: (values: { name: string; description: string; option: boolean }) => Promise<void>;
}) {
  const { title, action, option, values, create } = options;
  ask({
    title,
    action,
    fields: [...nameFields(values), ...(option ? [{ name: 'option', label: option, type: 'checkbox' }] : [])],
    send: ({ name = '', description = '', option: ticked }) => create({ name, description, option: ticked === 'true' }),
  });
}

/** Removes what is at a path of the API. @returns the message of the server */
export async function removeAt(path: string) {
  return (await request<{ message: string }>('DELETE', path)).message;
}

/** Asks before something is removed. `remove` resolves with the message to show afterwards. */
export function askToRemove({ title, text, remove }: { title: string; text: string; remove: () => Promise<string> }) {
  ask({ title, text, action: commonTexts.delete, kind: 'danger', send: async () => announce(await remove()) });
}
