import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { boundingBox, unionBox, type BoundingBox } from '../../../src/annotation-format/bounding-box.js';
import { centroidBytes, textAroundCentroids, CentroidPropTable } from '../../../src/annotation-format/centroids.js';
import { writeCentroid } from '../../support/annotations/element-model.js';
import { defaultName, withDefaultName } from '../../../src/annotation-format/default-name.js';
import { countDetails } from '../../../src/annotation-format/details.js';
import { ElementIds } from '../../../src/annotation-format/element-ids.js';
import { boxCorners, ellipseOutline } from '../../../src/annotation-format/formats/geometry.js';
import type { AnnotationElement } from '../../../src/annotation-format/schema/document.js';
import { anyElement, elementOf } from './arbitraries.js';
import { fullElements } from './samples.js';

const box = (element: object, overlay?: { width: number; height: number }): BoundingBox =>
  boundingBox(element as AnnotationElement, overlay ?? null);

describe('bounding boxes', () => {
  test.each([
    [{ type: 'point', center: [10.25, -40, 3] }, [9.75, -40.5, 3, 10.75, -39.5, 3], Math.SQRT2, 1],
    [{ type: 'circle', center: [10, 20, 1], radius: 5 }, [5, 15, 1, 15, 25, 1], Math.hypot(10, 10), 4],
    [{ type: 'rectangle', center: [0, 0, 0], width: 4, height: 2 }, [-2, -1, 0, 2, 1, 0], Math.hypot(4, 2), 4],
    [
      { type: 'rectangle', center: [0, 0, 0], width: 4, height: 2, rotation: Math.PI / 2 },
      [-1, -2, 0, 1, 2, 0],
      Math.hypot(4, 2),
      4,
    ],
    [
      { type: 'rectangle', center: [0, 0, 0], width: 2, height: 4, rotation: Math.PI / 4 },
      [-2.1213, -2.1213, 0, 2.1213, 2.1213, 0],
      6,
      4,
    ],
    [
      { type: 'ellipse', center: [0, 0, 0], width: 4, height: 2, rotation: Math.PI / 4 },
      [-1.5811, -1.5811, 0, 1.5811, 1.5811, 0],
      4.4721,
      4,
    ],
    [
      {
        type: 'polyline',
        points: [
          [5, 6, 1],
          [7.5, 8.25, -1],
        ],
      },
      [5, 6, -1, 7.5, 8.25, 1],
      3.3634,
      2,
    ],
    [{ type: 'heatmap', points: [], radius: 9 }, [0, 0, 0, 0, 0, 0], 0, 0],
    [{ type: 'heatmap', points: [[1, 2, 3, 99]] }, [1, 2, 3, 1, 2, 3], 0, 1],
    [{ type: 'griddata', gridWidth: 3, values: [1, 2, 3, 4, 5, 6] }, [0, 0, 0, 2, 1, 0], Math.hypot(2, 1), 6],
    [
      { type: 'griddata', gridWidth: 3, values: [1, 2, 3], interpretation: 'choropleth', origin: [10, 20, 5], dx: -2, dy: 4 },
      [4, 20, 5, 10, 24, 5],
      Math.hypot(6, 4),
      3,
    ],
    [{ type: 'image', serviceId: '' }, [0, 0, 0, 0, 0, 0], 0, 1],
  ])('%j', (element, [lowx, lowy, lowz, highx, highy, highz], size, details) => {
    const result = box(element);
    const expected = { lowx, lowy, lowz, highx, highy, highz, size, details };
    for (const [key, value] of Object.entries(expected))
      expect(result[key as keyof BoundingBox], key).toBeCloseTo(value as number, 3);
  });

  test('an overlay is the box of its corners after the transform', () => {
    const transform = {
      xoffset: 100,
      yoffset: 10,
      matrix: [
        [0, 2],
        [-1, 0],
      ],
    };
    expect(box({ type: 'pixelmap', transform }, { width: 30, height: 20 })).toMatchObject({
      lowx: 80,
      lowy: 10,
      highx: 100,
      highy: 70,
      lowz: 0,
      highz: 0,
    });
    expect(box({ type: 'image' }, { width: 30, height: 20 })).toMatchObject({ lowx: 0, lowy: 0, highx: 30, highy: 20 });
  });

  test('are the tight boxes of rotated rectangles and ellipses', () => {
    fc.assert(
      fc.property(fc.oneof(elementOf('rectangle'), elementOf('ellipse'), elementOf('rectanglegrid')), (element) => {
        if (!('width' in element)) throw new Error('not a box');
        const isEllipse = element.type === 'ellipse';
        const outline = isEllipse ? ellipseOutline(element) : boxCorners(element);
        const result = box(element);
        const xs = outline.map((position) => position[0]);
        const ys = outline.map((position) => position[1]);
        // The 96 vertices of an ellipse may miss its extremes by a share of 1 - cos(pi / 96).
        const slack = (isEllipse ? Math.max(element.width, element.height) * 6e-4 : 0) + 1e-6;
        for (const [value, low, high] of [
          [Math.min(...xs), result.lowx, result.lowx],
          [Math.max(...xs), result.highx, result.highx],
          [Math.min(...ys), result.lowy, result.lowy],
          [Math.max(...ys), result.highy, result.highy],
        ] as const) {
          expect(value).toBeGreaterThanOrEqual(low - slack);
          expect(value).toBeLessThanOrEqual(high + slack);
        }
      }),
    );
  });

  test('are finite and in order for any element, even at the end of the number range', () => {
    fc.assert(
      fc.property(anyElement, (element) => {
        const result = box(element, { width: 1000, height: 500 });
        expect(Object.values(result).every(Number.isFinite)).toBe(true);
        expect(result.highx).toBeGreaterThanOrEqual(result.lowx);
        expect(result.highy).toBeGreaterThanOrEqual(result.lowy);
        expect(result.details).toBe(countDetails(element));
      }),
    );
    const huge = box({
      type: 'polyline',
      points: [
        [-1.7e308, 0, 0],
        [1.7e308, 1e308, 0],
      ],
    });
    expect(Object.values(huge).every(Number.isFinite)).toBe(true);
    expect(Object.values(box({ type: 'circle', center: [1e308, 0, 0], radius: 1.7e308 })).every(Number.isFinite)).toBe(true);
  });

  test('the union of boxes holds both and adds up the details', () => {
    const a = box({ type: 'point', center: [0, 0, 0] });
    const b = box({ type: 'circle', center: [10, 0, 5], radius: 1 });
    expect(unionBox(null, a)).toEqual(a);
    expect(unionBox(a, b)).toMatchObject({ lowx: -0.5, highx: 11, lowy: -1, highy: 1, lowz: 0, highz: 5, details: 5 });
  });
});

