import { gunzipSync } from 'node:zlib';
import { tableFromIPC } from 'apache-arrow';
import { parse } from 'csv-parse/sync';
import { parquetReadObjects } from 'hyparquet';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementId, point, startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';

type Json = Record<string, unknown>;

/** The parameters of a query as texts. */
function texts(query: Json): [string, string][] {
  return Object.entries(query).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]);
}

/** A square with its upper left corner at (x, y). */
function square(x: number, y: number, side: number, more: Json = {}): Json {
  const points = [
    [x, y, 0],
    [x + side, y, 0],
    [x + side, y + side, 0],
    [x, y + side, 0],
  ];
  return { type: 'polyline', closed: true, points, ...more };
}

const count = 300;

/** Squares of growing size along a diagonal, every third one in a group. */
const elements = Array.from({ length: count }, (_, i) =>
  square(i * 10, i * 20, i + 1, {
    id: elementId(i + 1),
    ...(i % 3 === 0 ? { group: 'tumor' } : i % 3 === 1 ? { group: 'stroma' } : {}),
    ...(i === 7 && { label: { value: 'a "label", with commas' } }),
    user: {
      nucleus: { area: i / 4, 'with/slash': i },
      ...(i % 2 === 0 && { score: i - 100 }),
      mixed: i % 2 === 0 ? i : `t${i}`,
      checked: i % 5 === 0,
      list: [i, [i * 2]],
      none: null,
      ...(i === 3 && { 'a.b': 1, a: { b: 2 } }),
      ...(i === 4 && { shape: { type: 'Polygon', coordinates: [[[i, i]]] }, coordinates: [i] }),
    },
  }),
);

const shapes = [
  { type: 'circle', center: [10, 20, 0], radius: 3 },
  { type: 'ellipse', center: [10, 20, 0], width: 8, height: 2, rotation: 1 },
  { type: 'rectangle', center: [10, 20, 0], width: 8, height: 2 },
  {
    type: 'arrow',
    points: [
      [0, 0, 0],
      [3, 4, 0],
    ],
  },
  square(0, 0, 10, {
    holes: [
      [
        [2, 2, 0],
        [4, 2, 0],
        [4, 4, 0],
        [2, 4, 0],
      ],
    ],
  }),
  {
    type: 'polyline',
    points: [
      [0, 0, 0],
      [10, 0, 0],
      [10, 30, 0],
    ],
  },
  {
    type: 'polyline',
    closed: true,
    points: [
      [0, 0, 0],
      [10, 0, 0],
      [5, 0, 0],
    ],
  },
  {
    type: 'heatmap',
    points: [
      [0, 0, 0, 1],
      [4, 8, 0, 2],
    ],
  },
];

