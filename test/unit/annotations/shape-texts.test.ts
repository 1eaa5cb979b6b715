import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AnnotationElement } from '../../../src/annotation-format/schema/document.js';
import { encodeColumns } from '../../../src/features/annotations/elements/packs/pack.js';
import { toPackedElement, createPack } from '../../../src/features/annotations/elements/write/packed-elements.js';
import { ShapeTexts } from '../../../src/features/annotations/table/shape-texts.js';
import { shapeOf } from '../../../src/features/annotations/table/shapes.js';
import { casesOf } from '../../support/run/sample.js';
import { anyElement } from '../annotation-format/arbitraries.js';

const idOf = (number: number) => number.toString(16).padStart(24, '0');

/** Checks that shapes made from texts of packs are equal to those of the parsed elements. */
function expectSameShapes(elements: readonly AnnotationElement[]): void {
  const items = elements.map((element, i) => toPackedElement(element, element.id ?? idOf(i), i, null));
  const { rows, text } = createPack(items);
  const texts = new ShapeTexts([{ columns: encodeColumns(rows), text }]);
  for (const [i, item] of items.entries()) {
    expect(texts.shapeAt(i)).toEqual(shapeOf(JSON.parse(item.text.toString()) as AnnotationElement));
  }
}

test('shapes parsed from texts equal those of the elements', () => {
  fc.assert(
    fc.property(fc.array(anyElement, { maxLength: 8 }), (elements) => expectSameShapes(elements)),
    { numRuns: casesOf(150) },
  );
});

test('shapes parsed from texts are right even where the key of points occurs elsewhere', () => {
  const points: [number, number, number][] = [
    [1, 2, 0],
    [3, 4.5, 0],
    [5, 6, 0],
  ];
  const line: AnnotationElement = { type: 'polyline', points, closed: true, lineColor: '#00ff00' };
  expectSameShapes([
    line,
    { ...line, id: idOf(99) },
    { ...line, closed: false },
    { ...line, points: points.slice(0, 2) },
    { ...line, points: [[1, 2, 3], ...points] },
    { ...line, holes: [points] },
    { ...line, label: { value: 'ü "points":[[1]]' } },
    { user: { points: [[8]] }, ...line },
    { ...line, user: { points: [[8, 9]] } },
    ...[[['a]],b']], [[[1]]], [[1], 2], [[{ a: [1] }]], [[null]]].map((value) => ({ user: { points: value }, ...line })),
    { ...line, points: [[-0, 1.5e-9, 0.1], [0.30000000000000004, 123456789012345.6, 1e21], points[0]!] },
    { type: 'arrow', points: [points[0]!, points[1]!] },
    line,
  ]);
});
