import { boundingBox, unionBox, type BoundingBox } from '../../../src/annotation-format/bounding-box.js';
import type { AnnotationElement } from '../../../src/annotation-format/schema/document.js';
import type { ElementAppearance, PackMarks } from '../../../src/features/annotations/elements/element-store.js';

/** The boxes and appearances of elements, in the form of the element store. */
export function marksOf(elements: readonly AnnotationElement[]): PackMarks {
  const appearances: ElementAppearance[] = [];
  const indices = new Map<string, number>();
  const boxes = new Float64Array(elements.length * 4);
  const appearanceIndices = new Uint32Array(elements.length);
  let union: BoundingBox | null = null;
  for (const [i, element] of elements.entries()) {
    const box = boundingBox(element);
    boxes.set([box.lowx, box.lowy, box.highx, box.highy], i * 4);
    union = unionBox(union, box);
    const text = (name: string) => ((element as unknown as Record<string, unknown>)[name] as string | undefined) ?? null;
    const appearance: ElementAppearance = {
      type: element.type,
      group: element.group ?? null,
      fillColor: text('fillColor'),
      lineColor: text('lineColor'),
      lineWidth: 'lineWidth' in element ? (element.lineWidth ?? null) : null,
      closed: element.type === 'polyline' ? (element.closed ?? null) : null,
    };
    const key = JSON.stringify(appearance);
    let index = indices.get(key);
    if (index === undefined) {
      index = appearances.length;
      indices.set(key, index);
      appearances.push(appearance);
    }
    appearanceIndices[i] = index;
  }
  if (union === null) throw new RangeError('a pack has at least one element');
  const orders = Float64Array.from(elements.keys());
  const summary = { id: '0'.repeat(24), count: elements.length, detailsCount: union.details, box: union, windowIndex: 0 };
  return { summary, boxes, orders, appearanceIndices, appearances };
}

/** Numbers from 0 to 1, the same in every run. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}
