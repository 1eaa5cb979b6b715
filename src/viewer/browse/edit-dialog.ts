import { request } from '../api.js';
import { append, button, h, showMessage } from '../dom.js';
import { showFormDialog } from '../forms.js';
import { browseTexts, commonTexts } from '../texts.js';
import { nameFields } from './dialog-parts.js';
import type { Item, Place } from './browse-model.js';

type Metadata = Record<string, unknown>;

/** A form for name, description and metadata of a document. Only changes are sent. */
export function showEditDialog({ type, doc }: Pick<ListEntry, 'type' | 'doc'>, onSaved: () => Promise<void>) {
  const { _id: id, name, description = '', meta = {} } = doc;
  const editor = metadataEditor(meta);
  const dialog = showFormDialog({
    title: browseTexts.editNamed(name),
    action: commonTexts.save,
    fields: nameFields({ name, description }),
    content: [editor.element],
    async send(values) {
      const changes = editor.readChanges();
      // Metadata is sent first, because keys are refused more often than names.
      if (Object.keys(changes).length > 0) await request('PUT', `${type}/${id}/metadata`, { json: changes });
      const isRenamed = values.name !== name || values.description !== description;
      const saved = isRenamed ? await request('PUT', `${type}/${id}`, { form: values }) : doc;
      await onSaved();
      if (isRenamed && saved.name !== values.name?.trim()) showMessage(browseTexts.nameTaken(saved.name));
    },
  });
  dialog.classList.add('wide');
}

/** The text for a value in a field. A string stays as it is, unless it would be read as JSON. */
function toText(value: unknown) {
  return typeof value === 'string' && !isJson(value) ? value : JSON.stringify(value);
}

/** Whether a text is read as JSON. There are two exceptions: `null`, because it would remove the key, and numbers that are too large to be exact. */
function isJson(text: string) {
  try {
    const parsed = JSON.parse(text, (_key, value) => {
      if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) throw new RangeError();
      return value;
    });
    return parsed !== null;
  } catch {
    return false;
  }
}

function metadataEditor(meta: Metadata) {
  const list = h('ul.metadata-rows.column');
  const add = button(browseTexts.addRow, () => addRow().focus(), { icon: 'plus' });
  for (const [key, value] of Object.entries(meta)) addRow(key, toText(value));
  const hint = h('p.hint.break.quiet-text.small', browseTexts.metadataHint);
  const element = h('fieldset.stack.column', h('legend', browseTexts.metadata), list, hint, h('div', add));
  return { element, readChanges };

  function addRow(key = '', value = '') {
    const number = list.children.length + 1;
    const input = h('input.meta-key', { 'aria-label': browseTexts.keyOf(number), placeholder: commonTexts.name });
    const area = h('textarea', { rows: 1, 'aria-label': browseTexts.valueNumber(number), placeholder: browseTexts.value });
    const remove = button('', () => item.remove(), { icon: 'close', name: browseTexts.removeRow(number) });
    input.value = key;
    area.value = value;
    const item = h('li', input, area, remove);
    append(list, [item]);
    return input;
  }

  /** The changes to send; `null` removes a key. @throws if a key appears twice */
  function readChanges(): Metadata {
    const typedValues: Metadata = Object.create(null);
    for (const item of list.children) {
      const [key = '', text = ''] = [...item.querySelectorAll<HTMLInputElement>('input, textarea')].map(({ value }) => value);
      if (key === '' && text === '') continue;
      if (key in typedValues) throw new Error(browseTexts.metadataTwice(key));
      const isSame = Object.hasOwn(meta, key) && text === toText(meta[key]);
      typedValues[key] = isSame ? meta[key] : isJson(text) ? JSON.parse(text) : text;
    }
    const removedKeys = Object.keys(meta).filter((key) => !(key in typedValues));
    const changedEntries = Object.entries(typedValues).filter(
      ([key, value]) => JSON.stringify(value) !== JSON.stringify(meta[key]),
    );
    return Object.fromEntries([...removedKeys.map((key) => [key, null]), ...changedEntries]);
  }
}

/** A document in a list, where it can be selected, and the user's level on it: 0 read, 1 write, 2 administer. */
export type ListEntry = PlaceEntry | { type: 'item'; doc: Item; level: number };

/** A collection or folder in a list. */
export type PlaceEntry = { type: 'collection' | 'folder'; doc: Place; level: number };
