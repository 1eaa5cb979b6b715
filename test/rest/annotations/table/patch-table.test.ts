import { compressionRegistry, CompressionType, tableFromArrays, tableToIPC, vectorFromArray, Utf8 } from 'apache-arrow';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadNewZstd } from '../../../../src/tilesource/codecs/zstd-library.js';
import { elementId, elementsOf, point, startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';

type Json = Record<string, unknown>;

const types = {
  csv: 'text/csv',
  parquet: 'application/vnd.apache.parquet',
  arrow: 'application/vnd.apache.arrow.stream',
};

const ids = [1, 2, 3, 4].map((n) => elementId(n));

/** A Parquet file with these columns. */
function parquet(columns: Record<string, unknown[]>): Uint8Array {
  const columnData = Object.entries(columns).map(([name, data]) => ({ name, data }));
  return new Uint8Array(parquetWriteBuffer({ columnData }));
}

/** An Arrow stream with these columns; texts are not shortened to dictionaries. */
function arrow(columns: Record<string, unknown[]>): Uint8Array {
  const vectors = Object.entries(columns).map(([name, values]) => {
    return [name, typeof values.find((each) => each !== null) === 'string' ? vectorFromArray(values, new Utf8()) : values];
  });
  return tableToIPC(tableFromArrays(Object.fromEntries(vectors) as Record<string, number[]>), 'stream');
}

describe('setting values of elements from a table', () => {
  let at: Annotated;
  beforeAll(async () => {
    at = await startAnnotated({ checksAnswers: true });
  });
  afterAll(() => at?.close());

  const annotate = async (more: Json = {}, as = at.admin) => {
    const elements = ids.map((id, i) => point(i, { id, ...(i === 0 && { label: { value: 'old', fontSize: 9 } }), ...more }));
    return as.ok('POST', '/annotation', { query: { itemId: at.item }, json: { name: 'cells', elements } });
  };
  const patch = (
    id: unknown,
    type: keyof typeof types,
    body: string | Uint8Array,
    headers: Record<string, string> = {},
    query = {},
  ) =>
    at.admin.send('PATCH', `/annotation/${String(id)}/table`, {
      query,
      body,
      headers: { 'Content-Type': types[type], ...headers },
    });
  const stored = async (id: unknown) => elementsOf(await at.admin.ok('GET', `/annotation/${String(id)}`));

  const twoRows = {
    id: [ids[2], ids[0]],
    group: ['tumor', null],
    label: ['a, b', null],
    '/nucleus/mean': [0.5, -2],
    score: [1000, null],
    ok: [true, null],
  };
  it.each([
    ['csv', `id,group,label,/nucleus/mean,score,ok\r\n${ids[2]},tumor,"a, b",0.5,1e3,true\n${ids[0]},,,-2,,\n`],
    ['parquet', parquet(twoRows)],
    ['arrow', arrow(twoRows)],
  ] as const)('puts known columns into their fields and others into user when it is %s', async (type, body) => {
    const annotation = await annotate({ user: { nucleus: { area: 7 } } });
    const before = elementsOf(annotation);
    const answer = await patch(annotation._id, type, body as string);
    expect(answer.body).toEqual({ changed: 2, _version: expect.any(Number) });
    expect(answer.body._version).toBeGreaterThan(annotation._version as unknown as number);
    const after = await stored(annotation._id);
    expect(after).toEqual([
      { ...before[0], user: { nucleus: { area: 7, mean: -2 } } },
      before[1],
      {
        ...before[2],
        group: 'tumor',
        label: { value: 'a, b' },
        user: { nucleus: { area: 7, mean: 0.5 }, score: 1000, ok: true },
      },
      before[3],
    ]);
    const versions = await at.admin.ok('GET', `/annotation/${String(annotation._id)}/history`);
    expect(versions).toHaveLength(2);
  });

  it('keeps or removes values where cells are empty', async () => {
    const annotation = await annotate({ group: 'g', user: { a: 1, list: [1, 2] } });
    const body = `id,group,label,a,/list/1,/list/2\n${ids[0]},,,,,3\n`;
    await patch(annotation._id, 'csv', body);
    const label = { value: 'old', fontSize: 9 };
    expect((await stored(annotation._id))[0]).toMatchObject({ group: 'g', label, user: { a: 1, list: [1, 2, 3] } });
    await patch(annotation._id, 'csv', body.replace(',3\n', ',\n'), {}, { empty: 'remove' });
    expect((await stored(annotation._id))[0]).toEqual({ ...point(0), id: ids[0], user: { list: [1, null, null] } });
    await patch(annotation._id, 'csv', `id,label\n${ids[1]},new\n${ids[0]},"1"\n`);
    expect((await stored(annotation._id)).map(({ label: found }) => found)).toEqual([
      { value: '1' },
      { value: 'new' },
      undefined,
      undefined,
    ]);
  });

  it('restores the types of values when a table that was sent comes back', async () => {
    const users = [{ mixed: 1.5 }, { mixed: 'x' }, { code: '007', list: [1, 'b'] }, { code: '12', flag: false, empty: '' }];
    const json = { name: 'cells', elements: ids.map((id, i) => point(i, { id, user: users[i] })) };
    const annotation = await at.annotate(json);
    const columns = ['id', '/mixed', '/mixed#number', '/code', '/flag', '/empty', '/list/0', '/list/1'];
    const bare = await at.annotate({ ...json, elements: json.elements.map(({ user: _user, ...element }) => element as Json) });
    for (const type of ['csv', 'arrow'] as const) {
      const query = { columns: JSON.stringify(columns) };
      const { bytes } = await at.admin.send('GET', `/annotation/${annotation._id}/table.${type}`, { query });
      expect((await patch(bare._id, type, bytes)).status).toBe(200);
      expect((await stored(bare._id)).map(({ user }) => user)).toEqual(users);
    }
  });

  const refusals: [string, keyof typeof types, string | Uint8Array, string | RegExp][] = [
    ['unknown ids', 'csv', `id,a\n${ids[0]},1\n${elementId(99)},2\n`, elementId(99)],
    ['repeated ids', 'csv', `id,a\n${ids[0]},1\n${ids[0]!.toUpperCase()},2\n`, `more than one row: ${ids[0]}`],
    ['computed columns', 'csv', `id,area,xmin,a\n${ids[0]},1,2,3\n`, '"area", "xmin"'],
    ['a missing column id', 'csv', 'name,a\nx,1\n', 'no column "id", only "name", "a"'],
    ['no other columns', 'csv', `id\n${ids[0]}\n`, 'no columns besides'],
    ['no rows', 'csv', 'id,a\n', 'no rows'],
    ['ids of a different form', 'csv', 'id,a\n12,1\n', 'Row 0 has the id "12"'],
    ['rows without an id', 'parquet', parquet({ id: [ids[0], null], a: [1, 2] }), 'Row 1 has no id'],
    ['infinities', 'parquet', parquet({ id: [ids[0]], a: [Infinity] }), 'Row 0 of the column "a" is Infinity'],
    ['infinities as text', 'csv', `id,a\n${ids[0]},1\n${ids[1]},-inf\n`, 'Row 1 of the column "a" is -Infinity'],
    ['numbers that a double cannot hold', 'parquet', parquet({ id: [ids[0]], a: [2n ** 60n] }), 'cannot represent exactly'],
    ['repeated columns', 'csv', `id,a,a\n${ids[0]},1,2\n`, 'more than one column "a"'],
    ['columns that exclude each other', 'csv', `id,/a,/a/b\n${ids[0]},1,2\n`, '"/a/b" cannot be stored'],
    ['a name that would change prototypes', 'csv', `id,/__proto__/x\n${ids[0]},1\n`, 'not allowed'],
    ['rows of different length', 'csv', `id,a\n${ids[0]},1,2\n`, 'cannot be read as CSV'],
    ['an open quote', 'csv', `id,a\n${ids[0]},"1\n`, 'cannot be read as CSV'],
    ['text that is not UTF-8', 'csv', Buffer.from(`id,a\n${ids[0]},\xff\n`, 'latin1'), 'not UTF-8'],
    ['too many columns', 'csv', `id,${Array.from({ length: 1200 }, (_, i) => `c${i}`).join(',')}\n`, 'at most 1100'],
    ['bytes', 'parquet', parquet({ id: [ids[0]], blob: [new Uint8Array([1, 2])] }), '"blob" has bytes'],
    ['lists', 'arrow', tableToIPC(tableFromArrays({ id: [ids[0]!], a: [[1, 2]] }), 'stream'), '"a" has lists'],
    ['a wrong value of a field', 'csv', `id,lineWidth\n${ids[0]},-1\n`, 'lineWidth'],
    ['a truncated Parquet file', 'parquet', parquet({ id: ids, a: [1, 2, 3, 4] }).slice(0, -20), 'incomplete'],
    ['a truncated Arrow stream', 'arrow', arrow({ id: ids, a: [1, 2, 3, 4] }).slice(0, -20), 'incomplete'],
    ['another format', 'parquet', `id,a\n${ids[0]},1\n`, 'not a Parquet file'],
    ['another format as Arrow', 'arrow', `id,a\n${ids[0]},1\n`, 'incomplete'],
    ['a damaged Parquet file', 'parquet', damaged(parquet({ id: ids, a: [1, 2, 3, 4] })), /corrupt|incomplete/],
    ['an empty body', 'csv', '', 'no body'],
  ];

  it.each([
    ['x', '"x" is not an index of a list'],
    ['10000', 'an index of a list must be less than 10000'],
    ['1000000', 'an index of a list must be less than 10000'],
  ])('refuses to put a value into a list at %s', async (key, says) => {
    const annotation = await annotate({ user: { list: [1] } });
    const { status, body } = await patch(annotation._id, 'csv', `id,/list/${key}\n${ids[0]},2\n`);
    const message = `The column "/list/${key}" cannot be stored: ${says}.`;
    expect([status, body.message]).toEqual([400, message]);
  });

  it('refuses invalid tables with a sentence, and changes nothing', async () => {
    const annotation = await annotate();
    for (const [name, type, body, says] of refusals) {
      const { status, body: answer } = await patch(annotation._id, type, body);
      expect({ what: name, status, message: answer.message }).toEqual({
        what: name,
        status: 400,
        message: expect.stringMatching(asPattern(says)),
      });
    }
    expect(await stored(annotation._id)).toEqual(elementsOf(annotation));
    const unsupported = await at.admin.send('PATCH', `/annotation/${String(annotation._id)}/table`, { body: 'id,a' });
    expect(unsupported.status).toBe(415);
  });

  it('reads batches compressed with ZSTD and refuses LZ4 by name', async () => {
    const annotation = await annotate();
    const { compress } = await loadNewZstd();
    compressionRegistry.set(CompressionType.ZSTD, { encode: (bytes) => compress(bytes, 3) });
    const lz4 = Uint8Array.from([4, 0x22, 0x4d, 0x18, 0x40, 0x40, 0, 0, 0, 0, 0]);
    compressionRegistry.set(CompressionType.LZ4_FRAME, { encode: () => lz4 });
    const score = Array.from({ length: 4 }, () => 2.5);
    const table = tableFromArrays({ id: vectorFromArray(ids, new Utf8()), score: score } as unknown as Record<string, number[]>);
    const zstd = await patch(annotation._id, 'arrow', tableToIPC(table, 'stream', CompressionType.ZSTD));
    expect(zstd.body).toMatchObject({ changed: 4 });
    expect((await stored(annotation._id)).map(({ user }) => user)).toEqual(score.map((value) => ({ score: value })));
    const refused = await patch(annotation._id, 'arrow', tableToIPC(table, 'stream', CompressionType.LZ4_FRAME));
    expect([refused.status, refused.body.message]).toEqual([400, expect.stringContaining('LZ4')]);
  });

  it('requires permission to change the annotation, and the version that If-Match names', async () => {
    const annotation = await annotate();
    const body = `id,a\n${ids[0]},1\n`;
    const as = (client: Annotated['admin']) =>
      client.send('PATCH', `/annotation/${String(annotation._id)}/table`, { body, headers: { 'Content-Type': 'text/csv' } });
    expect((await as(at.stranger)).status).toBe(403);
    const version = `"${String(annotation._version)}"`;
    expect((await patch(annotation._id, 'csv', body, { 'If-Match': version })).status).toBe(200);
    expect((await patch(annotation._id, 'csv', body, { 'If-Match': version })).status).toBe(412);
  });

  it('makes one version even when it changes enough elements to rewrite packs', async () => {
    const count = 2500;
    const elements = Array.from({ length: count }, (_, i) => point(i, { id: elementId(i + 1), user: { i } }));
    const annotation = await at.annotate({ name: 'many', elements });
    const shuffled = Array.from({ length: count - 200 }, (_, i) => (i * 7919) % (count - 200));
    const lines = shuffled.map((i) => `${elementId(i + 1)},${i * 2}`);
    const bad = await patch(annotation._id, 'csv', `id,twice\n${lines.join('\n')}\n${elementId(count + 5)},1\n`);
    expect([bad.status, bad.body.message]).toEqual([400, expect.stringContaining(elementId(count + 5))]);
    const answer = await patch(annotation._id, 'csv', `id,twice\n${lines.join('\n')}\n`);
    expect(answer.body).toMatchObject({ changed: count - 200 });
    const after = await stored(annotation._id);
    expect(after).toEqual(elements.map((element, i) => ({ ...element, user: i < count - 200 ? { i, twice: i * 2 } : { i } })));
    expect(await at.admin.ok('GET', `/annotation/${annotation._id}/history`)).toHaveLength(2);
  });
});

function asPattern(says: string | RegExp): RegExp {
  return typeof says === 'string' ? new RegExp(says.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')) : says;
}

/** A file with noise after the mark at its beginning. */
function damaged(bytes: Uint8Array): Uint8Array {
  return bytes.map((byte, i) => (i >= 4 && i < 40 ? byte ^ 0x5a : byte));
}
