import { expect, it } from 'vitest';
import { partsOutsideBox } from '../../../src/viewer/annotations/annotation-model.js';

const box = (left: number, top: number, right: number, bottom: number) => ({ left, top, right, bottom });

it('divides the part of a box outside another one without gaps or overlaps', () => {
  for (const other of [box(2, 3, 12, 13), box(-5, -5, 4, 20), box(3, 3, 6, 6), box(-1, 4, 11, 5), box(-9, -9, 99, 99)]) {
    const parts = partsOutsideBox(box(0, 0, 10, 10), other);
    for (let x = 0.5; x < 10; x += 1)
      for (let y = 0.5; y < 10; y += 1) {
        const within = [other, ...parts].filter(({ left, top, right, bottom }) => x > left && x < right && y > top && y < bottom);
        expect(within).toHaveLength(1);
      }
  }
});
