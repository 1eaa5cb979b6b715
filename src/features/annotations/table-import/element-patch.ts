import type { AnnotationElement } from '../../../annotation-format/schema/document.js';
import type { ImportCell } from './incoming-table.js';
import { removeFromUser, setInUser, type ColumnTarget } from './user-columns.js';

type Json = Record<string, unknown>;

/**
 * Sets the values of a row in an element. Also changes the object in its member `user`.
 *
 * @param removesEmpty whether an empty cell removes the element's value.
 */
export function setCells(
  element: Json,
  targets: readonly ColumnTarget[],
  cells: readonly ImportCell[],
  removesEmpty: boolean,
): void {
  for (const [i, target] of targets.entries()) {
    const value = cells[i] ?? null;
    if (value === null && !removesEmpty) continue;
    if ('field' in target) setField(element, target.field, value);
    else if (value !== null) setInUser((element.user ??= {}) as Json, target, value);
    else if (element.user !== undefined) removeFromUser(element.user as Json, target);
  }
}

function setField(element: Json, field: string, value: ImportCell): void {
  if (value === null) delete element[field];
  else if (field === 'label') element.label = { ...(element.label as object | undefined), value: String(value) };
  else element[field] = field === 'lineWidth' ? value : String(value);
}

/**
 * Returns an element with the values of a row. The original stays unchanged, except for the object in its member `user`.
 *
 * @param removesEmpty whether an empty cell removes the element's value.
 */
export function patchElement(
  element: AnnotationElement,
  targets: readonly ColumnTarget[],
  cells: readonly ImportCell[],
  removesEmpty: boolean,
): AnnotationElement {
  const patchedElement: Json = { ...element };
  setCells(patchedElement, targets, cells, removesEmpty);
  // The cast is safe, because the store checks the element.
  return patchedElement as unknown as AnnotationElement;
}
