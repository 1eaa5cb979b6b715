import { actions, button, h, messageOf, tell } from '../dom.js';
import { groupPalette, Groups, styleOf } from './groups.js';
import type { Conflicts } from './edits.js';
import { nameOf, newId, type Element } from './model.js';
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
  /** shows what went wrong, or clears the message */
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
  const palette = groupPalette(groups, { onChoose: () => form.show(), onColor: recolor });
  const form = shapeForm({ groups, selected, commit, remove: removeSelected });
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
  return { element, selected, select, make, commit, step, removeSelected, reload, takeOver, learnGroups };

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

  function selected() {
    return selectedId === null ? null : sheet.find(selectedId);
  }

  function select(next: Element | null) {
    selectedId = next?.id ?? null;
    form.show();
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
    form.show();
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

  async function save() {
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
