import { Binary, Bool, Float64, tableFromArrays, tableToIPC, Utf8, vectorFromArray } from 'apache-arrow';
import { ByteWriter, geojsonToWkb, ParquetWriter, parquetWrite } from 'hyparquet-writer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { elementId, elementsOf, startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';

type Json = Record<string, unknown>;
type Geometry = Parameters<typeof geojsonToWkb>[0];

const parquetType = 'application/vnd.apache.parquet';
const arrowType = 'application/vnd.apache.arrow.stream';

const square = (x: number, side: number) => [
  [x, x],
  [x + side, x],
  [x + side, x + side],
  [x, x + side],
];
const closed = (ring: number[][]) => [...ring, ring[0]!];
const flat = (ring: number[][]) => ring.map(([x, y]) => [x, y, 0]);

/** A file of shapes, with the metadata of GeoParquet unless `geo` is `null`. */
function geoParquet(
  shapes: (Geometry | Uint8Array | null)[],
  columns: Record<string, unknown[]> = {},
  geo: Json | null = { crs: null },
): Uint8Array {
  const writer = new ByteWriter();
  const geometry = shapes.map((shape) => (shape === null || shape instanceof Uint8Array ? shape : geojsonToWkb(shape)));
  const metadata = { version: '1.1.0', primary_column: 'geometry', columns: { geometry: { encoding: 'WKB', ...geo } } };
  void parquetWrite({
    writer,
    columnData: [
      ...Object.entries(columns).map(([name, data]) => ({ name, data })),
      { name: 'geometry', data: geometry, type: 'BYTE_ARRAY', nullable: true },
    ],
    ...(geo !== null && { kvMetadata: [{ key: 'geo', value: JSON.stringify(metadata) }] }),
  });
  return writer.getBytes();
}

const point: Geometry = { type: 'Point', coordinates: [1, 2] };

