import Zstd from 'numcodecs/zstd';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { startHost, type Answer, type Client, type TestHost } from '../../support/hosts/reference-host.js';

// The type is loose: tests read members of documents, and fail if these are missing.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = Record<string, any>;

const versions = [
  {
    at: 'zarr',
    root: 'zarr.json',
    array: '0/zarr.json',
    chunk: '0/c/0/0/0',
    foreign: ['.zgroup', '.zattrs', '0/.zarray', '0/0/0/0'],
  },
  { at: 'zarr2', root: '.zattrs', array: '0/.zarray', chunk: '0/0/0/0', foreign: ['zarr.json', '0/zarr.json', '0/c/0/0/0'] },
] as const;

describe('OME-Zarr', () => {
  let started: TestHost;
  let admin: Client;
  let reader: Client;
  let stranger: Client;
  let folder: string;
  let item: string;
  let file: Buffer;

  const base = (at = 'zarr', id = item) => `/item/${id}/${at}/slide.ome.zarr`;
  const get = (path: string, client: Client = reader, headers: Record<string, string> = {}): Promise<Answer> =>
    client.send('GET', path, { headers });
  const json = async (path: string, client = reader): Promise<Json> => {
    const answer = await get(path, client);
    expect(answer.status, `${path} ${answer.bytes.toString().slice(0, 300)}`).toBe(200);
    return answer.body as Json;
  };

  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    reader = await started.register('reader');
    stranger = await started.register('stranger');
    folder = await newFolder(admin, 'Private');
    const access = { users: [{ id: reader.id, level: 0 }], groups: [] };
    await admin.ok('PUT', `/folder/${folder}/access`, { query: { access: JSON.stringify(access), public: false } });
    file = await pyramid(1100, 700);
    item = await uploadItem(admin, folder, 'slide.tif', file);
  });
  afterAll(() => started?.close());

  it.each(versions)(
    'serves metadata, chunks and nothing of the other version at $at',
    async ({ at, root, array, chunk, foreign }) => {
      const document = await json(`${base(at)}/${root}`);
      const ome: Json = at === 'zarr' ? document.attributes.ome : document;
      const [multiscale] = ome.multiscales;
      expect(at === 'zarr' ? ome.version : multiscale.version).toBe(at === 'zarr' ? '0.5' : '0.4');
      expect(multiscale.axes.map(({ name }: Json) => name)).toEqual(['c', 'y', 'x']);
      const described = await json(`${base(at)}/${array}`);
      expect(described.shape).toEqual([3, 700, 1100]);
      const side = (described.chunks ?? described.chunk_grid.configuration.chunk_shape)[2] as number;
      expect(multiscale.datasets).toHaveLength(1 + Math.ceil(Math.log2(1100 / side)));
      const answer = await get(`${base(at)}/${chunk}`);
      expect(answer.status).toBe(200);
      const isCompressed = described.compressor != null || described.codecs?.length > 1;
      const samples = isCompressed ? await Zstd.fromConfig({ id: 'zstd' }).decode(answer.bytes) : answer.bytes;
      const { data } = await sharp(file)
        .extract({ left: 0, top: 0, width: side, height: side })
        .raw()
        .toBuffer({ resolveWithObject: true });
      expect(Buffer.from(samples)).toEqual(Buffer.from(data.filter((_, index) => index % 3 === 0)));
      for (const key of [
        ...foreign,
        '',
        'nothing',
        '..%2f..%2fx',
        '0%2fc',
        '0/c/00/0/0',
        '0/c/0/0/-1',
        'labels/zarr.json',
        'labels/.zgroup',
        '0/c/0/0/9',
        '0/9/9/9',
        '%ff',
        'x'.repeat(5000),
      ]) {
        const { status } = await get(`${base(at)}/${key}`);
        expect([key.slice(0, 50), status]).toEqual([key.slice(0, 50), 404]);
      }
    },
  );

  const makeLink = async (client: Client, body: object = {}, path = `/item/${item}/link`) =>
    (await client.ok('POST', path, { json: body })) as unknown as { _id: string; token: string };
  const byToken = (token: string, key = 'zarr.json', id = item) =>
    get(`/item/${id}/zarr/t/${token}/slide.ome.zarr/${key}`, started.anonymous);

  it('answers 401 to every key, also absent ones, when the caller cannot read', async () => {
    const keys = ['zarr.json', '0/c/0/0/0', 'nothing'];
    for (const client of [started.anonymous, stranger]) {
      for (const key of keys) expect((await get(`${base()}/${key}`, client)).status).toBe(401);
    }
    for (const key of keys) expect((await get(`${base('zarr', '0'.repeat(24))}/${key}`, admin)).status).toBe(401);
    expect((await get(`${base('zarr', 'none')}/zarr.json`, admin)).status).toBe(404);
  });

  it('answers ranges, HEAD and conditional requests', async () => {
    const path = `${base()}/0/c/0/0/0`;
    const complete = await get(path);
    const size = complete.bytes.length;
    const tag = complete.headers.get('etag')!;
    const parts: [range: string, start: number, end: number][] = [
      ['bytes=0-9', 0, 10],
      ['bytes=5-', 5, size],
      ['bytes=-7', size - 7, size],
      [`bytes=${size - 3}-${size + 100}`, size - 3, size],
    ];
    for (const [Range, start, end] of parts) {
      const part = await get(path, reader, { Range });
      expect([Range, part.status, part.headers.get('content-range')]).toEqual([Range, 206, `bytes ${start}-${end - 1}/${size}`]);
      expect(part.bytes).toEqual(complete.bytes.subarray(start, end));
    }
    const outside = await get(path, reader, { Range: `bytes=${size}-` });
    expect([outside.status, outside.headers.get('content-range')]).toEqual([416, `bytes */${size}`]);
    for (const Range of ['bytes=9-1', 'bytes=a-b']) {
      expect((await get(path, reader, { Range })).status).toBe(200);
    }
    expect((await get(path, reader, { Range: 'bytes=0-9', 'If-Range': '"other"' })).status).toBe(200);
    expect((await get(path, reader, { 'If-None-Match': tag })).status).toBe(304);
    const head = await reader.send('HEAD', path);
    expect([head.status, head.headers.get('content-length'), head.bytes.length]).toEqual([200, String(size), 0]);
  });

  it('opens with the token of a link, with the permissions of its creator and nothing else', async () => {
    const { _id, token } = await makeLink(reader);
    const opened = await byToken(token);
    expect(opened.status).toBe(200);
    expect(opened.headers.get('access-control-allow-origin')).toBe('*');
    expect(opened.headers.has('access-control-allow-credentials')).toBe(false);
    expect((await byToken(token, 'absent')).status).toBe(404);
    const other = await uploadItem(admin, folder, 'other.tif', file);
    expect((await byToken(token, 'zarr.json', other)).status).toBe(401);
    expect((await byToken(`${token.slice(0, -1)}x`)).status).toBe(401);
    const used = await reader.ok('GET', `/link/${_id}`);
    expect(used.lastUsed).not.toBeNull();
    await reader.ok('PUT', `/link/${_id}`, { json: { opens: ['view'] } });
    expect((await byToken(token)).status).toBe(401);
    await reader.ok('PUT', `/link/${_id}`, { json: { opens: ['zarr'] } });
    expect((await byToken(token)).status).toBe(200);
    await reader.ok('DELETE', `/link/${_id}`);
    for (const key of ['zarr.json', '0/c/0/0/0', 'absent']) expect((await byToken(token, key)).status).toBe(401);
  });

  it('ends a link when its creator loses permission', async () => {
    const { token } = await makeLink(reader);
    const folderLink = await makeLink(reader, {}, `/folder/${folder}/link`);
    const inFolder = (key: string) => get(`/folder/${folder}/zarr/t/${folderLink.token}/all.ome.zarr/${key}`, started.anonymous);
    expect((await byToken(token)).status).toBe(200);
    expect((await byToken(folderLink.token)).status).toBe(200);
    expect((await inFolder('0/zarr.json')).status).toBe(200);
    const access = (users: object[]) =>
      admin.ok('PUT', `/folder/${folder}/access`, { query: { access: JSON.stringify({ users, groups: [] }), public: false } });
    await access([]);
    for (const key of ['zarr.json', '0/c/0/0/0', 'absent']) expect((await byToken(token, key)).status).toBe(401);
    expect((await inFolder('0/zarr.json')).status).toBe(401);
    await access([{ id: reader.id, level: 0 }]);
    expect((await byToken(token)).status).toBe(200);
  });

  it('answers preflight requests for tokens although the CORS of the host is closed', async () => {
    const { token } = await makeLink(reader);
    const headers = { Origin: 'https://viewer.example', 'Access-Control-Request-Headers': 'range, authorization' };
    const { status, headers: answered } = await started.anonymous.send(
      'OPTIONS',
      `/item/${item}/zarr/t/${token}/a.ome.zarr/0/c/0/0/0`,
      {
        headers,
      },
    );
    expect([status, answered.get('access-control-allow-origin')]).toEqual([200, '*']);
    expect(answered.get('access-control-allow-headers')).toMatch(/Authorization, Range/);
  });

  it('describes channels with names, colors and windows, and names several images of a folder', async () => {
    const { omero } = (await json(`${base()}/zarr.json`)).attributes.ome;
    expect(omero.channels.map(({ label, color }: Json) => [label, color])).toEqual([
      ['red', 'FF0000'],
      ['green', '00FF00'],
      ['blue', '0000FF'],
    ]);
    const store = `/folder/${folder}/zarr/all.ome.zarr`;
    expect((await json(`${store}/zarr.json`)).attributes.ome['bioformats2raw.layout']).toBe(3);
    const { series } = (await json(`${store}/OME/zarr.json`)).attributes.ome;
    expect(series).toEqual(['0', '1']);
    const xml = await get(`${store}/OME/METADATA.ome.xml`);
    expect(xml.bytes.toString()).toContain('<Image ID="Image:1" Name="other.tif"><Pixels ID="Pixels:1"');
    const first = await get(`${store}/0/0/c/0/0/0`);
    expect(first.bytes).toEqual((await get(`${base()}/0/c/0/0/0`)).bytes);
    expect((await get(`${store}/2/zarr.json`)).status).toBe(404);
  });

  it('serves annotations as labels whose pixels have the last element that contains their center', async () => {
    const square = (left: number, top: number, side: number, group: string) => ({
      type: 'polyline',
      closed: true,
      group,
      points: [
        [left, top, 0],
        [left + side, top, 0],
        [left + side, top + side, 0],
        [left, top + side, 0],
      ],
    });
    const elements = [square(10, 10, 20, 'b'), square(20, 20, 20, 'a'), { type: 'point', center: [12.5, 12.5, 0], group: 'c' }];
    const { _id } = await admin.ok('POST', '/annotation', { query: { itemId: item }, json: { name: 'Shapes', elements } });
    const id = String(_id);
    expect((await get(`${base()}/labels/${id}/0/c/0/0/0`)).status).toBe(200);
    const { labels } = (await json(`${base()}/labels/zarr.json`)).attributes.ome;
    expect(labels).toEqual([id, `${id}.objects`]);
    const root = await json(`${base()}/zarr.json`);
    expect(Object.keys(root.consolidated_metadata.metadata)).toContain(`labels/${id}.objects/0`);
    const label: Json = (await json(`${base()}/labels/${id}/zarr.json`)).attributes.ome['image-label'];
    expect(label.properties).toEqual([
      { 'label-value': 1, group: 'a' },
      { 'label-value': 2, group: 'b' },
      { 'label-value': 3, group: 'c' },
    ]);
    const side = 256;
    const pixels = async (path: string) => {
      const bytes = await Zstd.fromConfig({ id: 'zstd' }).decode((await get(`${base()}/${path}`)).bytes);
      return path.includes('objects') ? new Uint32Array(Uint8Array.from(bytes).buffer) : bytes;
    };
    const expected = (values: [number, number, number]) =>
      Array.from({ length: side * side }, (_, at) => {
        const [x, y] = [at % side, Math.floor(at / side)];
        const isIn = (low: number, high: number) => x >= low && x < high && y >= low && y < high;
        if (x === 12 && y === 12) return values[2];
        return isIn(20, 40) ? values[1] : isIn(10, 30) ? values[0] : 0;
      });
    expect([...(await pixels(`labels/${id}/0/c/0/0/0`))]).toEqual(expected([2, 1, 3]));
    expect([...(await pixels(`labels/${id}.objects/0/c/0/0/0`))]).toEqual(expected([1, 2, 3]));
    expect((await get(`${base()}/labels/${id}/0/c/0/0/1`)).status).toBe(404);
    expect((await get(`${base()}/labels/${id}/0/c/1/0/0`)).status).toBe(404);
    await admin.ok('PUT', `/annotation/${id}/access`, {
      query: { access: JSON.stringify({ users: [{ id: admin.id, level: 2 }], groups: [] }), public: false },
    });
    expect((await get(`${base()}/labels/zarr.json`)).status).toBe(404);
    expect((await get(`${base()}/labels/${id}/0/c/0/0/0`)).status).toBe(401);
  });
});
