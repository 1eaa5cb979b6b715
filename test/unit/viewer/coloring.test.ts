import { describe, expect, it } from 'vitest';
import { boundingBox } from '../../../src/annotation-format/bounding-box.js';
import { measure } from '../../../src/annotation-format/measures.js';
import type { AnnotationElement } from '../../../src/annotation-format/schema/document.js';

interface Element {
  id: string;
  type: string;
  [member: string]: unknown;
}
interface Coloring {
  by: string | null;
  palette: string | null;
  low: number | null;
  filter: object | null;
}

// By names that only the running test knows: the types of browsers are not among those of the tests.
const load = (path: string): Promise<unknown> => import(path);
const { plainColoring, readColorings, writeColorings } = (await load('../../../src/viewer/annotations/coloring/coloring.js')) as {
  plainColoring: Coloring;
  readColorings: (text: string | null) => Map<string, Coloring>;
  writeColorings: (colorings: Iterable<readonly [string, Coloring]>) => string | null;
};
const { ShapeColors } = (await load('../../../src/viewer/annotations/coloring/shape-colors.js')) as {
  ShapeColors: new (coloring: Coloring, legend: object | null) => { toColored: (element: Element) => Element };
};
const { matchesFilter, valueOf } = (await load('../../../src/viewer/annotations/coloring/shape-values.js')) as {
  matchesFilter: (filter: object, element: Element, types: Record<string, string>) => boolean;
  valueOf: (element: Element, column: string, types: Record<string, string>) => unknown;
};
const { geometryOf } = (await load('../../../src/viewer/annotations/shape-measures.js')) as {
  geometryOf: (element: Element) => Record<'area' | 'length' | 'x' | 'y', number>;
};

type Ring = [number, number, number][];

const ring = (...points: [number, number][]): Ring => points.map(([x, y]) => [x, y, 0]);

const shapes: AnnotationElement[] = [
  { type: 'point', center: [3, 4, 0] },
  { type: 'circle', center: [30, 40, 0], radius: 5 },
  { type: 'ellipse', center: [30, 40, 0], width: 10, height: 4, rotation: 1 },
  { type: 'rectangle', center: [30, 40, 0], width: 10, height: 4, rotation: 0.5 },
  { type: 'rectanglegrid', center: [30, 40, 0], width: 10, height: 4, widthSubdivisions: 2, heightSubdivisions: 2 },
  { type: 'arrow', points: ring([1, 2], [4, 6]) as [Ring[0], Ring[0]] },
  { type: 'polyline', closed: false, points: ring([1000, 2], [1004, 6], [1010, 6]) },
  { type: 'polyline', closed: true, points: ring([90_000, 70_000], [90_020, 70_000], [90_030, 70_040], [90_000, 70_020]) },
  { type: 'polyline', closed: true, points: ring([0, 0], [0, 9], [9, 9], [9, 0]) },
  {
    type: 'polyline',
    closed: true,
    points: ring([0, 0], [20, 0], [20, 20], [0, 20]),
    holes: [ring([2, 2], [2, 8], [8, 8], [8, 2]), ring([12, 12], [14, 12], [14, 16], [12, 16])],
  },
];

/** An element with all members that the page needs. */
const element = (members: object): Element => ({ id: 'a', type: 'point', center: [1, 2, 0], ...members });

