/**
 * Recorded requests, and the statuses, messages and sizes of the responses of the established implementation, except for the
 * differences in docs/differences.md.
 */
import { readFile } from 'node:fs/promises';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampleFile } from '../../support/images/data.js';
import { recordedBody } from '../../support/hosts/recorded-body.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

interface Fact {
  request: string;
  query?: Record<string, string>;
  as?: 'admin' | 'writer' | 'nobody';
  status: number;
  body?: unknown;
  /** The exact text of a body that is not JSON. */
  text?: string;
  picture?: { format: string; width: number; height: number; channels?: number };
}

const noImage = { message: 'No large image file in this item.', type: 'rest' };
const restError = (message: string) => ({ message, type: 'rest' });
const style = (value: object) => ({ style: JSON.stringify(value), encoding: 'PNG' });

const facts: Record<string, Fact[]> = {
  // 2220 by 2967 pixels in tiles of 240, with a label, a macro and a thumbnail
  'CMU-1-Small-Region.svs': [
    { request: 'GET /item/{item}/tiles/zxy/1/1/2', status: 404, body: restError('y is outside layer') },
    { request: 'GET /item/{item}/tiles/zxy/99/0/0', status: 404, body: restError('z layer does not exist') },
    {
      request: 'GET /item/{item}/tiles/thumbnail',
      query: { width: '100', height: '100', fill: 'notacolor' },
      status: 400,
      body: restError("Value Error: unknown color specifier: 'notacolor'"),
    },
    {
      request: 'GET /item/{item}/tiles/region',
      query: { right: '300', regionWidth: '100', bottom: '250', regionHeight: '50' },
      status: 200,
      picture: { format: 'jpeg', width: 100, height: 50, channels: 3 },
    },
    {
      request: 'GET /item/{item}/tiles/region',
      query: {
        style: '{"band":1,"dtype":"uint8"}',
        encoding: 'PNG',
        width: '80',
        left: '100',
        top: '20',
        regionWidth: '160',
        regionHeight: '120',
      },
      status: 200,
      picture: { format: 'png', width: 80, height: 60 },
    },
    {
      request: 'GET /item/{item}/tiles/zxy/0/0/0',
      query: style({ min: 'auto:0.01', max: 'auto:0.01' }),
      status: 200,
      picture: { format: 'png', width: 240, height: 240 },
    },
    {
      request: 'GET /item/{item}/tiles/zxy/0/0/0',
      query: style({ min: -10, max: 1000 }),
      status: 200,
      picture: { format: 'png', width: 240, height: 240 },
    },
    {
      request: 'GET /item/{item}/tiles/pixel',
      query: { left: 'abc', top: '0' },
      status: 400,
      body: restError('"left" parameter is an incorrect type.'),
    },
    { request: 'GET /item/{item}/tiles/pixel', status: 200, body: expect.objectContaining({ r: 221, g: 182, b: 221 }) },
    {
      request: 'GET /item/{item}/tiles/dzi.dzi',
      status: 200,
      text: '<?xml version="1.0" encoding="UTF-8"?><Image TileSize="256" Overlap="0" Format="jpg" xmlns="http://schemas.microsoft.com/deepzoom/2008"><Size Width="2220" Height="2967"/></Image>',
    },
    { request: 'GET /item/{item}/tiles/dzi.dzi', query: { overlap: '-1' }, status: 400, body: restError('Invalid overlap') },
    { request: 'GET /item/{item}/tiles/images', status: 200, body: ['label', 'macro', 'thumbnail'] },
    {
      request: 'GET /item/{item}/tiles/images/macro',
      status: 200,
      picture: { format: 'jpeg', width: 1280, height: 431, channels: 3 },
    },
    { request: 'GET /item/{item}/tiles/images/nosuch', status: 200, text: '' },
    { request: 'POST /item/{item}/tiles', status: 400, body: restError('Item already has largeImage set.') },
    {
      request: 'GET /item/{item}/tiles/region',
      as: 'writer',
      status: 403,
      body: { message: 'Read access denied for folder {folder} (user {writer}).', type: 'access' },
    },
    {
      request: 'GET /item/{item}/tiles',
      as: 'nobody',
      status: 401,
      body: { message: 'Read access denied for folder {folder} (user None).', type: 'access' },
    },
  ],
  'multi-channel-z-series.ome.tif': [
    {
      request: 'GET /item/{item}/tiles',
      query: { frame: '1' },
      status: 200,
      body: expect.objectContaining({
        IndexRange: { IndexC: 3, IndexZ: 5 },
        IndexStride: { IndexC: 5, IndexZ: 1 },
        bandCount: 1,
        dtype: 'int8',
      }),
    },
    {
      request: 'GET /item/{item}/tiles/thumbnail',
      query: { width: '1' },
      status: 400,
      body: restError('Value Error: Invalid width or height.  Minimum value is 2.'),
    },
    {
      request: 'GET /item/{item}/tiles/region',
      query: { width: '120', encoding: 'TIFF', tiffCompression: 'packbits' },
      status: 200,
      picture: { format: 'tiff', width: 120, height: 45 },
    },
    {
      request: 'GET /item/{item}/tiles/region',
      query: { ...style({ band: 1, palette: 'nosuchpalette' }), width: '80' },
      status: 400,
      body: restError("Value Error: cannot be used as a color palette.: 'nosuchpalette'."),
    },
    {
      request: 'GET /item/{item}/tiles/dzi_files/12/3_3.jpg',
      status: 400,
      body: restError('level must be between 0 and the image scale'),
    },
  ],
  'sample.jpg': [
    {
      request: 'GET /item/{item}/tiles',
      status: 200,
      body: {
        bandCount: 3,
        dtype: 'uint8',
        levels: 1,
        magnification: null,
        mm_x: null,
        mm_y: null,
        sizeX: 290,
        sizeY: 442,
        tileHeight: 442,
        tileWidth: 290,
      },
    },
    {
      request: 'GET /item/{item}/tiles/thumbnail',
      query: { width: '-1' },
      status: 400,
      body: restError('Value Error: Invalid width or height.  Minimum value is 2.'),
    },
    {
      request: 'GET /item/{item}/tiles/region',
      query: { mm_x: 'abc' },
      status: 400,
      body: restError('"mm_x" parameter is an incorrect type.'),
    },
  ],
  'grey10kx5k.tif': [
    {
      request: 'GET /item/{item}/tiles/zxy/3/1/0',
      status: 200,
      picture: { format: 'jpeg', width: 256, height: 256, channels: 1 },
    },
  ],
  'test_orient1.tif': [{ request: 'GET /item/{item}/tiles/zxy/3/0/0', status: 404, body: restError('z layer does not exist') }],
  'text.txt': [
    { request: 'GET /item/{item}/tiles/images', status: 400, body: noImage },
    { request: 'GET /item/{item}/tiles/region', query: { width: '150', encoding: 'PNG' }, status: 400, body: noImage },
    { request: 'GET /item/{item}/tiles/internal_metadata', status: 400, body: noImage },
    {
      request: 'GET /item/nosuch/tiles',
      status: 400,
      body: { field: 'id', message: 'Invalid ObjectId: nosuch', type: 'validation' },
    },
    {
      request: 'GET /item/test/tiles/zxy/9/0/0',
      query: { sizeX: '1000', sizeY: '500' },
      status: 404,
      body: restError('z layer does not exist'),
    },
    {
      request: 'GET /item/test/tiles',
      query: { monochrome: 'true' },
      as: 'nobody',
      status: 200,
      body: {
        bandCount: 1,
        dtype: 'uint8',
        levels: 10,
        magnification: null,
        mm_x: null,
        mm_y: null,
        sizeX: 131072,
        sizeY: 131072,
        tileHeight: 256,
        tileWidth: 256,
      },
    },
    {
      request: 'PUT /system/setting',
      query: { key: 'large_image.show_item_extra', value: '[]' },
      status: 400,
      body: { field: 'value', message: 'large_image.show_item_extra must be a JSON object.', type: 'validation' },
    },
    { request: 'PUT /system/setting', query: { key: 'large_image.max_thumbnail_files', value: '2.5' }, status: 200, body: true },
    { request: 'PUT /system/setting', query: { key: 'large_image.merge_dicom', value: 'True' }, status: 200, body: true },
  ],
};

