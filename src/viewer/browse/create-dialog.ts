import { announce } from '../dom.js';
import { ask } from '../forms.js';
import { browseTexts, commonTexts } from '../texts.js';

/** A dialog that creates something from a name and a description. If that fails, it stays open and shows the server's message. */
export function askToCreate(options: {
  title: string;
  /** label of the button */
  action: string;
  /** label of a check box */
  option?: string;
  /** initial values */
  values?: { name: string; description: string };
  create: (values: { name: string; description: string; option: boolean }) => Promise<void>;
}) {
  const { title, action, option, values, create } = options;
  ask({
    title,
    action,
    fields: [
      { name: 'name', label: commonTexts.name, value: values?.name, required: true },
      { name: 'description', label: browseTexts.descriptionOptional, type: 'textarea', value: values?.description },
      ...(option ? [{ name: 'option', label: option, type: 'checkbox' }] : []),
    ],
    send: ({ name = '', description = '', option: ticked }) => create({ name, description, option: ticked === 'true' }),
  });
}

/** Asks before something is removed. `remove` resolves with the message to show afterwards. */
export function askToRemove({ title, text, remove }: { title: string; text: string; remove: () => Promise<string> }) {
  ask({ title, text, action: commonTexts.delete, kind: 'danger', send: async () => announce(await remove()) });
}
