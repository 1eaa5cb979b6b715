import { idText } from '../../../core/database/id-text.js';
import { sortFieldOf } from './annotation-documents.model.js';
import type { AnnotationPaging } from './annotation-record.js';

/** Id and sort values of an annotation, with which sorted lists can be merged without reading the documents. */
export interface AnnotationKey {
  id: string;
  /** Values of the fields by which the list is sorted. */
  values: readonly unknown[];
}

/** Converts sort keys to an order for the database. Annotations with equal values are ordered by id. */
export function orderOf(sort: AnnotationPaging['sort']): Record<string, 1 | -1> {
  const order: Record<string, 1 | -1> = {};
  for (const [name, direction] of sort) order[sortFieldOf(name)] ??= direction;
  order._id ??= 1;
  return order;
}

/** Compares two annotations as the database does: negative if `a` comes first, positive if `b` does. */
export function compareKeys(a: AnnotationKey, b: AnnotationKey, sort: AnnotationPaging['sort']): number {
  const directions = Object.values(orderOf(sort));
  for (const [i, direction] of directions.entries()) {
    const comparison = compareValues(a.values[i], b.values[i]);
    if (comparison !== 0) return direction * comparison;
  }
  return 0;
}

/** Returns the rank of a value's type in the order of BSON: missing values, numbers, texts, ids, booleans, dates. */
function typeRank(value: unknown): number {
  if (value === null || value === undefined) return 0;
  if (typeof value === 'number') return 1;
  if (typeof value === 'string') return 2;
  if (typeof value === 'boolean') return 4;
  return value instanceof Date ? 5 : 3;
}

function compareValues(a: unknown, b: unknown): number {
  const rankDifference = typeRank(a) - typeRank(b);
  if (rankDifference !== 0 || typeRank(a) === 0) return rankDifference;
  // The database compares texts by their bytes.
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  if (typeRank(a) === 3) return idText(a) < idText(b) ? -1 : Number(idText(a) > idText(b));
  return Number(a) - Number(b);
}

/** Returns the value at a path in a document. The names in the path are separated by dots. */
export function valueAt(doc: object, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], doc);
}