describe('creating an annotation from a table of shapes', () => {
  let at: Annotated;
  beforeAll(async () => {
    at = await startAnnotated({ checksAnswers: true });
  });
  afterAll(() => at?.close());

  const create = (type: string, body: Uint8Array, as = at.admin, on = at.item) =>
    as.send('POST', '/annotation', { query: { itemId: on }, body, headers: { 'Content-Type': type } });

  it('makes an element of each shape, and puts columns into fields and user', async () => {
    const hole = closed(square(2, 2)).toReversed();
    const shapes: (Geometry | null)[] = [
      { type: 'Polygon', coordinates: [closed(square(0, 10)), hole] },
      { type: 'MultiPolygon', coordinates: [[closed(square(0, 3))], [closed(square(20, 3))]] },
      {
        type: 'LineString',
        coordinates: [
          [0, 0],
          [5, 5],
        ],
      },
      null,
      { type: 'Point', coordinates: [1, 2, 3] },
    ];
    const columns = {
      id: [1, 2, 3, 4, 5],
      group: ['tumor', 'tumor', null, null, null],
      area: [10.5, 1, 2, 3, 4],
      '/nucleus/mean': [0.5, null, NaN, 2, 3],
      fillColor: ['#ff0000', null, null, null, null],
    };
    for (const geo of [{ crs: null }, { crs: { type: 'EngineeringCRS', name: 'pixel' } }, null]) {
      const created = await create(parquetType, geoParquet(shapes, columns, geo));
      expect([created.status, created.headers.get('large-image-skipped-features')]).toEqual([200, '1']);
      const elements = elementsOf(created.body).map(({ id: _id, ...element }) => element);
      const part = { type: 'polyline', closed: true, group: 'tumor', user: { id: 2, area: 1 } };
      expect(elements).toEqual([
        {
          type: 'polyline',
          closed: true,
          points: flat(square(0, 10)),
          holes: [flat(hole.slice(0, -1))],
          group: 'tumor',
          fillColor: '#ff0000',
          user: { id: 1, area: 10.5, nucleus: { mean: 0.5 } },
        },
        { ...part, points: flat(square(0, 3)) },
        { ...part, points: flat(square(20, 3)) },
        {
          type: 'polyline',
          closed: false,
          user: { id: 3, area: 2 },
          points: [
            [0, 0, 0],
            [5, 5, 0],
          ],
        },
        { type: 'point', center: [1, 2, 3], user: { id: 5, area: 4, nucleus: { mean: 3 } } },
      ]);
    }
  });

  it('answers the route below the item with the number of annotations, and accepts a name', async () => {
    const headers = { 'Content-Type': parquetType };
    const sending = { query: { name: 'from "a" table' }, body: geoParquet([point, null]), headers };
    const created = await at.admin.send('POST', `/annotation/item/${at.item}`, sending);
    expect([created.body, created.headers.get('large-image-skipped-features')]).toEqual([1, '1']);
    const named = await at.admin.ok('GET', '/annotation', { query: { itemId: at.item, name: sending.query.name } });
    expect(named).toHaveLength(1);
  });

  it('orders elements by the column order and keeps ids of elements', async () => {
    const shapes = Array.from({ length: 40 }, (_, i): Geometry => ({ type: 'Point', coordinates: [i, 0] }));
    const orders = shapes.map((_, i) => (i * 7) % 40);
    const ids = shapes.map((_, i) => elementId(i + 1));
    const { body } = await create(parquetType, geoParquet(shapes, { id: ids, order: orders }));
    const expected = orders.map((order, i) => ({ order, i })).toSorted((a, b) => a.order - b.order);
    const points = expected.map(({ i }) => ({ type: 'point', id: elementId(i + 1), center: [i, 0, 0] }));
    expect(elementsOf(body)).toEqual(points);
  });

  it('reads Arrow streams with shapes as WKB', async () => {
    const shapes = [geojsonToWkb(point), null, geojsonToWkb({ type: 'Polygon', coordinates: [closed(square(0, 4))] })];
    const table = tableFromArrays({
      geometry: vectorFromArray(shapes, new Binary()),
      label: vectorFromArray(['a', null, 'c'], new Utf8()),
      score: vectorFromArray([1, 2, null], new Float64()),
      good: vectorFromArray([true, false, null], new Bool()),
    } as unknown as Record<string, number[]>);
    const created = await create(arrowType, tableToIPC(table, 'stream'));
    expect(elementsOf(created.body).map(({ id: _id, ...element }) => element)).toEqual([
      { type: 'point', center: [1, 2, 0], label: { value: 'a' }, user: { score: 1, good: true } },
      { type: 'polyline', closed: true, points: flat(square(0, 4)), label: { value: 'c' } },
    ]);
  });

  it('makes the same elements from the exported table of an annotation', async () => {
    const line = [
      [0, 0, 0],
      [3, 4, 0],
    ];
    const style = { lineColor: '#00ff00', lineWidth: 2, fillColor: 'rgba(0, 0, 0, 0.5)' };
    const elements = [
      { type: 'circle', center: [10, 20, 3], radius: 3, ...style },
      { type: 'ellipse', center: [10, 20, 0], width: 8, height: 2, rotation: 1, group: 'a' },
      { type: 'rectangle', center: [10, 20, 0], width: 8, height: 2, rotation: 0, label: { value: 'r', visibility: 'hidden' } },
      { type: 'rectanglegrid', center: [10, 20, 0], width: 8, height: 2, widthSubdivisions: 2, heightSubdivisions: 3 },
      { type: 'arrow', points: line, user: { 'a.b': 1, a: { b: 'x' }, list: [1, 'two', true] } },
      { type: 'point', center: [1.25, 2.5, 0], user: { mixed: 'text' } },
      { type: 'point', center: [7, 8, 0], user: { mixed: 12 } },
      { type: 'polyline', points: line },
      { type: 'polyline', points: line, closed: false },
      { type: 'polyline', points: line, closed: true, label: { value: 'l' } },
      { type: 'polyline', points: flat(square(0, 9)), closed: true, holes: [flat(square(2, 2))], ...style },
      { type: 'polyline', points: flat(square(50, 9)), closed: true, holes: [] },
    ].map((element, i) => ({ id: elementId(100 - i), ...element }));
    const heatmap = { type: 'heatmap', points: [[0, 0, 0, 1]] };
    const exported = await at.annotate({ name: 'all', elements: [...elements, heatmap] });
    const { bytes } = await at.admin.send('GET', `/annotation/${exported._id}/table.parquet`);
    const imported = await create(parquetType, bytes);
    expect([imported.status, imported.headers.get('large-image-skipped-features')]).toEqual([200, '1']);
    expect(elementsOf(imported.body)).toEqual(elements);
  });

  it('refuses invalid shapes with a sentence, and creates nothing', async () => {
    const before = await at.admin.ok('GET', '/annotation', { query: { itemId: at.item, limit: 0 } });
    const good = geojsonToWkb(point);
    const refusals: [string, string, Uint8Array, string][] = [
      ['degrees by default', parquetType, geoParquet([point], {}, {}), 'degrees'],
      [
        'another coordinate system',
        parquetType,
        geoParquet([point], {}, { crs: { type: 'ProjectedCRS', name: 'UTM 32' } }),
        'UTM 32',
      ],
      ['shapes on a sphere', parquetType, geoParquet([point], {}, { crs: null, edges: 'spherical' }), 'spherical'],
      ['another encoding', parquetType, geoParquet([point], {}, { crs: null, encoding: 'point' }), 'only WKB'],
      ['bytes that are no shape', parquetType, geoParquet([good, new Uint8Array([1, 9, 9])]), 'Row 1: the shape is not'],
      ['a cut shape', parquetType, geoParquet([good.slice(0, 12)]), 'Row 0: the shape is not'],
      ['nested collections', parquetType, geoParquet([collections(5000)]), 'Row 0'],
      ['positions that are not finite', parquetType, geoParquet([{ type: 'Point', coordinates: [NaN, 1] }]), 'Row 0: '],
      ['lines of one position', parquetType, geoParquet([{ type: 'LineString', coordinates: [[1, 1]] }]), 'Row 0: '],
      ['no shapes at all', parquetType, geoParquet([null, null]), 'None of the 2 rows'],
      ['a file without shapes', arrowType, tableToIPC(tableFromArrays({ a: [1] }), 'stream'), 'no column "geometry"'],
      ['repeated ids', parquetType, geoParquet([point, point], { id: [elementId(1), elementId(1)] }), 'IDs are not unique'],
      ['a wrong color', parquetType, geoParquet([point], { fillColor: ['green'] }), 'fillColor'],
      ['other bytes', parquetType, geoParquet([point], { blob: [new Uint8Array([1])] }), '"blob" has bytes'],
      ['a bomb of rows', parquetType, bomb(), '10000000 rows'],
      ['JSON', parquetType, Buffer.from('{"name":"a"}'), 'not a Parquet file'],
    ];
    for (const [name, type, body, says] of refusals) {
      const { status, body: answer } = await create(type, body);
      const expected = { what: name, status: name.startsWith('a bomb') ? 413 : 400, message: expect.stringContaining(says) };
      expect({ what: name, status, message: answer.message }).toEqual(expected);
    }
    expect(await at.admin.ok('GET', '/annotation', { query: { itemId: at.item, limit: 0 } })).toHaveLength(before.length);
    expect((await create(parquetType, geoParquet([point]), at.reader, at.privateItem)).status).toBe(403);
  });
});

/** Nested collections of this depth. */
function collections(depth: number): Uint8Array {
  const bytes = Buffer.alloc(depth * 9);
  for (let i = 0; i < depth; i += 1) {
    bytes.writeUInt8(1, i * 9);
    bytes.writeUInt32LE(7, i * 9 + 1);
    bytes.writeUInt32LE(i === depth - 1 ? 0 : 1, i * 9 + 5);
  }
  return bytes;
}

/** A small file that declares a thousand million rows. */
function bomb(): Uint8Array {
  const writer = new ByteWriter();
  const schema = [
    { name: 'schema', num_children: 1 },
    { name: 'geometry', type: 'BYTE_ARRAY', repetition_type: 'OPTIONAL' },
  ] as const;
  const file = new ParquetWriter({ writer, schema: [...schema] });
  void file.write({ columnData: [{ name: 'geometry', data: [geojsonToWkb(point)] }] });
  for (const group of file.row_groups) group.num_rows = 1_000_000_000n;
  void file.finish();
  return writer.getBytes();
}
