// @ts-check
import { announce, fill, h, icon, messageOf } from '../dom.js';
import { formatCount } from '../format.js';
import { groupPalette, Groups, styleOf } from './groups.js';
import { nameOf, newId } from './model.js';
import { groupsOf, isConflict, reloadAnnotation } from './requests.js';

/**
 * @typedef {import('./model.js').Element} Element
 * @typedef {import('./model.js').AnnotationRecord} AnnotationRecord
 * @typedef {import('./sheet.js').Sheet} Sheet
 */

/**
 * Work on one annotation: its groups, the shape that is selected, and what is not saved yet.
 *
 * @param {object} options
 * @param {Sheet} options.sheet
 * @param {AbortSignal} options.signal ends the work
 * @param {() => void} options.redraw
 * @param {(message: string) => void} options.report says what went wrong, or nothing any more
 * @param {() => void} options.onSaved called when the annotation is another
 */
export function editAnnotation({ sheet, signal, redraw, report, onSaved }) {
  const { edits } = sheet;
  const groups = new Groups();
  /** @type {string | null} */
  let selectedId = null;
  let saving = false;
  const palette = groupPalette(groups, { onChoose: () => undefined, onColor: recolor });
  const shapeForm = h('div', { class: 'shape-form' });
  const status = h('p', { class: 'edit-status', role: 'status' });
  const undoButton = h('button', { class: 'button', type: 'button', onclick: () => step('undo') }, icon('undo'), 'Undo');
  const redoButton = h('button', { class: 'button', type: 'button', onclick: () => step('redo') }, icon('redo'), 'Redo');
  const discardButton = h('button', { class: 'button', type: 'button', onclick: discard }, 'Discard');
  const saveButton = h('button', { class: 'button primary', type: 'button', onclick: () => void save() }, 'Save');
  const element = h(
    'div',
    { class: 'annotation-editor' },
    palette.element,
    shapeForm,
    status,
    h('div', { class: 'actions' }, undoButton, redoButton, discardButton, saveButton),
  );
  if (sheet.record._elementCount > 0) void learnColors();
  palette.show();
  select(null);
  showStatus();
  return { element, selected, select, make, commit, step, removeSelected, reload, takeOver };

  async function learnColors() {
    try {
      groups.learn(await groupsOf(sheet.record, signal));
      palette.show();
    } catch (error) {
      if (!signal.aborted) report(messageOf(error));
    }
  }

  function selected() {
    return selectedId === null ? null : sheet.find(selectedId);
  }

  /** @param {Element | null} next */
  function select(next) {
    selectedId = next?.id ?? null;
    showShape();
    redraw();
  }

  /** @param {Pick<Element, 'type'> & Partial<Element>} members @returns {Element} */
  function make(members) {
    const group = groups.chosen;
    const style = styleOf(members, groups.colorOf(group));
    return { ...members, ...style, ...(group !== null && { group }), id: newId() };
  }

  /** @param {Element | null} before @param {Element | null} after */
  function commit(before, after) {
    edits.change(before, after, sheet.record._version);
    showShape();
    showStatus();
    redraw();
  }

  function removeSelected() {
    const gone = selected();
    if (!gone) return;
    select(null);
    commit(gone, null);
  }

  /** @param {'undo' | 'redo'} way */
  function step(way) {
    edits[way]();
    if (selected() === null) selectedId = null;
    showShape();
    showStatus();
    redraw();
  }

  function discard() {
    edits.clear();
    select(null);
    showStatus();
    report('');
  }

  /** @param {string | null} group */
  function recolor(group) {
    const shape = selected();
    if (shape && (shape.group ?? null) === group) commit(shape, { ...shape, ...styleOf(shape, groups.colorOf(group)) });
  }

  function showStatus() {
    const count = edits.size;
    status.textContent =
      count === 0 ? 'All changes are saved.' : `${formatCount(count)} unsaved ${count === 1 ? 'change' : 'changes'}`;
    undoButton.disabled = saving || !edits.canUndo;
    redoButton.disabled = saving || !edits.canRedo;
    discardButton.disabled = saving || count === 0;
    saveButton.disabled = saving || count === 0;
  }

  function showShape() {
    const shape = selected();
    if (!shape) {
      fill(shapeForm, h('p', { class: 'quiet-text' }, 'Click a shape to select it, or choose a tool to draw.'));
      return;
    }
    const group = h('select', { id: 'shape-group', onchange: () => regroup(JSON.parse(group.value)) });
    for (const name of groups.names)
      group.append(h('option', { value: JSON.stringify(name) }, name === null ? 'No group' : name));
    group.value = JSON.stringify(shape.group ?? null);
    const label = h('input', {
      id: 'shape-label',
      type: 'text',
      autocomplete: 'off',
      onchange: () => relabel(label.value),
    });
    label.value = shape.label?.value ?? '';
    fill(
      shapeForm,
      h('div', { class: 'field' }, h('label', { for: 'shape-group' }, 'Group'), group),
      h('div', { class: 'field' }, h('label', { for: 'shape-label' }, 'Label'), label),
      h('button', { class: 'button', type: 'button', onclick: removeSelected }, icon('trash'), 'Delete shape'),
    );
  }

  /** @param {string | null} name */
  function regroup(name) {
    const shape = selected();
    if (!shape) return;
    const { group: _former, ...rest } = shape;
    commit(shape, { ...rest, ...(name !== null && { group: name }), ...styleOf(shape, groups.colorOf(name)) });
  }

  /** @param {string} text */
  function relabel(text) {
    const shape = selected();
    if (!shape) return;
    const { label, ...rest } = shape;
    const value = text.trim();
    if (value === (label?.value ?? '')) return;
    commit(shape, value === '' ? rest : { ...rest, label: { visibility: 'always', ...label, value } });
  }

  async function save() {
    saving = true;
    showStatus();
    report('');
    try {
      // What was drawn as shapes stays as it is seen; of the picture the server makes a new one.
      const seen = sheet.hasShapes ? [...sheet.all()] : undefined;
      const { _version, _elementCount, _detailsCount, groups: names } = await edits.save(sheet.record);
      const record = { ...sheet.record, _version, _elementCount, _detailsCount, ...(names && { groups: names }) };
      sheet.update(record, seen);
      announce(`Saved ${nameOf(record)}`);
      onSaved();
    } catch (error) {
      report(isConflict(error) ? await takeOver(messageOf(error)) : messageOf(error));
    } finally {
      saving = false;
      showStatus();
    }
  }

  /** Shows the newest version, with the changes made here that do not contradict it. @returns {Promise<number>} how many do, and are given up */
  async function reload() {
    const record = await reloadAnnotation(sheet.record);
    const lost = await edits.rebase(record);
    select(null);
    sheet.update(record);
    showStatus();
    onSaved();
    return lost;
  }

  /** Shows the version of somebody else. @param {string} reason @returns {Promise<string>} what to say about it */
  async function takeOver(reason) {
    try {
      const lost = await reload();
      const kept = edits.size > 0 ? ' Your other changes are still here: save again to keep them.' : '';
      const given =
        lost > 0
          ? ` ${formatCount(lost)} of your changes ${lost === 1 ? 'was' : 'were'} to shapes that are changed there too, and ${lost === 1 ? 'is' : 'are'} given up.`
          : '';
      return `Somebody else has changed this annotation meanwhile; it has been loaded again.${given}${kept} (${reason})`;
    } catch (error) {
      return messageOf(error);
    }
  }
}
