import type { Conflicts } from './edits.js';
import { isConflict, reloadAnnotation } from './requests.js';
import type { Sheet } from './sheet.js';

/** How often saving is tried while others keep saving. */
const maxAttempts = 5;

/** Parts of the editor that saving needs. */
export interface SavingParts {
  sheet: Sheet;
  /** deselects the shape, which others may have changed */
  deselect: () => void;
  /** called when the annotation was changed */
  onSaved: () => void;
}

/**
 * Saves the unsaved changes of an annotation on top of those of others. Nothing is saved if others have changed the same shapes.
 *
 * @param onVersion called with the version that was made
 * @returns the shapes that were changed there too, if any
 */
export async function saveEdits(
  { sheet, deselect, onSaved }: SavingParts,
  onVersion: (version: number) => void,
): Promise<Conflicts | undefined> {
  const { edits } = sheet;
  for (let attempt = 1; ; attempt += 1) {
    const conflicts = await edits.rebase(sheet.record);
    if (conflicts.added > 0 || conflicts.kept > 0) {
      deselect();
      return conflicts;
    }
    if (edits.size === 0) return undefined;
    // If shapes were drawn, they stay as they are; otherwise the server draws new tiles.
    const seen = sheet.hasShapes ? [...sheet.all()] : undefined;
    try {
      const { _version, _elementCount, _detailsCount, groups: names } = await edits.save(sheet.record);
      const record = { ...sheet.record, _version, _elementCount, _detailsCount, ...(names && { groups: names }) };
      onVersion(_version);
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

/** Shows the newest version of an annotation with the unsaved changes. */
export async function reloadWithEdits({ sheet, deselect, onSaved }: SavingParts): Promise<Conflicts> {
  const record = await reloadAnnotation(sheet.record);
  const conflicts = await sheet.edits.rebase(record);
  deselect();
  sheet.update(record);
  onSaved();
  return conflicts;
}
