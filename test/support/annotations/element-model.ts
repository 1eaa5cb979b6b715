import { boundingBox, unionBox, type BoundingBox } from '../../../src/annotation-format/bounding-box.js';
import { CentroidPropTable, centroidBytes } from '../../../src/annotation-format/centroids.js';
import { ElementBudget, matchesConditions, type ElementQuery } from '../../../src/annotation-format/element-query.js';
import type { AnnotationElement } from '../../../src/annotation-format/schema/document.js';

/** The values of a record. */
interface Centroid {
  /** 24 hexadecimal digits. */
  id: string;
  box: Pick<BoundingBox, 'lowx' | 'highx' | 'lowy' | 'highy' | 'size'>;
  /** Index into `_elementQuery.props`. */
  props: number;
}

/** Writes one record at `offset`: id, x and y of the middle, diagonal (float32 little-endian), row of the appearance (int32). */
export function writeCentroid(target: Buffer, offset: number, { id, box, props }: Centroid): void {
  target.write(id, offset, 12, 'hex');
  // Halves are added, so that the sum of two large numbers does not overflow.
  target.writeFloatLE(box.lowx / 2 + box.highx / 2, offset + 12);
  target.writeFloatLE(box.lowy / 2 + box.highy / 2, offset + 16);
  target.writeFloatLE(box.size, offset + 20);
  target.writeInt32LE(props, offset + 24);
}

/** A checked element, as stored. */
export type Stored = AnnotationElement & { id: string };

function valueOf(element: Stored, field: string): number | string | boolean | null {
  if (field.startsWith('bbox.')) return boundingBox(element)[field.slice(5) as keyof BoundingBox];
  if (!field.startsWith('element.')) return null;
  let value: unknown = element;
  for (const key of field.slice(8).split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return null;
    value = (value as Record<string, unknown>)[key];
  }
  if (typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean') return value;
  return value === null || value === undefined ? null : JSON.stringify(value);
}

const rankOf = (value: unknown) => (value === null ? 0 : typeof value === 'number' ? 1 : typeof value === 'string' ? 2 : 3);

/** The elements that a query selects, found by testing every element. */
export function selectNaively(
  elements: readonly Stored[],
  query: ElementQuery,
): { elements: Stored[]; budget: ElementBudget; box: BoundingBox | null } {
  const [field, direction] = query.sort;
  const matching = elements.filter((element) => matchesConditions(boundingBox(element), query.conditions));
  if (field === '_id') {
    if (direction === -1) matching.reverse();
  } else {
    matching.sort((left, right) => {
      const [a, b] = [valueOf(left, field), valueOf(right, field)];
      const order = rankOf(a) - rankOf(b) || (a === null || b === null || a === b ? 0 : a < b ? -1 : 1);
      return order * direction;
    });
  }
  const budget = new ElementBudget(query);
  const chosen: Stored[] = [];
  let box: BoundingBox | null = null;
  for (const element of matching.slice(query.offset)) {
    if (!budget.allowsMore) break;
    const elementBox = boundingBox(element);
    budget.countSent(elementBox.details);
    box = unionBox(box, elementBox);
    chosen.push(element);
  }
  return { elements: chosen, budget, box };
}

/** The centroid records of elements, and their appearances. */
export function centroidsNaively(elements: readonly Stored[]): { bytes: Buffer; props: CentroidPropTable } {
  const props = new CentroidPropTable();
  const bytes = Buffer.alloc(elements.length * centroidBytes);
  for (const [i, element] of elements.entries()) {
    writeCentroid(bytes, i * centroidBytes, { id: element.id, box: boundingBox(element), props: props.findOrAdd(element) });
  }
  return { bytes, props };
}
