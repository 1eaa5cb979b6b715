import { h, linkButton, showMessage } from '../dom.js';
import { editBar } from './edit-bar.js';
import { onEdits } from './edits.js';
import { inColor } from './coloring/painting.js';
import { Groups, type EditedGroups } from './groups.js';
import type { Edit } from './model.js';
import { polygonChanges } from './polygon-changes.js';
import { Saving } from './saving.js';
import { Selection } from './selection.js';
import { isOverlay } from './drawing/shapes.js';
import { shapeForm } from './shape-form.js';
import type { Sheet } from './sheet.js';
import { commonTexts } from '../texts.js';
import { annotationTexts } from '../annotation-texts.js';

export type Editor = ReturnType<typeof editAnnotation>;

interface EditorOptions {
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
}

/** Editing of an annotation: its groups, the selected shapes, and unsaved changes. */
export function editAnnotation(options: EditorOptions) {
  const { sheet, signal, redraw, zoom, report, onSaved } = options;
  const { edits } = sheet;
  const groups = new Groups();
  const selection = new Selection(sheet, () => (form.show(), redraw()));
  const saving = new Saving({
    sheet,
    deselect: () => selection.select(null),
    onSaved,
    onState: () => bar.show(),
    report,
  });
  const polygons = polygonChanges({ sheet, selection, commit, zoom, report, signal });
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
  const element = h('div.annotation-editor.column', form.element, ...bar.elements);
  const edited: EditedGroups = { groups, onChoose: () => form.show(), onLearned: () => form.offerGroups(), recolor };
  selection.select(null);
  bar.show();
  onEdits(bar.show, signal);
  return {
    element,
    groups: edited,
    selection,
    find: (id: string) => sheet.find(id),
    make: groups.make.bind(groups),
    commit,
    split: polygons.split,
    step,
    removeSelected,
    save: () => saving.save(),
    reload: () => saving.reload(),
    takeOver: () => saving.takeOver(),
  };

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
    const deleted = selection.shapes;
    if (deleted.length === 0) return;
    selection.select(null);
    commit(...deleted.map((before) => ({ before, after: null })));
  }

  function step(direction: 'undo' | 'redo') {
    edits[direction]();
    followColors();
    selection.dropGone();
    showAll();
  }

  function discard() {
    edits.discard();
    followColors();
    selection.select(null);
    bar.show();
    report('');
    const undo = linkButton(commonTexts.undo, () => step('undo'));
    showMessage(annotationTexts.discarded, undo);
  }

  /** After undo and redo, gives groups the colors of their shapes. */
  function followColors() {
    if (sheet.isWhole) groups.adoptColors(sheet.all());
  }

  function recolor(group: string | null, color: string) {
    groups.setColor(group, color);
    if (!sheet.isWhole) return false;
    const shapes = [...sheet.all()].filter((shape) => !isOverlay(shape) && (shape.group ?? null) === group);
    commit(...shapes.map((before) => ({ before, after: inColor(before, color) })));
    return true;
  }
}