let started: TestHost;
let clients: Record<'admin' | 'writer' | 'nobody', Client>;
let folder: string;
const items = new Map<string, string>();

beforeAll(async () => {
  started = await startHost({ checksAnswers: true });
  clients = { admin: await started.register('admin'), writer: await started.register('writer'), nobody: started.anonymous };
  const collection = await clients.admin.create('/collection', { name: 'Replayed', public: true });
  folder = await clients.admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Priv', public: false });
  for (const name of Object.keys(facts)) {
    const path = name === 'text.txt' ? null : sampleFile(name);
    const bytes = name === 'text.txt' ? Buffer.from('text') : path === null ? null : await readFile(path);
    if (bytes === null) continue;
    const query = { parentType: 'folder', parentId: folder, name, size: bytes.length };
    items.set(name, String((await clients.admin.ok('POST', '/file', { query, body: bytes })).itemId));
  }
});
afterAll(async () => {
  await started?.close();
});

describe.each(Object.entries(facts))('recorded responses about %s', (name, list) => {
  it.each(list.map((fact) => [`${fact.request} ${JSON.stringify(fact.query ?? {})}`, fact] as const))(
    '%s',
    async (_title, fact) => {
      const item = items.get(name);
      // The file is missing, as `sampleFile` has printed.
      if (item === undefined) return;
      const [method = '', path = ''] = fact.request.split(' ');
      const answer = await clients[fact.as ?? 'admin'].send(method, path.replace('{item}', item), { query: fact.query ?? {} });
      expect([answer.status, answer.status === fact.status ? '' : answer.bytes.toString()]).toEqual([fact.status, '']);
      if (fact.text !== undefined) expect(answer.bytes.toString()).toBe(fact.text);
      if (fact.body !== undefined) {
        const normalized = JSON.stringify(recordedBody(answer))
          .replaceAll(folder, '{folder}')
          .replaceAll(clients.writer.id!, '{writer}');
        expect(JSON.parse(normalized)).toEqual(fact.body);
      }
      if (fact.picture !== undefined) expect(await sharp(answer.bytes).metadata()).toMatchObject(fact.picture);
    },
  );
});
