import { messageOf, showMessage } from '../dom.js';
import { annotationTexts } from '../annotation-texts.js';
import type { Conflicts } from './edits.js';
import { nameOf } from './annotation-model.js';
import { isConflict, reloadAnnotation } from './annotation-requests.js';
import type { StageAnnotation } from './stage-annotation.js';

/** Maximum number of attempts to save while others save too. */
const maxAttempts = 5;

/** Parts of the editor that saving needs. */
interface SavingParts {
  annotation: StageAnnotation;
  /** deselects the shapes, because others may have changed them */
  deselect: () => void;
  /** called when a new version of the annotation was saved or loaded */
  onSaved: () => void;
  /** called when saving begins or ends, and when changes were rebased */
  onStateChange: () => void;
  /** shows what went wrong, or clears the message */
  showProblem: (message: string) => void;
}

/** Saves the unsaved changes of the edited annotation, and merges them with the changes of others. */
export class Saving {
  isRunning = false;

  constructor(private readonly parts: SavingParts) {}

  async save() {
    const { annotation, onStateChange, showProblem } = this.parts;
    if (this.isRunning || annotation.edits.changedElementCount === 0) return;
    this.isRunning = true;
    onStateChange();
    showProblem('');
    try {
      const conflicts = await saveEdits(this.parts);
      if (conflicts) showProblem(annotationTexts.changedMeanwhile(conflicts, annotation.edits.changedElementCount > 0));
      else showMessage(annotationTexts.savedNamed(nameOf(annotation.record)));
    } catch (error) {
      showProblem(messageOf(error));
    } finally {
      this.isRunning = false;
      onStateChange();
    }
  }

  /** Shows the newest version with the unsaved changes. */
  async reload(): Promise<Conflicts> {
    const conflicts = await reloadWithEdits(this.parts);
    this.parts.onStateChange();
    return conflicts;
  }

  /**
   * Loads the version that someone else has saved, and applies the unsaved changes to it.
   *
   * @returns a message that tells the user what happened
   */
  async reloadAndExplain(): Promise<string> {
    try {
      return annotationTexts.changedMeanwhile(await this.reload(), this.parts.annotation.edits.changedElementCount > 0);
    } catch (error) {
      return messageOf(error);
    }
  }
}

/**
 * Saves the unsaved changes on top of the changes of others. Nothing is saved if others have changed the same shapes.
 *
 * @returns numbers of shapes that others have changed too; `undefined` if there are none
 */
async function saveEdits({ annotation, deselect, onSaved }: SavingParts): Promise<Conflicts | undefined> {
  const { edits } = annotation;
  for (let attempt = 1; ; attempt += 1) {
    const conflicts = await edits.rebase(annotation.record);
    if (conflicts.added > 0 || conflicts.kept > 0) {
      deselect();
      return conflicts;
    }
    if (edits.changedElementCount === 0) return undefined;
    // Shapes that this page draws are already up to date, and are kept. If tiles are shown, the server draws new tiles.
    const drawnShapes = annotation.showsShapes ? [...annotation.loadedShapes()] : undefined;
    try {
      const { _version, _elementCount, _detailsCount, groups: names } = await edits.save(annotation.record);
      const record = { ...annotation.record, _version, _elementCount, _detailsCount, ...(names && { groups: names }) };
      annotation.update(record, drawnShapes);
      onSaved();
      return undefined;
    } catch (error) {
      if (!isConflict(error) || attempt === maxAttempts) throw error;
      annotation.update(await reloadAnnotation(annotation.record));
      onSaved();
    }
  }
}

/** Shows the newest version of an annotation with the unsaved changes. */
async function reloadWithEdits({ annotation, deselect, onSaved }: SavingParts): Promise<Conflicts> {
  const record = await reloadAnnotation(annotation.record);
  const conflicts = await annotation.edits.rebase(record);
  deselect();
  annotation.update(record);
  onSaved();
  return conflicts;
}
