import { expect, it } from 'vitest';
import { Patches } from '../../../src/viewer/annotations/drawing/patches.js';
import type { Box, Element } from '../../../src/viewer/annotations/annotation-model.js';

const box = (left: number, top: number, right: number, bottom: number): Box => ({ left, top, right, bottom });

/** A square with sides of 2 pixels. Its number is its position in the annotation. */
function square(number: number, x: number, y: number): Element {
  return { id: String(number), type: 'rectangle', center: [x, y, 0], width: 2, height: 2 };
}

function patchOf(area: Box, elements: Element[]) {
  return { box: area, elements, orders: elements.map(({ id }) => Number(id)) };
}

const idsOf = (elements: Map<string, Element>) => [...elements.keys()].map(Number);

it('merges patches without gaps, in the order of the annotation', () => {
  const patches = new Patches();
  const border = [square(2, 10, 5), square(5, 10, 6)];
  patches.add(patchOf(box(10, 0, 20, 10), [...border, square(7, 15, 5)]));
  expect(patches.missingParts(box(5, 0, 20, 10))).toEqual([box(5, 0, 10, 10)]);
  patches.add(patchOf(box(0, 0, 10, 10), [square(1, 5, 5), ...border, square(6, 6, 6)]));
  expect(patches.missingParts(box(5, 0, 20, 10))).toEqual([]);
  expect(idsOf(patches.elementsIn(box(0, 0, 20, 10)))).toEqual([1, 2, 5, 6, 7]);
  expect(idsOf(patches.elementsIn(box(12, 0, 20, 10)))).toEqual([7]);
});

it('drops the elements that were near least recently when there are too many', () => {
  const patches = new Patches();
  const many = (from: number, x: number) => Array.from({ length: 5000 }, (_, index) => square(from + index, x, 5));
  for (let part = 0; part < 6; part += 1) {
    patches.add(patchOf(box(part * 10, 0, part * 10 + 9, 10), many(part * 5000, part * 10 + 5)));
    patches.trim(box(part * 10 + 2, 0, part * 10 + 8, 10));
    // The first patch is used again and again.
    patches.trim(box(2, 0, 8, 10));
  }
  const isHere = (part: number) => patches.missingParts(box(part * 10, 0, part * 10 + 9, 10)).length === 0;
  expect([0, 1, 2, 3, 4, 5].map(isHere)).toEqual([true, false, true, true, true, true]);
  // Shapes of many points count for more.
  const patch = patchOf(box(900, 0, 909, 10), [
    { ...square(1, 905, 5), points: Array.from({ length: 500_001 }, () => [905, 5, 0]) },
  ]);
  patches.add(patch);
  patches.trim(box(0, 0, 9, 10));
  expect(patches.missingParts(patch.box)).toEqual([patch.box]);
});

it('after a change known shapes keep their order, new ones come last, and other regions are forgotten', () => {
  const patches = new Patches();
  patches.add(patchOf(box(0, 0, 10, 10), [square(1, 5, 5), square(3, 6, 5)]));
  patches.add(patchOf(box(50, 0, 60, 10), [square(9, 55, 5)]));
  patches.replaceElements(box(0, 0, 8, 10), [square(100, 5, 5), square(3, 6, 6), square(1, 5, 6), square(101, 5, 5)]);
  expect(idsOf(patches.elementsIn(box(0, 0, 8, 10)))).toEqual([1, 3, 100, 101]);
  expect(patches.missingParts(box(0, 0, 10, 10))).toEqual([box(8, 0, 10, 10)]);
  expect(patches.missingParts(box(50, 0, 60, 10))).toHaveLength(1);
  patches.add(patchOf(box(8, 0, 20, 10), [square(2, 8, 5)]));
  expect(idsOf(patches.elementsIn(box(0, 0, 20, 10)))).toEqual([1, 2, 3, 100, 101]);
});
