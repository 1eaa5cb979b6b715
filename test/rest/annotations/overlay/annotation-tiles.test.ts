import { VectorTile } from '@mapbox/vector-tile';
import { PbfReader } from 'pbf';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAnnotated, type Annotated } from '../../../support/hosts/annotated.js';
import { uploadItem } from '../../../support/images/images.js';

describe('tiles of annotations', () => {
  let at: Annotated;
  let item: string;
  let id: string;

  beforeAll(async () => {
    at = await startAnnotated();
    const picture = sharp({ create: { width: 1000, height: 600, channels: 3, background: '#888' } });
    const tiff = await picture.tiff({ tile: true, tileWidth: 256, tileHeight: 256, pyramid: true }).toBuffer();
    item = await uploadItem(at.admin, at.privateFolder, 'slide.tif', tiff);
    const square = (x: number, group?: string) => ({
      type: 'rectangle',
      center: [x, 100, 0],
      width: 100,
      height: 100,
      fillColor: '#ff0000',
      lineWidth: 0,
      ...(group !== undefined && { group }),
    });
    id = (await at.annotate({ elements: [square(100, 'a'), square(400)] }, { on: item }))._id;
  });
  afterAll(() => at?.close());

  const pixel = async (bytes: Buffer, x: number, y: number) => {
    const { data, info } = await sharp(bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
    return [info.width, ...data.subarray((y * info.width + x) * 4, (y * info.width + x) * 4 + 4)];
  };

  it('have the levels and sizes of the tiles of the item', async () => {
    const image = (await at.reader.ok('GET', `/item/${item}/tiles`)) as Record<string, unknown>;
    const { sizeX, sizeY, tileWidth, tileHeight, levels } = image;
    const answer = await at.reader.ok('GET', `/annotation/${id}/tiles`);
    expect(answer).toMatchObject({ sizeX, sizeY, tileWidth, tileHeight, levels, elementCount: 2 });
    expect(answer.groups).toEqual([
      { name: 'a', color: '#ff0000', count: 1 },
      { name: null, color: '#ff0000', count: 1 },
    ]);
  });

  it('match the image exactly', async () => {
    const finest = await at.reader.send('GET', `/annotation/${id}/tiles/zxy/2/0/0`);
    expect([finest.status, finest.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect(await pixel(finest.bytes, 100, 100)).toEqual([256, 255, 0, 0, 255]);
    expect(await pixel(finest.bytes, 49, 100)).toEqual([256, 0, 0, 0, 0]);
    expect(await pixel(finest.bytes, 50, 100)).toEqual([256, 255, 0, 0, 255]);
    const coarser = await at.reader.send('GET', `/annotation/${id}/tiles/zxy/1/0/0`);
    expect(await pixel(coarser.bytes, 200, 50)).toEqual([256, 255, 0, 0, 255]);
    const group = await at.reader.send('GET', `/annotation/${id}/tiles/zxy/1/0/0`, {
      query: { groups: '["a"]', color: 'group' },
    });
    expect(await pixel(group.bytes, 200, 50)).toEqual([256, 0, 0, 0, 0]);
    expect((await pixel(group.bytes, 50, 50))[4]).toBe(255);
    const without = await at.reader.send('GET', `/annotation/${id}/tiles/zxy/1/0/0`, { query: { without: '["a", "other"]' } });
    expect((await pixel(without.bytes, 200, 50))[4]).toBe(255);
    expect((await pixel(without.bytes, 50, 50))[4]).toBe(0);
    const neither = { groups: '["a"]', without: '["a"]' };
    const none = await at.reader.send('GET', `/annotation/${id}/tiles/zxy/1/0/0`, { query: neither });
    expect((await pixel(none.bytes, 50, 50))[4]).toBe(0);
  });

  it('hold the elements, as vector tiles', async () => {
    const { status, headers, bytes } = await at.reader.send('GET', `/annotation/${id}/tiles/mvt/0/0/0`);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/vnd.mapbox-vector-tile']);
    const layer = new VectorTile(new PbfReader(bytes)).layers.elements!;
    expect([layer.length, layer.feature(0).properties.group]).toEqual([2, 'a']);
  });

  it('are revalidated each time, and sent again only when the annotation changed', async () => {
    const path = `/annotation/${id}/tiles/zxy/0/0/0`;
    const first = await at.reader.send('GET', path);
    const tag = first.headers.get('etag')!;
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
    const revalidate = () => at.reader.send('GET', path, { headers: { 'If-None-Match': tag } });
    expect((await revalidate()).status).toBe(304);
    const point = { type: 'point', center: [900, 500, 0] };
    await at.admin.ok('POST', `/annotation/${id}/elements`, { json: point });
    const changed = await revalidate();
    expect(changed.status).toBe(200);
    expect(changed.bytes.equals(first.bytes)).toBe(false);
  });

  it.each([
    ['zxy/3/0/0', 404],
    ['zxy/2/4/0', 404],
    ['mvt/2/0/3', 404],
    ['zxy/x/0/0', 400],
    ['zxy/-1/0/0', 400],
    ['zxy/0/0/0?color=blue', 400],
    ['zxy/0/0/0?groups=a', 400],
    ['zxy/0/0/0?groups=[1]', 400],
    ['zxy/0/0/0?without=[1]', 400],
    ['zxy/0/0/0?gain=0', 400],
  ])('refuse %s with %i', async (path, status) => {
    const [place, query] = path.split('?');
    const sent = Object.fromEntries(new URLSearchParams(query ?? ''));
    expect((await at.reader.send('GET', `/annotation/${id}/tiles/${place}`, { query: sent })).status).toBe(status);
  });

  it('are for callers who can read the annotation', async () => {
    for (const path of ['', '/zxy/0/0/0', '/mvt/0/0/0']) {
      expect((await at.stranger.send('GET', `/annotation/${id}/tiles${path}`)).status).toBe(403);
      expect((await at.host.anonymous.send('GET', `/annotation/${id}/tiles${path}`)).status).toBe(401);
    }
    expect((await at.admin.send('GET', `/annotation/${'f'.repeat(24)}/tiles`)).status).toBe(400);
  });

  it('reveal nothing about an image that is not for the caller', async () => {
    const access = JSON.stringify({ users: [{ id: at.stranger.id, level: 0 }], groups: [] });
    await at.admin.ok('PUT', `/annotation/${id}/access`, { query: { access } });
    try {
      expect((await at.stranger.send('GET', `/annotation/${id}`)).status).toBe(200);
      for (const path of ['', '/zxy/0/0/0', '/zxy/9/0/0', '/mvt/0/0/0', '/mvt/9/0/0']) {
        const { status, body } = await at.stranger.send('GET', `/annotation/${id}/tiles${path}`);
        expect([status, JSON.stringify(body)]).toEqual([403, expect.not.stringContaining('size')]);
      }
    } finally {
      const former = JSON.stringify({ users: [{ id: at.reader.id, level: 0 }], groups: [] });
      await at.admin.ok('PUT', `/annotation/${id}/access`, { query: { access: former } });
    }
  });

  it('are 404 when the item has no large image', async () => {
    const { _id } = await at.annotate({ elements: [] });
    expect((await at.admin.send('GET', `/annotation/${_id}/tiles`)).status).toBe(404);
  });
});
