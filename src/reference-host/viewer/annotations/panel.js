// @ts-check
import { announce, errorNotice, fill, h, icon, messageOf } from '../dom.js';
import { askToCreate, askToRemove } from '../browse/create-dialog.js';
import { formatCount } from '../format.js';
import { currentUser } from '../session.js';
import { forgetEdits } from './edits.js';
import { nameOf } from './model.js';
import { createAnnotation, isConflict, listAnnotations, mayAnnotate, removeAnnotation, renameAnnotation } from './requests.js';

/**
 * @typedef {import('./model.js').AnnotationRecord} AnnotationRecord
 * @typedef {import('../browse/model.js').Item} Item
 */

/**
 * The list of an item's annotations. Those who may not change them see no buttons for it.
 *
 * @param {object} options
 * @param {Item} options.item
 * @param {AbortSignal} options.signal
 * @param {(records: AnnotationRecord[]) => (id: string) => boolean} options.onList takes the list, answers which are visible
 * @param {(id: string, visible: boolean) => void} options.onVisible
 * @param {(id: string | null) => HTMLElement | null} options.onEdit begins or ends work on one, answers what it is done with
 * @param {() => Promise<unknown>} options.onRenamed loads the one that is worked on again
 * @param {(reason: string) => Promise<string>} options.onConflict the same where somebody else was first; answers what to say
 */
export function annotationPanel({ item, signal, onList, onVisible, onEdit, onRenamed, onConflict }) {
  /** @type {AnnotationRecord[]} */
  let records = [];
  let mayCreate = false;
  /** @type {string | null} */
  let editedId = null;
  /** @type {HTMLElement | null} */
  let editor = null;
  const list = h('ul', { class: 'annotation-list', 'aria-label': 'Annotations' });
  const message = h('p', { class: 'form-error', role: 'alert', 'data-testid': 'annotation-message' });
  const bottom = h('div', {});
  const element = h('div', { class: 'annotation-panel' }, h('p', { class: 'quiet-text' }, 'Loading…'));
  void load();
  return {
    element,
    /** @param {string} text */
    say(text) {
      message.textContent = text;
    },
    refresh: show,
    /** Takes another version of an annotation. @param {AnnotationRecord} record */
    update(record) {
      records = records.map((known) => (known._id === record._id ? record : known));
      show();
    },
  };

  async function load() {
    try {
      const asked = currentUser() === null ? false : mayAnnotate(item.folderId, signal);
      [records, mayCreate] = await Promise.all([listAnnotations(item._id, signal), asked]);
      if (signal.aborted) return;
      fill(element, list, message, bottom);
      show();
    } catch (error) {
      if (!signal.aborted) fill(element, errorNotice(error));
    }
  }

  function show() {
    const isVisible = onList(records);
    const empty = records.length === 0 && h('li', { class: 'quiet-text' }, 'No annotations yet.');
    fill(list, ...records.map((record) => row(record, isVisible(record._id))), empty);
    const add = h('button', { class: 'button', type: 'button', onclick: create }, icon('plus'), 'New annotation');
    fill(bottom, mayCreate && add);
  }

  /** @param {AnnotationRecord} record @param {boolean} visible */
  function row(record, visible) {
    const { _id: id, _elementCount: count } = record;
    const name = nameOf(record);
    const box = h('input', { type: 'checkbox', onchange: () => onVisible(id, box.checked) });
    box.checked = visible;
    const mayEdit = mayCreate && record._accessLevel >= 1;
    const isEdited = id === editedId;
    return h(
      'li',
      { class: isEdited ? 'annotation edited' : 'annotation' },
      h(
        'div',
        { class: 'annotation-row' },
        h('label', { title: record.annotation.description ?? name }, box, h('span', { class: 'annotation-name' }, name)),
        h('span', { class: 'count', title: `${formatCount(count)} ${count === 1 ? 'shape' : 'shapes'}` }, formatCount(count)),
        mayEdit &&
          rowButton('pencil', isEdited ? `Stop editing ${name}` : `Edit ${name}`, isEdited, () => edit(isEdited ? null : id)),
      ),
      isEdited && editor,
      isEdited &&
        h(
          'div',
          { class: 'annotation-whole' },
          h('button', { class: 'link-button', type: 'button', onclick: () => rename(record) }, 'Rename annotation'),
          h('button', { class: 'link-button', type: 'button', onclick: () => remove(record) }, 'Delete annotation'),
        ),
    );
  }

  /** @param {string | null} id */
  function edit(id) {
    message.textContent = '';
    editedId = id;
    editor = onEdit(id);
    show();
  }

  function create() {
    askToCreate({
      title: 'New annotation',
      action: 'Create annotation',
      async create({ name, description }) {
        const record = await createAnnotation(item._id, { name, description });
        if (signal.aborted) return;
        records = [...records, record];
        show();
        edit(record._id);
        announce(`Created ${name}`);
      },
    });
  }

  /** The newest version that is known. @param {AnnotationRecord} record */
  function latest(record) {
    return records.find(({ _id }) => _id === record._id) ?? record;
  }

  /** Waits for a change; where somebody else was first, their version is there for the next attempt. @template T @param {Promise<T>} change */
  async function orConflict(change) {
    try {
      return await change;
    } catch (error) {
      throw isConflict(error) ? new Error(await onConflict(messageOf(error))) : error;
    }
  }

  /** @param {AnnotationRecord} shown */
  function rename(shown) {
    const { annotation } = latest(shown);
    askToCreate({
      title: `Rename “${nameOf(latest(shown))}”`,
      action: 'Rename',
      values: { name: annotation.name ?? '', description: annotation.description ?? '' },
      async create(words) {
        await orConflict(renameAnnotation(latest(shown), words));
        if (!signal.aborted) await onRenamed();
      },
    });
  }

  /** @param {AnnotationRecord} record */
  function remove(record) {
    askToRemove({
      title: `Delete “${nameOf(record)}”?`,
      text: `The annotation with its ${formatCount(record._elementCount)} shapes is removed.`,
      async remove() {
        await orConflict(removeAnnotation(latest(record)));
        forgetEdits(record._id);
        records = records.filter(({ _id }) => _id !== record._id);
        if (editedId === record._id) edit(null);
        else show();
        return `Deleted ${nameOf(record)}`;
      },
    });
  }
}

/** @param {Parameters<typeof icon>[0]} picture @param {string} name @param {boolean} pressed @param {() => void} onclick */
function rowButton(picture, name, pressed, onclick) {
  const properties = {
    class: 'button icon-button',
    type: 'button',
    title: name,
    'aria-label': name,
    'aria-pressed': String(pressed),
    onclick,
  };
  return h('button', properties, icon(picture));
}
