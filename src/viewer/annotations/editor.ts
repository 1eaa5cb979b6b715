import { actions, button, h, linkButton, messageOf, tell } from '../dom.js';
import { groupPalette, Groups, styleOf } from './groups.js';
import { mergeEdits, simplifyEdits, splitEdits } from './drawing/polygon-edits.js';
import { middleOf, touches } from './drawing/shapes.js';
import { onEdits, whyAtRisk, type Conflicts } from './edits.js';
import { nameOf, newId, type Edit, type Element } from './model.js';
import { groupsOf } from './requests.js';
import { reloadWithEdits, saveEdits } from './saving.js';
import { shapeForm } from './shape-form.js';
import type { Sheet } from './sheet.js';
import { commonTexts } from '../texts.js';
import { annotationTexts } from '../annotation-texts.js';

/** Editing of an annotation: its groups, the selected shape, and unsaved changes. */
export function editAnnotation(options: {
  sheet: Sheet;
  /** stops editing */
  signal: AbortSignal;
  redraw: () => void;
  /** screen pixels per image pixel */
  zoom: () => number;
  /** shows what went wrong, or clears the message */
  report: (message: string) => void;
  /** called when the annotation was changed */
  onSaved: () => void;
}) {
  const { sheet, signal, redraw, zoom, report, onSaved } = options;
  const { edits } = sheet;
  const groups = new Groups();
  let selectedIds: readonly string[] = [];
  let saving = false;
  /** version of the annotation whose groups are offered; `null` until they are requested, because versions begin at 0 */
  let learned: number | null = null;
  const palette = groupPalette(groups, { onChoose: () => form.show(), onColor: recolor });
  const form = shapeForm({
    groups,
    selection,
    commit,
    remove: removeSelected,
    merge: () => void change(() => mergeEdits(selection())),
    simplify: () => void change(simplify),
  });
  const parts = { sheet, deselect: () => select(null), onSaved };
  const status = h('p.quiet-text', { role: 'status' });
  const undoButton = button(annotationTexts.undo, () => step('undo'), { picture: 'undo' });
  const redoButton = button(annotationTexts.redo, () => step('redo'), { picture: 'redo' });
  const discardButton = button(annotationTexts.discard, discard);
  const saveButton = button(commonTexts.save, () => void save(), { kind: 'primary' });
  const buttons = actions(undoButton, redoButton, discardButton, saveButton);
  const element = h('div.annotation-editor.column', palette.element, form.element, status, buttons);
  palette.show();
  select(null);
  showStatus();
  onEdits(showStatus, signal);
  return {
    element,
    selected,
    selection,
    select,
    pick,
    find: (id: string) => sheet.find(id),
    make,
    commit,
    split: (line: Element) => void change(() => split(line)),
    step,
    removeSelected,
    save,
    reload,
    takeOver,
    learnGroups,
  };

  /** Offers the groups of the current version, with the colors that they have on the slide. Those offered before keep theirs. */
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
      // The user may be choosing a color or a group.
      if (!isFirst && groups.size === known) return;
      palette.show();
      form.offerGroups();
    } catch (error) {
      if (!signal.aborted) report(messageOf(error));
    }
  }

  /** The selected shape, if it is only one. */
  function selected() {
    const [first = null, second] = selection();
    return second ? null : first;
  }

  function selection(): Element[] {
    return selectedIds.flatMap((id) => sheet.find(id) ?? []);
  }

  /** @param isAdding adds the shape to the selected ones, or removes it from them */
  function select(next: Element | null, isAdding: boolean = false) {
    const id = next?.id;
    const isSelected = id !== undefined && selectedIds.includes(id);
    if (!isAdding) selectAll(id === undefined ? [] : [id]);
    else if (id !== undefined) selectAll(isSelected ? selectedIds.filter((other) => other !== id) : [...selectedIds, id]);
  }

  function selectAll(ids: readonly string[]) {
    selectedIds = ids;
    form.show();
    redraw();
  }

  function pick(outline: Element, isAdding: boolean) {
    if (!sheet.hasShapes && sheet.record._elementCount > 0) {
      tell(annotationTexts.pickZoom);
      return;
    }
    const found = [...sheet.elements()].filter((shape) => touches(outline, middleOf(shape), 0));
    if (found.length === 0) tell(annotationTexts.pickedNone);
    const ids = found.map(({ id }) => id);
    selectAll(isAdding ? [...new Set([...selectedIds, ...ids])] : ids);
  }

  function make(members: Pick<Element, 'type'> & Partial<Element>): Element {
    const group = groups.chosen;
    const style = styleOf(members, groups.colorOf(group));
    return { ...members, ...style, ...(group !== null && { group }), id: newId() };
  }

  function commit(...changes: Edit[]) {
    edits.changeAll(changes, sheet.record);
    showAll();
  }

  /** Makes changes that need the library for polygons, and selects the changed shapes. */
  async function change(make: () => Promise<Edit[]>) {
    try {
      const changes = await make();
      if (signal.aborted || changes.length === 0) return;
      commit(...changes);
      selectAll(changes.flatMap(({ after }) => after?.id ?? []));
    } catch (error) {
      if (!signal.aborted) report(messageOf(error));
    }
  }

  async function split(line: Element) {
    const chosen = selection();
    const changes = await splitEdits(chosen.length > 0 ? chosen : [...sheet.elements()], line);
    if (changes.length === 0) tell(annotationTexts.noneSplit);
    return changes;
  }

  /** Removes vertices that make no visible difference at the current zoom. */
  async function simplify() {
    const chosen = selection();
    const changes = await simplifyEdits(chosen, 1 / zoom());
    const changed = new Map(changes.flatMap(({ after }) => (after ? [[after.id, after]] : [])));
    const count = (shapes: readonly Element[]) => shapes.reduce((sum, { points = [] }) => sum + points.length, 0);
    tell(annotationTexts.simplified(count(chosen), count(chosen.map((shape) => changed.get(shape.id) ?? shape))));
    return changes;
  }

  function showAll() {
    form.show();
    showStatus();
    redraw();
  }

  function removeSelected() {
    const gone = selection();
    if (gone.length === 0) return;
    select(null);
    commit(...gone.map((before) => ({ before, after: null })));
  }

  function step(way: 'undo' | 'redo') {
    edits[way]();
    selectedIds = selection().map(({ id }) => id);
    showAll();
  }

  function discard() {
    edits.discard();
    select(null);
    showStatus();
    report('');
    tell(
      annotationTexts.discarded,
      linkButton(commonTexts.undo, () => step('undo')),
    );
  }

  function recolor(group: string | null) {
    const shapes = selection().filter((shape) => (shape.group ?? null) === group);
    commit(...shapes.map((before) => ({ before, after: { ...before, ...styleOf(before, groups.colorOf(group)) } })));
  }

  function showStatus() {
    const count = edits.size;
    const reason = whyAtRisk(edits);
    const risk = reason === null ? '' : ` ${annotationTexts.notKept(reason)}`;
    status.textContent = count === 0 ? annotationTexts.allSaved : `${annotationTexts.unsaved(count)}${risk}`;
    undoButton.disabled = saving || !edits.canUndo;
    redoButton.disabled = saving || !edits.canRedo;
    discardButton.disabled = saving || count === 0;
    saveButton.disabled = saving || count === 0;
  }

  async function save() {
    if (saving || edits.size === 0) return;
    saving = true;
    showStatus();
    report('');
    try {
      const conflicts = await saveEdits(parts, (version) => (learned = version));
      if (conflicts) report(annotationTexts.changedMeanwhile(conflicts, edits.size > 0));
      else tell(annotationTexts.savedNamed(nameOf(sheet.record)));
    } catch (error) {
      report(messageOf(error));
    } finally {
      saving = false;
      showStatus();
    }
  }

  /** Shows the newest version with the unsaved changes. */
  async function reload(): Promise<Conflicts> {
    const conflicts = await reloadWithEdits(parts);
    showStatus();
    return conflicts;
  }

  /**
   * Loads a version that someone else has saved.
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