describe('an annotation whose elements fill many packs', () => {
  const elementCount = 10_000;
  let at: Annotated;
  let id: string;
  /** Sides of the squares, which are all different and in no order. */
  const sideOf = (i: number) => 1 + ((i * 7919) % elementCount) / 100;
  beforeAll(async () => {
    at = await startAnnotated({ checksAnswers: true });
    const mixed = (i: number) => (i % 3 === 0 ? i : i % 3 === 1 ? `t${i}` : null);
    const squares = Array.from({ length: elementCount }, (_, i) =>
      square((i % 100) * 200, Math.floor(i / 100) * 200, sideOf(i), {
        id: elementId(i + 1),
        ...(i % 2 === 0 && { group: `g${i % 7}` }),
        user: { n: i / 8, mixed: mixed(i), isOdd: i % 2 === 1 },
      }),
    );
    id = (await at.annotate({ name: 'many', elements: squares }))._id;
  });
  afterAll(() => at?.close());

  const rows = async (query: Json) => {
    return (await at.admin.ok('GET', `/annotation/${id}/table/rows`, { query: texts(query) })).rows as unknown[][];
  };

  it('has the same values in rows of a few packs as in rows of all', async () => {
    const change = { ...square(1, 1, 500), id: elementId(18), user: { n: -1, mixed: 'new' } };
    await at.admin.ok('PUT', `/annotation/${id}/elements/${elementId(18)}`, { json: change });
    // Pages of 5000 rows need all packs.
    const half = { sort: 'area', limit: elementCount / 2 };
    const allRows = [...(await rows(half)), ...(await rows({ ...half, offset: elementCount / 2 }))];
    expect(allRows).toHaveLength(elementCount);
    expect(allRows[0]!.slice(0, 4)).toEqual([elementId(1), 0, 'polyline', 'g0']);
    expect(allRows.at(-1)!.slice(0, 2)).toEqual([elementId(18), 17]);
    for (const offset of [0, 4000, elementCount - 10]) {
      expect(await rows({ sort: 'area', offset, limit: 10 })).toEqual(allRows.slice(offset, offset + 10));
    }
    expect(await rows({ sort: 'area', sortdir: -1, limit: 10 })).toEqual(allRows.slice(-10).reverse());
    const filter = { column: '/mixed', in: ['t1', 't9997', 'new'] };
    expect((await rows({ filter, sort: 'id' })).map(([element]) => element)).toEqual([
      elementId(2),
      elementId(18),
      elementId(9998),
    ]);
  });

  it('returns its largest elements with their texts and boxes', async () => {
    const query = [
      ['sort', 'size'],
      ['sortdir', '-1'],
      ['limit', '200'],
      ['bbox', 'true'],
    ] as [string, string][];
    const { annotation } = await at.admin.ok('GET', `/annotation/${id}`, { query });
    const expected = Array.from({ length: elementCount }, (_, i) => i)
      .filter((i) => i !== 17)
      .sort((a, b) => sideOf(b) - sideOf(a))
      .slice(0, 199);
    const { elements: stored } = annotation as { elements: (Json & { _bbox: Json; points: number[][] })[] };
    expect(stored.map((element) => element.id)).toEqual([elementId(18), ...expected.map((i) => elementId(i + 1))]);
    for (const { _bbox: box, points } of stored) expect([box.lowx, box.lowy]).toEqual(points[0]!.slice(0, 2));
  });

  it('has areas without rounding errors of coordinates', async () => {
    const triangle = {
      type: 'polyline',
      closed: true,
      points: [
        [50_000.13, 60_000.29, 0],
        [50_003.26, 60_000.31, 0],
        [50_001.07, 60_007.72, 0],
      ],
    };
    const drawn = (await at.annotate({ name: 'drawn', elements: [triangle] }))._id;
    const answer = await at.admin.ok('GET', `/annotation/${drawn}/table/rows`, { query: [['columns', '["area"]']] });
    expect(answer.rows).toEqual([[11.61855]]);
  });
});

