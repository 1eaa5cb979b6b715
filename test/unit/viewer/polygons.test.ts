import { describe, expect, it } from 'vitest';
import { makeMergeEdits, makeSimplifyEdits, makeSplitEdits } from '../../../src/viewer/annotations/drawing/polygon-edits.js';
import { areaOf, asPolygon, polygonOf, loadPolygonTools } from '../../../src/viewer/annotations/drawing/polygons.js';
import type { Coordinate, Element } from '../../../src/viewer/annotations/annotation-model.js';

const square = (x: number, y: number, side: number, rest: Partial<Element> = {}): Element => ({
  id: `${x},${y}`,
  type: 'polyline',
  closed: true,
  points: [
    [x, y, 0],
    [x + side, y, 0],
    [x + side, y + side, 0],
    [x, y + side, 0],
  ],
  ...rest,
});
const line = (...points: Coordinate[]): Element => ({ id: 'line', type: 'polyline', closed: false, points });

describe('polygons in the viewer', () => {
  it.each([
    ['a circle', { type: 'circle', center: [50, 50, 3], radius: 10 }, Math.PI * 100],
    ['an ellipse', { type: 'ellipse', center: [50, 50, 3], width: 20, height: 10, rotation: 1 }, Math.PI * 50],
    ['a rectangle', { type: 'rectangle', center: [50, 50, 3], width: 20, height: 10, rotation: 1 }, 200],
  ] as const)('turns %s into the outline of its area', (_name, shape, area) => {
    const element = { id: 'a', group: 'g', ...shape } as unknown as Element;
    const polygon = polygonOf(element)!;
    expect(areaOf(polygon) / area).toBeCloseTo(1, 2);
    const polygonElement = asPolygon(element, polygon);
    expect(polygonElement).toMatchObject({ id: 'a', group: 'g', type: 'polyline', closed: true });
    expect(polygonElement.points![0]![2]).toBe(3);
    expect(Object.keys(polygonElement).toSorted()).toEqual(['closed', 'group', 'id', 'points', 'type']);
  });

  it('makes no polygons of lines and points', () => {
    expect(polygonOf(line([0, 0, 0], [1, 1, 0]))).toBeNull();
    expect(polygonOf({ id: 'p', type: 'point', center: [0, 0, 0] })).toBeNull();
  });

  it('merges shapes that touch each other, and refuses others', async () => {
    const [first, second] = [square(0, 0, 100, { group: 'a' }), square(50, 0, 100, { group: 'b' })];
    const [merged, removal] = await makeMergeEdits([first, second]);
    expect(merged).toMatchObject({ before: first, after: { id: first.id, group: 'a' } });
    expect(areaOf({ points: merged!.after!.points! })).toBeCloseTo(15_000);
    expect(removal).toEqual({ before: second, after: null });
    await expect(makeMergeEdits([first, square(300, 0, 10)])).rejects.toThrow('do not touch');
  });

  it('keeps holes and islands when areas are subtracted', async () => {
    const polygons = await loadPolygonTools();
    const [outer, hole] = [square(0, 0, 100), square(20, 20, 40)].map((shape) => polygonOf(shape)!);
    const [ring, ...others] = polygons.subtract([outer!], [hole!]);
    expect(others).toEqual([]);
    expect(ring!.holes.map((points) => areaOf({ points }))).toEqual([1600]);
    const [united] = polygons.unite([ring!, hole!]);
    expect([united!.holes, areaOf(united!)]).toEqual([[], 10_000]);
  });

  it('splits shapes that a line crosses, except locked ones', async () => {
    const locked = square(0, 200, 100, { user: { qupath: { isLocked: true } } });
    const edits = await makeSplitEdits([square(0, 0, 100), locked, square(300, 0, 50)], line([30, -10, 0], [30, 400, 0]));
    expect(edits.map(({ before, after }) => [before?.id ?? null, Math.round(areaOf({ points: after!.points! }))])).toEqual([
      ['0,0', 6999],
      [null, 2999],
    ]);
    expect(await makeSplitEdits([square(0, 0, 100)], line([30, -10, 0], [30, 50, 0]))).toEqual([]);
  });

  it('merges the parts of a shape that was split', async () => {
    const shape = square(0, 0, 100);
    for (const cut of [line([30, -10, 0], [30, 400, 0]), line([-10, -7, 0], [90, 111, 0])]) {
      const parts = (await makeSplitEdits([shape], cut)).map(({ after }) => after!);
      const [merged, ...removals] = await makeMergeEdits(parts);
      expect(removals).toEqual([{ before: parts[1], after: null }]);
      const { points = [] } = merged!.after!;
      expect(points).toHaveLength(4);
      for (const [x, y] of points)
        for (const value of [x, y]) expect(Math.min(Math.abs(value), Math.abs(value - 100))).toBeLessThan(0.1);
    }
  });

  it('removes vertices that make no visible difference', async () => {
    const points: Coordinate[] = Array.from({ length: 101 }, (_, x) => [x, x % 2 === 0 ? 0 : 0.2, 0]);
    const [edit] = await makeSimplifyEdits([line(...points)], 0.5);
    expect(edit!.after!.points).toEqual([
      [0, 0, 0],
      [100, 0, 0],
    ]);
    expect(await makeSimplifyEdits([square(0, 0, 10)], 0.5)).toEqual([]);
  });
});