describe('centroids', () => {
  test('a record is 28 bytes: id, float32 center and size, int32 row', () => {
    const buffer = Buffer.alloc(centroidBytes * 2);
    const id = '0123456789abcdef01234567';
    writeCentroid(buffer, centroidBytes, { id, box: box({ type: 'point', center: [10.3, -40, 0] }), props: 3 });
    expect(buffer.subarray(0, 28).every((byte) => byte === 0)).toBe(true);
    expect(buffer.toString('hex', 28, 40)).toBe(id);
    // The recorded numbers of the established implementation for this point.
    expect([buffer.readFloatLE(40), buffer.readFloatLE(44), buffer.readFloatLE(48)]).toEqual([
      10.300000190734863, -40, 1.4142135381698608,
    ]);
    expect(buffer.readInt32LE(52)).toBe(3);
  });

  test('appearances are listed once, in first-seen order, with the defaults of the contract', () => {
    const table = new CentroidPropTable();
    const indices = [
      { type: 'point', center: [0, 0, 0] },
      { type: 'polyline', points: [], closed: false },
      { type: 'point', center: [1, 1, 1], lineWidth: 2 },
      { type: 'polyline', points: [], closed: true, fillColor: '#abc', lineColor: '#def', lineWidth: 0 },
    ].map((element) => table.findOrAdd(element as unknown as AnnotationElement));
    expect(indices).toEqual([0, 1, 0, 2]);
    expect(table.rows).toEqual([
      ['point', 'rgba(0,0,0,0)', 'rgb(0,0,0)', 2, null],
      ['polyline', 'rgba(0,0,0,0)', 'rgb(0,0,0)', 2, false],
      ['polyline', '#abc', '#def', 0, true],
    ]);
  });

  test('the frame is JSON once the binary part is cut out, whatever the attributes contain', () => {
    const annotation = { attributes: { elements: [], text: 'a"elements": [\u0000' }, name: 'n' };
    const { before, after } = textAroundCentroids({ record: { _id: 'x' }, annotation, elementQuery: { returned: 0 } });
    expect(before.endsWith('"elements": [')).toBe(true);
    expect(before + after).not.toContain('\u0000');
    expect(JSON.parse(before + after)).toEqual({
      _id: 'x',
      annotation: { ...annotation, elements: [] },
      _elementQuery: { returned: 0 },
    });
    const empty = textAroundCentroids({ record: {}, annotation: {}, elementQuery: {} });
    expect(JSON.parse(empty.before + empty.after)).toEqual({ annotation: { elements: [] }, _elementQuery: {} });
  });
});

describe('sets of ids', () => {
  test('agree with a Set of texts', () => {
    const hex = fc.string({ unit: fc.constantFrom('0', 'f'), minLength: 24, maxLength: 24 });
    fc.assert(
      fc.property(fc.array(hex, { maxLength: 200 }), (ids) => {
        const mine = new ElementIds();
        const other = new Set<string>();
        for (const id of ids) {
          expect(mine.add(id)).toBe(!other.has(id));
          other.add(id);
        }
        expect(mine.size).toBe(other.size);
      }),
    );
  });

  test('a million consecutive ids take less than 60 MB and find every repetition', () => {
    const ids = new ElementIds();
    const before = process.memoryUsage().arrayBuffers;
    for (let i = 0; i < 1e6; i += 1)
      if (!ids.add((0xabcdef0000 + i).toString(16).padStart(24, '5'))) throw new Error(`${i} was not there`);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(60e6);
    for (let i = 0; i < 1e6; i += 9973) expect(ids.add((0xabcdef0000 + i).toString(16).padStart(24, '5'))).toBe(false);
    expect(ids.add('0'.repeat(24))).toBe(true);
    expect(ids.add('0'.repeat(24))).toBe(false);
    expect(ids.size).toBe(1e6 + 1);
  });
});

test('a missing, null or empty name is replaced by one with the current minute, but not in an empty document', () => {
  const now = new Date('2026-11-21T03:05:59Z');
  expect(defaultName(now)).toBe('Annotation 2026-11-21 03:05');
  for (const document of [{ elements: [] }, { name: null }, { name: '' }]) {
    expect(withDefaultName(document, now)).toMatchObject({ name: 'Annotation 2026-11-21 03:05' });
  }
  for (const document of [{}, { name: 'a' }, { name: 5 }, [], null, 'x']) expect(withDefaultName(document, now)).toBe(document);
  expect(fullElements.point).not.toHaveProperty('name');
});
