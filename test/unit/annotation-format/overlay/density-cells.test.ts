import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DensityCells } from '../../../../src/features/annotations/overlay/draw/density/density-cells.js';

const entries = fc.array(fc.tuple(fc.nat(2 ** 28), fc.integer({ min: 1, max: 1000 })), { maxLength: 300 });

/** The same sums from a map, in the order of keys. */
function expected(...lists: (readonly (readonly [number, number])[])[]): [number, number][] {
  const sums = new Map<number, number>();
  for (const [key, share] of lists.flat()) sums.set(key, (sums.get(key) ?? 0) + share);
  return [...sums].sort(([a], [b]) => a - b);
}

function cellsIn(cells: DensityCells): [number, number][] {
  return Array.from(cells.keys, (key, i) => [key, cells.coverages[i]!]);
}

describe('cells of a density', () => {
  it('sum values for the same key, in any order, even after reading', () => {
    fc.assert(
      fc.property(entries, entries, (first, second) => {
        const cells = new DensityCells();
        for (const [key, share] of [...first, ...first]) cells.add(key, share);
        expect(cellsIn(cells)).toEqual(expected(first, first));
        const others = new DensityCells();
        for (const [key, share] of second) others.add(key, share);
        cells.addAll(others);
        expect(cellsIn(cells)).toEqual(expected(first, first, second));
        expect(cells.size).toBe(cells.keys.length);
      }),
    );
  });

  it('are merged in fours into cells of twice the side, next to those of the neighboring tiles', () => {
    const parent = new DensityCells();
    // The right tile of the lower pair: class 3, rows 255 and 254, columns 2 and 3.
    const cells = new DensityCells();
    for (const [row, column] of [
      [255, 2],
      [255, 3],
      [254, 3],
      [0, 255],
    ] as const) {
      cells.add(3 * 65_536 + row * 256 + column, 4);
    }
    cells.addToCoarserTile(parent, (128 << 8) + 128);
    expect(cellsIn(parent)).toEqual([
      [3 * 65_536 + 128 * 256 + 128 + 127, 1],
      [3 * 65_536 + 255 * 256 + 128 + 1, 3],
    ]);
  });

  it('are listed class by class', () => {
    const cells = new DensityCells();
    for (const key of [5, 65_536 * 4000 + 65_535, 65_536 * 4000, 7]) cells.add(key, key % 10);
    const classes: unknown[] = [];
    for (const { classIndex, positions, coverages } of cells.byClass())
      classes.push([classIndex, [...positions], [...coverages]]);
    expect(classes).toEqual([
      [0, [5, 7], [5, 7]],
      [4000, [0, 65_535], [0, 5]],
    ]);
  });
});
