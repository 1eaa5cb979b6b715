import { actions, button, h } from '../dom.js';
import { reasonNotStored, type Edits } from './edits.js';
import { commonTexts } from '../texts.js';
import { annotationTexts } from '../annotation-texts.js';

/** The number of unsaved changes, and the buttons that undo, discard and save them. */
export function editBar(
  edits: Edits,
  handlers: { undo: () => void; redo: () => void; discard: () => void; save: () => void },
  isSaving: () => boolean,
) {
  const status = h('p.quiet-text', { role: 'status' });
  const undo = button('', handlers.undo, { icon: 'undo', name: annotationTexts.undo });
  const redo = button('', handlers.redo, { icon: 'redo', name: annotationTexts.redo });
  const discard = button(annotationTexts.discard, handlers.discard);
  const save = button(commonTexts.save, handlers.save, { kind: 'primary' });
  return { elements: [status, actions(undo, redo, discard, save)], show };

  function show() {
    const count = edits.changedElementCount;
    const reason = reasonNotStored(edits);
    const risk = reason === null ? '' : ` ${annotationTexts.notKept(reason)}`;
    status.textContent = count === 0 ? annotationTexts.allSaved : `${annotationTexts.unsaved(count)}${risk}`;
    undo.disabled = isSaving() || !edits.canUndo;
    redo.disabled = isSaving() || !edits.canRedo;
    discard.disabled = isSaving() || count === 0;
    save.disabled = isSaving() || count === 0;
  }
}