describe('the table of the elements of an annotation', () => {
  let at: Annotated;
  let path: string;
  beforeAll(async () => {
    at = await startAnnotated({ checksAnswers: true });
    path = `/annotation/${(await at.annotate({ name: 'cells', elements }))._id}/table`;
  });
  afterAll(() => at?.close());

  const get = (below: string, query: Record<string, unknown> = {}) => {
    return at.admin.ok('GET', `${path}${below}`, { query: texts(query) });
  };
  const rowsOf = async (filter: unknown, more: Json = {}) => {
    const answer = await get('/rows', { limit: 1000, columns: ['id'], ...(filter !== undefined && { filter }), ...more });
    return (answer.rows as string[][]).map(([id]) => Number.parseInt(id!, 16) - 1);
  };

  it('describes columns of shapes, common fields and measurements', async () => {
    const answer = await get('');
    expect(answer).toMatchObject({ rows: count, isCut: false });
    const columns = new Map((answer.columns as Json[]).map((column) => [column.name, column]));
    expect([...columns.keys()].slice(0, 13).join(' ')).toBe('id order type group label area length x y xmin ymin xmax ymax');
    expect(columns.get('group')).toMatchObject({ type: 'text', count: 200, nulls: 100, distinct: 2 });
    expect(columns.get('group')!.categories).toEqual([
      { value: 'stroma', count: 100 },
      { value: 'tumor', count: 100 },
    ]);
    expect(columns.get('label')).toMatchObject({ count: 1, nulls: 299 });
    expect(columns.get('/score')).toMatchObject({ type: 'number', count: 150, nulls: 150, min: -100, max: 198, mean: 49 });
    expect(columns.get('/nucleus/area')!.quantiles).toMatchObject({ '0.5': 37.375, '0.25': 18.6875 });
    expect(columns.get('/nucleus/with~1slash')).toMatchObject({ type: 'number', max: 299 });
    expect(columns.get('/mixed')).toMatchObject({ type: 'text', count: 300, distinct: 300 });
    expect(columns.get('/mixed#number')).toMatchObject({ type: 'number', count: 150, max: 298 });
    expect(columns.get('/checked')).toMatchObject({
      type: 'boolean',
      count: 300,
      categories: [
        { value: false, count: 240 },
        { value: true, count: 60 },
      ],
    });
    expect(columns.get('/list/1/0')).toMatchObject({ max: 598 });
    expect(columns.get('/a.b')).toMatchObject({ min: 1, count: 1 });
    expect(columns.get('/a/b')).toMatchObject({ min: 2, count: 1 });
    expect(columns.has('/none')).toBe(false);
    expect([...columns.keys()].filter((name) => /coordinates|shape/.test(String(name)))).toEqual([
      '/shape/type',
      '/coordinates/0',
    ]);
    expect(columns.get('area')).toMatchObject({ min: 1, max: 90_000 });
    expect(columns.get('x')).toMatchObject({ min: 0.5, max: 2990 + 150 });
  });

  it('measures each kind of shape', async () => {
    const annotation = await at.annotate({ name: 'shapes', elements: shapes });
    const columns = JSON.stringify(['type', 'area', 'length', 'x', 'y']);
    const answer = await at.admin.ok('GET', `/annotation/${annotation._id}/table/rows`, { query: { columns } });
    const rows = (answer.rows as (string | number | null)[][]).map((row) =>
      row.map((cell) => (typeof cell === 'number' ? Math.round(cell * 1000) / 1000 : cell)),
    );
    expect(rows).toEqual([
      ['circle', 28.274, 18.85, 10, 20],
      ['ellipse', 12.566, 17.157, 10, 20],
      ['rectangle', 16, 20, 10, 20],
      ['arrow', 0, 5, 1.5, 2],
      ['polyline', 96, 48, 5.083, 5.083],
      ['polyline', 0, 40, 8.75, 11.25],
      ['polyline', 0, 20, 5, 0],
      ['heatmap', null, null, 2, 4],
    ]);
  });

  it('returns filtered rows', async () => {
    const indexes = elements.map((_, i) => i);
    const cases: [unknown, (i: number) => boolean][] = [
      [undefined, () => true],
      [{ column: '/nucleus/area', gte: 10, lte: 20 }, (i) => i >= 40 && i <= 80],
      [{ column: '/score', null: true }, (i) => i % 2 === 1],
      [{ column: '/score', null: false, lte: 0 }, (i) => i % 2 === 0 && i <= 100],
      [{ not: { column: '/score', lte: 0 } }, (i) => i % 2 === 1 || i > 100],
      [{ column: 'group', in: ['tumor'] }, (i) => i % 3 === 0],
      [{ column: 'group', null: true }, (i) => i % 3 === 2],
      [{ column: 'group', in: [] }, () => false],
      [{ column: '/mixed', in: ['4', 't5', 'x'] }, (i) => i === 4 || i === 5],
      [{ column: '/mixed#number', in: [4, 6, 7] }, (i) => i === 4 || i === 6],
      [{ column: '/checked', in: [true] }, (i) => i % 5 === 0],
      [{ column: 'id', in: [elementId(9), elementId(999)] }, (i) => i === 8],
      [{ column: '/a.b', null: false }, (i) => i === 3],
      [{ column: 'order', gte: 290 }, (i) => i >= 290],
      [
        {
          or: [
            { column: 'area', lte: 9 },
            { column: 'area', gte: 89_000 },
          ],
        },
        (i) => i < 3 || i === 298 || i === 299,
      ],
      [
        {
          and: [
            { column: 'area', lte: 100 },
            { column: 'group', in: ['tumor', 'stroma'] },
          ],
        },
        (i) => i < 10 && i % 3 !== 2,
      ],
      [{ region: [100, 200, 120, 240] }, (i) => i * 10 <= 120 && i * 11 + 1 >= 100 && i * 20 <= 240 && i * 21 + 1 >= 200],
      [
        {
          region: [
            [0, 0],
            [55, 0],
            [55, 400],
            [0, 400],
          ],
        },
        (i) => i * 10.5 + 0.5 < 55,
      ],
    ];
    for (const [filter, takes] of cases) expect(await rowsOf(filter), JSON.stringify(filter)).toEqual(indexes.filter(takes));
  });

  it('returns pages in the order of any column, with elements without a value last', async () => {
    const page = async (query: Json) => rowsOf(undefined, { limit: 3, ...query });
    expect(await page({ sort: '/score', sortdir: -1 })).toEqual([298, 296, 294]);
    expect(await page({ sort: '/score', offset: 149 })).toEqual([298, 1, 3]);
    expect(await page({ sort: '/score', sortdir: -1, offset: 149 })).toEqual([0, 1, 3]);
    expect(await page({ sort: 'group', offset: 99 })).toEqual([298, 0, 3]);
    expect(await page({ sort: 'group', sortdir: -1, offset: 199 })).toEqual([298, 2, 5]);
    expect(await page({ sort: '/mixed', sortdir: -1 })).toEqual([99, 97, 95]);
    expect(await page({ offset: 299 })).toEqual([299]);
    expect(await page({ offset: 300 })).toEqual([]);
    const { total } = await get('/rows', { filter: { column: 'group', in: ['tumor'] }, limit: 0 });
    expect(total).toBe(100);
  });

  it('counts rows in bins of one or two columns, by category', async () => {
    const histogram = await get('/histogram', { x: '/score', bins: 3, low: 0, high: 198 });
    expect(histogram.categories).toEqual([{ value: null, counts: [33, 33, 34], nulls: 150, outside: 50 }]);
    const two = await get('/histogram', { x: 'order', low: 0, high: 299, y: '/nucleus/area', bins: 2, ybins: 3, by: 'group' });
    expect(two.categories).toEqual([
      { value: null, counts: [33, 17, 0, 0, 16, 34].map((n) => n), nulls: 0, outside: 0 },
      { value: 'stroma', counts: expect.anything(), nulls: 0, outside: 0 },
      { value: 'tumor', counts: expect.anything(), nulls: 0, outside: 0 },
    ]);
  });

  it('sums up columns by category', async () => {
    const filter = { column: '/score', null: false };
    const answer = await get('/summary', { columns: ['/score'], by: 'group', filter });
    const scores = elements
      .map((_, i) => i)
      .filter((i) => i % 6 === 0)
      .map((i) => i - 100);
    const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
    const squares = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0);
    const tumor = (answer.categories as Json[]).find(({ value }) => value === 'tumor')!;
    expect(tumor.count).toBe(50);
    const { deviation, ...rest } = (tumor.columns as Record<string, { deviation: number }>)['/score']!;
    expect(rest).toEqual({ count: 50, mean, min: -100, max: 194 });
    expect(deviation).toBeCloseTo(Math.sqrt(squares / 49), 9);
    expect(Object.keys(((await get('/summary')).categories as Json[])[0]!.columns as Json).slice(0, 3)).toEqual([
      'area',
      'length',
      '/nucleus/area',
    ]);
  });

  it('returns the ids of brushed rows', async () => {
    const filter = {
      and: [
        { column: '/score', gte: 0 },
        { column: 'area', lte: 12_000 },
      ],
    };
    const { ids, ...counted } = await at.admin.ok('POST', `${path}/ids`, { json: { filter } });
    expect(counted).toMatchObject({ count: 5 });
    expect([...(ids as string[])].sort()).toEqual([100, 102, 104, 106, 108].map((i) => elementId(i + 1)));
    expect(await at.admin.ok('POST', `${path}/ids`, { json: { filter, limit: 2 } })).toMatchObject({
      count: 5,
      ids: { length: 2 },
    });
    expect(await at.admin.ok('POST', `${path}/ids`, { json: { filter, limit: 0 } })).toMatchObject({ count: 5, ids: [] });
    expect(await at.admin.ok('POST', `${path}/ids`, { json: {} })).toMatchObject({ count: 300 });
  });

  it('returns comma-separated values that other programs read', async () => {
    const { bytes, headers } = await at.admin.send('GET', `${path}.csv`);
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const rows = parse(bytes, { columns: true }) as Record<string, string>[];
    expect(rows).toHaveLength(count);
    rows.sort((a, b) => Number(a.order) - Number(b.order));
    expect(rows[7]).toMatchObject({
      id: elementId(8),
      label: 'a "label", with commas',
      '/mixed': 't7',
      '/score': '',
      '/checked': 'false',
    });
    const some = await at.admin.send('GET', `${path}.csv`, {
      query: { columns: '["order","/mixed"]', filter: '{"column":"area","lte":4}' },
    });
    expect(some.bytes.toString().split('\r\n').sort()).toEqual(['', '0,0', '1,t1', 'order,/mixed']);
  });

  it('returns Arrow streams and Parquet files of all rows or of filtered ones', async () => {
    const { bytes, headers } = await at.admin.send('GET', `${path}.arrow`);
    expect(headers.get('content-type')).toBe('application/vnd.apache.arrow.stream');
    const table = tableFromIPC(bytes);
    expect(table.numRows).toBe(count);
    const first = table
      .toArray()
      .find((row) => row!.id === elementId(8))!
      .toJSON() as Json;
    expect(first).toMatchObject({ order: 7n, group: 'stroma', area: 64, '/score': null, '/mixed': 't7', '/checked': false });
    const query = { filter: '{"column":"area","lte":4}', columns: '["id","/checked"]' };
    const some = tableFromIPC((await at.admin.send('GET', `${path}.arrow`, { query })).bytes);
    expect(some.toArray().map((row) => row!.toJSON() as Json)).toEqual(
      [0, 1].map((i) => ({ id: elementId(i + 1), '/checked': i === 0 })),
    );
    const none = { filter: '{"column":"area","lte":-4}', columns: '["id"]' };
    expect(tableFromIPC((await at.admin.send('GET', `${path}.arrow`, { query: none })).bytes).numRows).toBe(0);

    const rowsIn = async (parameters: Record<string, string>) => {
      const answer = await at.admin.send('GET', `${path}.parquet`, { query: parameters });
      expect(answer.headers.get('content-type')).toBe('application/vnd.apache.parquet');
      const file = new Uint8Array(answer.bytes).buffer;
      // The reader itself supports only Snappy.
      return parquetReadObjects({ file, compressors: { GZIP: (bytes) => gunzipSync(bytes) } }) as Promise<Json[]>;
    };
    expect(await rowsIn({})).toHaveLength(count);
    expect(await rowsIn(none)).toEqual([]);
    const [row] = await rowsIn({ filter: JSON.stringify({ column: 'id', in: [elementId(3)] }), columns: '["order","/score"]' });
    const ring = [
      [20, 40],
      [23, 40],
      [23, 43],
      [20, 43],
      [20, 40],
    ];
    const box = { xmin: 20, ymin: 40, xmax: 23, ymax: 43 };
    expect(row).toMatchObject({
      order: 2n,
      '/score': -98,
      radius: null,
      bbox: box,
      geometry: { type: 'Polygon', coordinates: [ring] },
    });
  });

  it('belongs to the newest version, and answers 304 to clients that have it', async () => {
    const annotation = await at.annotate({ name: 'edited', elements: elements.slice(0, 20) });
    const path = `/annotation/${annotation._id}`;
    const scores = async () => {
      const answer = await at.admin.send('GET', `${path}/table/rows`, { query: { columns: '["order","/score","group"]' } });
      return { rows: answer.body.rows, etag: answer.headers.get('etag')! };
    };
    const { etag } = await scores();
    const again = await at.admin.send('GET', `${path}/table/rows`, {
      query: { columns: '["order","/score","group"]' },
      headers: { 'If-None-Match': etag },
    });
    expect(again.status).toBe(304);
    const changed = { ...elements[3], group: 'new', user: { score: 'high' } };
    await at.admin.ok('PATCH', `${path}/elements`, {
      json: { put: [changed, point(5, { user: { score: 5 } })], remove: [elementId(1)] },
    });
    const { rows } = await scores();
    expect((rows as unknown[]).slice(0, 3)).toEqual([
      [1, null, 'stroma'],
      [2, '-98', null],
      [3, 'high', 'new'],
    ]);
    expect((rows as unknown[]).at(-1)).toEqual([20, '5', null]);
  });

  it('refuses invalid requests with a sentence', async () => {
    const deep = (levels: number): unknown => (levels === 0 ? { column: 'area', gte: 1 } : { not: deep(levels - 1) });
    const cases: [string, Record<string, unknown>, RegExp][] = [
      ['/rows', { filter: deep(8) }, /nested deeper than 8 levels/],
      ['/rows', { filter: { or: Array.from({ length: 200 }, () => ({ column: 'area', gte: 1 })) } }, /more than 200 conditions/],
      ['/rows', { filter: { column: 'nope', gte: 1 } }, /no column "nope"/],
      ['/rows', { filter: { column: '__proto__', gte: 1 } }, /no column/],
      ['/rows', { filter: { column: 'group', gte: 1 } }, /need a numeric column/],
      ['/rows', { filter: { column: 'area', gte: '1' } }, /gte of "area" must be a number/],
      ['/rows', { filter: { column: 'area', in: ['1'] } }, /must be a list of numbers/],
      ['/rows', { filter: { column: 'area' } }, /none of gte, lte, in, null/],
      ['/rows', { filter: { column: 'area', $where: 'sleep(1)' } }, /"\$where" is not allowed/],
      ['/rows', { filter: { and: [] } }, /must be a list of conditions/],
      ['/rows', { filter: { region: [1, 2, 3] } }, /region must be/],
      [
        '/rows',
        {
          filter: {
            region: [
              [1, 2],
              [3, 4],
              [5, null],
            ],
          },
        },
        /region must be/,
      ],
      ['/rows', { filter: {} }, /must have one of/],
      ['/rows', { filter: '[1]' }, /must be a JSON object/],
      ['/rows', { filter: '{' }, /must be valid JSON/],
      ['/rows', { filter: '{"column":"area","gte":NaN}' }, /must be valid JSON/],
      ['/rows', { filter: '{"column":"area","gte":1e999}' }, /must be a number/],
      ['/rows', { columns: ['nope'] }, /no column/],
      ['/rows', { columns: [5] }, /column names/],
      ['/rows', { sort: 'nope' }, /no column/],
      ['/rows', { limit: 10_001 }, /limit/],
      ['/rows', { limit: -1 }, /limit/],
      ['/rows', { limit: 10_000 }, /more than 100000 values/],
      ['/histogram', {}, /"x" is required/],
      ['/histogram', { x: 'group' }, /does not contain numbers/],
      ['/histogram', { x: 'area', bins: 0 }, /bins/],
      ['/histogram', { x: 'area', bins: 1_000_000_000 }, /bins/],
      ['/histogram', { x: 'area', y: 'length', bins: 1000 }, /1000000 bins are too many/],
      ['/histogram', { x: 'area', bins: 2000, by: 'group' }, /at most 1024/],
      ['/histogram', { x: 'area', by: 'id' }, /does not contain categories/],
      ['/histogram', { x: 'area', low: 5, high: 1 }, /after its end/],
      ['/summary', { columns: ['group'] }, /does not contain numbers/],
      ['.csv', { columns: ['nope'] }, /no column/],
      ['.arrow', { filter: { column: 'nope', null: true } }, /no column/],
      ['.parquet', { columns: [5] }, /column names/],
    ];
    for (const [below, query, message] of cases) {
      const answer = await at.admin.fails('GET', `${path}${below}`, { query: texts(query) });
      expect(answer, `${below} ${JSON.stringify(query)}`).toMatchObject({ status: 400, message: expect.stringMatching(message) });
    }
    for (const json of [{ limit: 1_000_001 }, { limit: '5' }, { filter: [] }, { filter: { column: 'x', in: 5 } }, []]) {
      expect(await at.admin.fails('POST', `${path}/ids`, { json }), JSON.stringify(json)).toMatchObject({ status: 400 });
    }
    const many = { filter: { column: 'group', in: Array.from({ length: 10_000 }, (_, i) => (i === 5 ? 'tumor' : `c${i}`)) } };
    expect(await at.admin.ok('POST', `${path}/ids`, { json: many })).toMatchObject({ count: 100 });
  });

  it('has columns for a thousand names, and says when there are more', async () => {
    const user = (from: number, to: number) =>
      Object.fromEntries(Array.from({ length: to - from }, (_, i) => [`m${from + i}`, i]));
    const annotation = await at.annotate({
      name: 'wide',
      elements: [point(1, { user: user(0, 900) }), point(2, { user: user(900, 1200) })],
    });
    const wide = await at.admin.ok('GET', `/annotation/${annotation._id}/table`);
    expect(wide.isCut).toBe(true);
    expect((wide.columns as unknown[]).length).toBe(1000);
    const odd = { deep: {}, huge: 'x'.repeat(5000), far: 1e308, empty: '', __proto: 1, 'with "quotes"': 1 };
    let nested: Json = odd.deep;
    for (let i = 0; i < 40; i += 1) nested = (nested.d = {}) as Json;
    nested.d = 5;
    const strange = await at.annotate({ name: 'odd', elements: [point(1, { user: odd })] });
    const described = await at.admin.ok('GET', `/annotation/${strange._id}/table`);
    const names = (described.columns as Json[]).map(({ name }) => name).filter((name) => (name as string).startsWith('/'));
    expect(names).toEqual(['/far', '/empty', '/__proto', '/with "quotes"']);
  });

  it('answers for annotations without elements', async () => {
    const empty = `/annotation/${(await at.annotate({ name: 'empty' }))._id}/table`;
    expect(await at.admin.ok('GET', empty)).toMatchObject({ rows: 0 });
    expect(await at.admin.ok('GET', `${empty}/rows`)).toMatchObject({ total: 0, rows: [] });
    expect(await at.admin.ok('GET', `${empty}/histogram`, { query: { x: 'area' } })).toMatchObject({ categories: [] });
    expect(await at.admin.ok('GET', `${empty}/summary`)).toMatchObject({ categories: [] });
    expect(await at.admin.ok('POST', `${empty}/ids`, { json: {} })).toMatchObject({ count: 0, ids: [] });
  });
});
