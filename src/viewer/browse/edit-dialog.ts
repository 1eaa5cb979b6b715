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
      const savedDocument = isRenamed ? await request('PUT', `${type}/${id}`, { form: values }) : doc;
      await onSaved();
      if (isRenamed && savedDocument.name !== values.name?.trim()) showMessage(browseTexts.nameTaken(savedDocument.name));
    },
  });
  dialog.classList.add('wide');
}

/** The text for a value in a field. A string is shown unchanged, unless it would be read as JSON. */
function toText(value: unknown) {
  return typeof value === 'string' && !isJson(value) ? value : JSON.stringify(value);
}

/** Whether a typed text is read as JSON. Exceptions are `null`, which would remove the key, and numbers that are too large to be exact. */
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
  const addButton = button(browseTexts.addRow, () => addRow().focus(), { icon: 'plus' });
  for (const [key, value] of Object.entries(meta)) addRow(key, toText(value));
  const hint = h('p.hint.break.quiet-text.small', browseTexts.metadataHint);
  const element = h('fieldset.stack.column', h('legend', browseTexts.metadata), list, hint, h('div', addButton));
  return { element, readChanges };

  function addRow(key = '', value = '') {
    const rowNumber = list.children.length + 1;
    const keyInput = h('input.meta-key', { 'aria-label': browseTexts.keyOf(rowNumber), placeholder: commonTexts.name });
    const valueInput = h('textarea', {
      rows: 1,
      'aria-label': browseTexts.valueNumber(rowNumber),
      placeholder: browseTexts.value,
    });
    const removeButton = button('', () => row.remove(), { icon: 'close', name: browseTexts.removeRow(rowNumber) });
    keyInput.value = key;
    valueInput.value = value;
    const row = h('li', keyInput, valueInput, removeButton);
    append(list, [row]);
    return keyInput;
  }

  /** The changes to send; `null` removes a key. @throws if a key appears twice */
  function readChanges(): Metadata {
    const typedValues: Metadata = Object.create(null);
    for (const row of list.children) {
      const [key = '', text = ''] = [...row.querySelectorAll<HTMLInputElement>('input, textarea')].map(({ value }) => value);
      if (key === '' && text === '') continue;
      if (key in typedValues) throw new Error(browseTexts.metadataTwice(key));
      const isUnchanged = Object.hasOwn(meta, key) && text === toText(meta[key]);
      typedValues[key] = isUnchanged ? meta[key] : isJson(text) ? JSON.parse(text) : text;
    }
    const removedKeys = Object.keys(meta).filter((key) => !(key in typedValues));
    const changedEntries = Object.entries(typedValues).filter(
      ([key, value]) => JSON.stringify(value) !== JSON.stringify(meta[key]),
    );
    return Object.fromEntries([...removedKeys.map((key) => [key, null]), ...changedEntries]);
  }
}

/** A document in a list, with the user's access level: 0 read, 1 write, 2 administer. */
export type ListEntry = PlaceEntry | { type: 'item'; doc: Item; level: number };

/** A collection or folder in a list. */
export type PlaceEntry = { type: 'collection' | 'folder'; doc: Place; level: number };
