import { h, linkButton, messageOf, tell } from '../dom.js';
import { editBar } from './edit-bar.js';
import { onEdits } from './edits.js';
import { groupPalette, Groups, styleOf } from './groups.js';
import { KnownGroups } from './known-groups.js';
import { newId, type Edit, type Element } from './model.js';
import { polygonChanges } from './polygon-changes.js';
import { Saving } from './saving.js';
import { Selection } from './selection.js';
import { shapeForm } from './shape-form.js';
import type { Sheet } from './sheet.js';
import { commonTexts } from '../texts.js';
import { annotationTexts } from '../annotation-texts.js';

export type Editor = ReturnType<typeof editAnnotation>;

/** Editing of an annotation: its groups, the selected shapes, and unsaved changes. */
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
  const known = new KnownGroups(sheet, groups, signal);
  const selection = new Selection(sheet, () => (form.show(), redraw()));
  const saving = new Saving({
    sheet,
    deselect: () => selection.select(null),
    onSaved,
    onVersion: (version) => known.skip(version),
    onState: () => bar.show(),
    report,
  });
  const polygons = polygonChanges({ sheet, selection, commit, zoom, report, signal });
  const palette = groupPalette(groups, { onChoose: () => form.show(), onColor: recolor });
  const form = shapeForm({
    groups,
    selection: () => selection.shapes,
    commit,
    remove: removeSelected,
    merge: polygons.merge,
    simplify: polygons.simplify,
  });
  const bar = editBar(
    edits,
    { undo: () => step('undo'), redo: () => step('redo'), discard, save: () => void saving.save() },
    () => saving.isRunning,
  );
  const element = h('div.annotation-editor.column', palette.element, form.element, ...bar.elements);
  palette.show();
  selection.select(null);
  bar.show();
  onEdits(bar.show, signal);
  return {
    element,
    selection,
    find: (id: string) => sheet.find(id),
    make,
    commit,
    split: polygons.split,
    step,
    removeSelected,
    save: () => saving.save(),
    reload: () => saving.reload(),
    takeOver: () => saving.takeOver(),
    learnGroups,
  };

  /** Offers the groups of the current version. */
  async function learnGroups() {
    try {
      if (!(await known.learn())) return;
      palette.show();
      form.offerGroups();
    } catch (error) {
      if (!signal.aborted) report(messageOf(error));
    }
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

  function showAll() {
    form.show();
    bar.show();
    redraw();
  }

  function removeSelected() {
    const gone = selection.shapes;
    if (gone.length === 0) return;
    selection.select(null);
    commit(...gone.map((before) => ({ before, after: null })));
  }

  function step(way: 'undo' | 'redo') {
    edits[way]();
    selection.dropGone();
    showAll();
  }

  function discard() {
    edits.discard();
    selection.select(null);
    bar.show();
    report('');
    const undo = linkButton(commonTexts.undo, () => step('undo'));
    tell(annotationTexts.discarded, undo);
  }

  function recolor(group: string | null) {
    const shapes = selection.shapes.filter((shape) => (shape.group ?? null) === group);
    commit(...shapes.map((before) => ({ before, after: { ...before, ...styleOf(before, groups.colorOf(group)) } })));
  }
}
