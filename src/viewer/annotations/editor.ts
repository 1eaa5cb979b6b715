import { actions, button, fill, h, messageOf, tell } from '../dom.js';
import { field } from '../forms.js';
import { groupPalette, Groups, styleOf } from './groups.js';
import type { Conflicts } from './edits.js';
import { nameOf, newId, type Element } from './model.js';
import { groupsOf, isConflict, reloadAnnotation } from './requests.js';
import type { Sheet } from './sheet.js';
import { annotationTexts, commonTexts } from '../texts.js';

/** How often saving is tried while others keep saving. */
const maxAttempts = 5;

/** Editing of an annotation: its groups, the selected shape, and unsaved changes. */
export function editAnnotation(options: {
  sheet: Sheet;
  /** ends the work */
  signal: AbortSignal;
  redraw: () => void;
  /** says what went wrong, or nothing any more */
  report: (message: string) => void;
  /** called when the annotation was changed */
  onSaved: () => void;
}) {
  const { sheet, signal, redraw, report, onSaved } = options;
  const { edits } = sheet;
  const groups = new Groups();
  let selectedId: string | null = null;
  let saving = false;
  /** version of the annotation whose groups are offered; `null` until they are requested, because versions begin at 0 */
  let learned: number | null = null;
  const palette = groupPalette(groups, { onChoose: showShape, onColor: recolor });
  const groupSelect = h('select', { onchange: () => regroup(JSON.parse(groupSelect.value)) });
  const shapeForm = h('div.shape-form.column');
  const status = h('p.quiet-text', { role: 'status' });
  const undoButton = button(annotationTexts.undo, () => step('undo'), { picture: 'undo' });
  const redoButton = button(annotationTexts.redo, () => step('redo'), { picture: 'redo' });
  const discardButton = button(annotationTexts.discard, discard);
  const saveButton = button(commonTexts.save, () => void save(), { kind: 'primary' });
  const buttons = actions(undoButton, redoButton, discardButton, saveButton);
  const element = h('div.annotation-editor.column', palette.element, shapeForm, status, buttons);
  palette.show();
  select(null);
  showStatus();
  return { element, selected, select, make, commit, step, removeSelected, reload, takeOver, learnGroups };

  /** Offers the groups of the present version, with the colours that they have on the slide. Those offered before keep theirs. */
  async function learnGroups() {
    const { record } = sheet;
    if (learned === record._version) return;
    const isFirst = learned === null;
    learned = record._version;
    if (record._elementCount === 0) return;
    try {
      const seen = await groupsOf(record, signal);
      const known = groups.size;
      groups.learn(seen, isFirst);
      // The user may be choosing a colour or a group.
      if (!isFirst && groups.size === known) return;
      palette.show();
      offerGroups();
    } catch (error) {
      if (!signal.aborted) report(messageOf(error));
    }
  }

  function selected() {
    return selectedId === null ? null : sheet.find(selectedId);
  }

  function select(next: Element | null) {
    selectedId = next?.id ?? null;
    showShape();
    redraw();
  }

  function make(members: Pick<Element, 'type'> & Partial<Element>): Element {
    const group = groups.chosen;
    const style = styleOf(members, groups.colorOf(group));
    return { ...members, ...style, ...(group !== null && { group }), id: newId() };
  }

  function commit(before: Element | null, after: Element | null) {
    edits.change(before, after, sheet.record._version);
    showAll();
  }

  function showAll() {
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

  function step(way: 'undo' | 'redo') {
    edits[way]();
    if (selected() === null) selectedId = null;
    showAll();
  }

  function discard() {
    edits.clear();
    select(null);
    showStatus();
    report('');
  }

  function recolor(group: string | null) {
    const shape = selected();
    if (shape && (shape.group ?? null) === group) commit(shape, { ...shape, ...styleOf(shape, groups.colorOf(group)) });
  }

  function showStatus() {
    const count = edits.size;
    status.textContent = count === 0 ? annotationTexts.allSaved : annotationTexts.unsaved(count);
    undoButton.disabled = saving || !edits.canUndo;
    redoButton.disabled = saving || !edits.canRedo;
    discardButton.disabled = saving || count === 0;
    saveButton.disabled = saving || count === 0;
  }

  function showShape() {
    const shape = selected();
    if (!shape) return fill(shapeForm, h('p.quiet-text', annotationTexts.howToEdit));
    offerGroups();
    const { value = '' } = shape.label ?? {};
    const label = h('input', { type: 'text', autocomplete: 'off', value, onchange: () => relabel(label.value) });
    fill(
      shapeForm,
      field(annotationTexts.group, groupSelect),
      field(annotationTexts.label, label),
      shape.holes && shape.holes.length > 0 && button(annotationTexts.fillHoles, fillHoles),
      button(annotationTexts.deleteShape, removeSelected, { picture: 'trash' }),
    );
  }

  /** Offers groups for the selected shape. If there are very many, the group of new shapes, which is searched in the palette, is among them. */
  function offerGroups() {
    const own = selected()?.group ?? null;
    const options = groups.offered('', own, groups.chosen);
    fill(groupSelect, ...options.map((name) => h('option', { value: JSON.stringify(name) }, annotationTexts.groupName(name))));
    groupSelect.value = JSON.stringify(own);
  }

  function fillHoles() {
    const shape = selected();
    if (!shape) return;
    const { holes: _former, ...rest } = shape;
    commit(shape, rest);
  }

  function regroup(name: string | null) {
    const shape = selected();
    if (!shape) return;
    const { group: _former, ...rest } = shape;
    commit(shape, { ...rest, ...(name !== null && { group: name }), ...styleOf(shape, groups.colorOf(name)) });
  }

  function relabel(text: string) {
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
      const conflicts = await merge();
      if (conflicts) report(annotationTexts.changedMeanwhile(conflicts, edits.size > 0));
      else tell(annotationTexts.savedNamed(nameOf(sheet.record)));
    } catch (error) {
      report(messageOf(error));
    } finally {
      saving = false;
      showStatus();
    }
  }

  /**
   * Saves the changes on top of those of others. Nothing is saved if others have changed the same shapes.
   *
   * @returns the shapes that were changed there too, if any
   */
  async function merge(): Promise<Conflicts | undefined> {
    for (let attempt = 1; ; attempt += 1) {
      const conflicts = await edits.rebase(sheet.record);
      if (conflicts.added > 0 || conflicts.kept > 0) {
        select(null);
        return conflicts;
      }
      if (edits.size === 0) return undefined;
      // If shapes were drawn, they stay as they are; otherwise the server draws new tiles.
      const seen = sheet.hasShapes ? [...sheet.all()] : undefined;
      try {
        const { _version, _elementCount, _detailsCount, groups: names } = await edits.save(sheet.record);
        const record = { ...sheet.record, _version, _elementCount, _detailsCount, ...(names && { groups: names }) };
        learned = _version;
        sheet.update(record, seen);
        onSaved();
        return undefined;
      } catch (error) {
        if (!isConflict(error) || attempt === maxAttempts) throw error;
        sheet.update(await reloadAnnotation(sheet.record));
        onSaved();
      }
    }
  }

  /** Shows the newest version with the unsaved changes. */
  async function reload(): Promise<Conflicts> {
    const record = await reloadAnnotation(sheet.record);
    const conflicts = await edits.rebase(record);
    select(null);
    sheet.update(record);
    showStatus();
    onSaved();
    return conflicts;
  }

  /**
   * Loads the version that someone else saved.
   *
   * @returns a message about it
   */
  async function takeOver(): Promise<string> {
    try {
      return annotationTexts.changedMeanwhile(await reload(), edits.size > 0);
    } catch (error) {
      return messageOf(error);
    }
  }
}