describe('colors and filters of shapes', () => {
  it.each(shapes.map((shape) => [JSON.stringify(shape).slice(0, 60), shape] as const))(
    'measure %s as the server does',
    (_, shape) => {
      const server = measure(shape, boundingBox(shape));
      const page = geometryOf(shape as unknown as Element);
      for (const name of ['area', 'x', 'y'] as const) expect(page[name]).toBeCloseTo(server[name], 6);
      // The server approximates the perimeter of an ellipse.
      expect(Math.abs(page.length - server.length)).toBeLessThanOrEqual(server.length * 0.0005);
    },
  );

  it.each([
    ['/score', 'number', 3],
    ['/nucleus/mean', 'number', 0.5],
    ['/a~1b', 'number', 1],
    ['/list/1', 'number', 7],
    ['/mixed', 'text', '12'],
    ['/mixed#number', 'number', 12],
    ['/checked', 'boolean', true],
    ['/none', 'text', null],
    ['/missing/deeper', 'number', null],
    ['/nucleus', 'text', null],
    ['/toString', 'text', null],
    ['group', 'text', 'tumor'],
    ['label', 'text', 'L'],
    ['xmax', 'number', 1],
  ])('find the value of %s', (column, type, expected) => {
    const user = { score: 3, nucleus: { mean: 0.5 }, 'a/b': 1, list: [6, 7], mixed: 12, checked: true, none: null };
    const shape = element({ user, group: 'tumor', label: { value: 'L' } });
    expect(valueOf(shape, column, { [column]: type })).toBe(expected);
  });

  it.each([
    [{ column: '/score', gte: 3 }, true],
    [{ column: '/score', gte: 3, lte: 2.9 }, false],
    [{ column: '/other', lte: 5 }, false],
    [{ column: 'group', in: ['tumor', 'x'] }, true],
    [{ column: 'group', in: ['x'] }, false],
    [
      {
        and: [
          { column: '/score', lte: 3 },
          { column: 'group', in: ['x'] },
        ],
      },
      false,
    ],
  ])('decide whether %j matches a shape', (filter, expected) => {
    const shape = element({ user: { score: 3 }, group: 'tumor' });
    expect(matchesFilter(filter, shape, { '/score': 'number', '/other': 'number', group: 'text' })).toBe(expected);
  });

  it.each([
    ['#ff0000', '#123456'],
    ['#f008', '#12345688'],
    ['#ff000080', '#12345680'],
    ['rgb(1, 2, 3)', '#123456'],
    ['rgba(1, 2, 3, 0.5)', '#12345680'],
  ])('keep the opacity of %s', (former, expected) => {
    const legend = {
      count: 1,
      columns: { group: 'text' },
      scale: null,
      categories: [{ value: 'g', color: '#123456', count: 1 }],
    };
    const painting = new ShapeColors({ ...plainColoring, by: 'group' }, legend);
    const shape = element({ group: 'g', fillColor: former, lineColor: former });
    expect(painting.toColored(shape)).toEqual({ ...shape, fillColor: expected, lineColor: expected });
    const other = element({ group: 'new' });
    expect(painting.toColored(other)).toBe(other);
  });

  it('are written to the address and read from it', () => {
    const filter = {
      and: [
        { column: '/score', gte: 1 },
        { column: 'group', in: ['a'] },
      ],
    };
    const colorings = new Map([['id1', { ...plainColoring, by: '/score', palette: 'magma', low: 0.5, filter }]]);
    expect(readColorings(writeColorings([...colorings, ['id2', plainColoring]]))).toEqual(colorings);
    expect(writeColorings([['id2', plainColoring]])).toBe(null);
  });

  it('keep colors of groups in the address, and paint only their shapes', () => {
    const colors = [
      ['a', '#123456'],
      [null, '#abcdef'],
    ];
    const coloring = { ...plainColoring, colors };
    expect(readColorings(writeColorings([['id1', coloring]]))).toEqual(new Map([['id1', coloring]]));
    const painting = new ShapeColors(coloring, null);
    const shape = element({ fillColor: '#ff000080', lineColor: '#ff0000' });
    expect(painting.toColored({ ...shape, group: 'a' })).toMatchObject({ fillColor: '#12345680', lineColor: '#123456' });
    expect(painting.toColored(shape)).toMatchObject({ lineColor: '#abcdef' });
    const other = { ...shape, group: 'b' };
    expect(painting.toColored(other)).toBe(other);
  });

  it.each([null, '', '{', '[]', '7', 'null'])('are none in an address with %j', (text) => {
    expect(readColorings(text)).toEqual(new Map());
  });

  it.each([
    '{"a": 1}',
    '{"a": {"by": 1, "low": "x", "heat": "y", "filter": {"column": 1, "and": 2}}}',
    '{"a": {"filter": {"and": [1, {"column": "x"}]}}}',
    '{"a": {"colors": {"x": "#ffffff"}}}',
    '{"a": {"colors": ["x", ["x"], ["x", "url(y)"], [1, "#ffffff"]]}}',
  ])('are plain in an address with %s', (text) => {
    expect(readColorings(text)).toEqual(new Map([['a', plainColoring]]));
  });
});
