import { readFile, readdir } from 'node:fs/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createReferenceHost, type ReferenceHost } from '../../../src/reference-host/index.js';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { Client, startHost, type TestHost } from '../../support/hosts/reference-host.js';
import { slideFile } from '../../support/images/slide.js';
import { until } from '../../support/run/until.js';

describe('the cache of files of items', () => {
  let started: TestHost;
  let admin: Client;
  let other: Client;
  let folder: string;
  let item: string;
  let image: Buffer;

  const count = (path: string, query: Record<string, string> = {}) => admin.ok('GET', `/large_image/${path}`, { query });
  const thumbnail = (query: Record<string, string | number>, id = item) =>
    admin.send('GET', `/item/${id}/tiles/thumbnail`, { query });
  const keys = async (id = item) =>
    (await admin.ok('GET', `/item/${id}/tiles/thumbnails`)).map((file) => (file as { thumbnailKey: string }).thumbnailKey);
  const countStoredFiles = async () =>
    (await readdir(join(started.dataDirectory, 'files'), { recursive: true, withFileTypes: true })).filter((entry) =>
      entry.isFile(),
    ).length;

  const withScopes = async (scopes: string[]) => {
    const key = await admin.ok('POST', '/api_key', { query: { name: 'scoped', scope: JSON.stringify(scopes) } });
    const signedIn = await started.anonymous.ok('POST', '/api_key/token', { query: { key: String(key.key) } });
    return new Client(started.url, (signedIn.authToken as { token: string }).token, admin.id);
  };

  beforeAll(async () => {
    started = await startHost({ checksAnswers: true });
    admin = await started.register('admin');
    other = await started.register('other');
    folder = await newFolder(admin, 'Images');
    image = await pyramid();
    item = await uploadItem(admin, folder, 'image.tif', image);
  });
  afterAll(() => started?.close());
  beforeEach(async () => {
    await admin.ok('DELETE', '/large_image/thumbnails');
    await admin.ok('DELETE', '/large_image/histograms');
    await started.host.settings.unset('large_image.max_thumbnail_files');
  });

  it('keeps a thumbnail under its key, attached to its item, and serves it from there', async () => {
    const first = await thumbnail({ width: 160, height: 100, encoding: 'PNG', contentDisposition: 'inline' });
    expect([first.status, first.headers.get('content-type')]).toEqual([200, 'image/png']);
    const [file, ...rest] = await admin.ok('GET', `/item/${item}/tiles/thumbnails`);
    expect(rest).toEqual([]);
    expect(file).toMatchObject({
      name: '_largeImageThumbnail',
      attachedToType: 'item',
      attachedToId: item,
      itemId: null,
      creatorId: null,
      isLargeImageThumbnail: true,
      thumbnailKey: '{"encoding":"PNG","height":100,"width":160}',
      mimeType: 'image/png',
      size: first.bytes.length,
    });
    expect(await admin.ok('GET', `/item/${item}/files`)).toHaveLength(1);
    expect((await admin.ok('GET', `/item/${item}`)).size).toBe(image.length);
    // The thumbnail is served from the file, so a replaced file shows.
    const { data } = await sharp({ create: { width: 3, height: 3, channels: 3, background: '#123' } })
      .png()
      .toBuffer({ resolveWithObject: true });
    const key = '{"encoding":"PNG","height":100,"width":160}';
    const posted = await admin.ok('POST', `/item/${item}/tiles/thumbnails`, {
      query: { key, mimeType: 'text/plain' },
      body: data,
    });
    expect(posted).toMatchObject({ thumbnailKey: key, mimeType: 'image/png', size: data.length, creatorId: admin.id });
    expect(await keys()).toEqual([key]);
    const second = await thumbnail({ width: 160, height: 100, encoding: 'PNG', contentDisposition: 'attachment' });
    expect(second.bytes.equals(data)).toBe(true);
    expect(second.headers.get('content-disposition')).toBe('attachment; filename=image-thumbnail.png');
  });

  it('names files only by parameters that make a difference', async () => {
    await thumbnail({ width: 64, fill: 'none', _: 'abc', nonsense: 1, contentDisposition: 'inline' });
    await thumbnail({ width: 64 });
    expect(await keys()).toEqual(['{"width":64}']);
    expect(await count('thumbnails', { spec: '[{"width":64},{"width":64},{"width":65}]' })).toBe(2);
    expect(await count('thumbnails', { spec: '[{"width":64.0}]' })).toBe(0);
    for (const same of ['"fill":"none"', '"fill":"NONE","frame":null', '"_":"abc","style":null']) {
      expect(await count('thumbnails', { spec: `[{"width":64,${same}}]` })).toBe(1);
    }
    expect(await count('thumbnails', { spec: '[]' })).toBe(0);
    expect(await count('thumbnails', { spec: '' })).toBe(1);
    expect(await count('thumbnails', { spec: '[1,"a",null,[{}]]' })).toBe(0);
    expect(await count('associated_images')).toBe(0);
  });

  it('keeps the newest of each kind, and never drops histograms for thumbnails', async () => {
    await admin.ok('PUT', '/system/setting', { query: { key: 'large_image.max_thumbnail_files', value: '1' } });
    await admin.ok('GET', `/item/${item}/tiles/histogram`);
    for (const width of [20, 21, 22]) await thumbnail({ width });
    await admin.ok('GET', `/item/${item}/tiles/tile_frames`, { query: { width: 30, cache: true } });
    await admin.ok('GET', `/item/${item}/tiles/tile_frames`, { query: { width: 31, cache: true } });
    expect(await keys()).toEqual([
      '{"imageKey":"tileFrames","output":{"maxWidth":31}}',
      '{"width":22}',
      '{"imageKey":"histogram","output":{"maxHeight":2048,"maxWidth":2048},"resample":false}',
    ]);
    await Promise.all([40, 41, 42, 43].map((width) => thumbnail({ width })));
    await until('one thumbnail is left', async () => (await keys()).filter((key) => key.startsWith('{"width"')).length === 1);
    await admin.ok('PUT', '/system/setting', { query: { key: 'large_image.max_thumbnail_files', value: '0' } });
    expect((await thumbnail({ width: 50 })).status).toBe(200);
    expect((await keys()).filter((key) => key.startsWith('{"width"'))).toEqual([]);
    expect(await count('histograms')).toBe(1);
  });

  it('removes the files of a specification by that specification', async () => {
    const spec = '[{"width":30,"fill":"none"},{"width":31,"encoding":null,"_t":1},{"imageKey":"label","style":null}]';
    const report = await admin.ok('PUT', '/large_image/thumbnails', { query: { spec } });
    await until('the thumbnails are made', async () => (await admin.ok('GET', `/job/${String(report._id)}`)).status === 3);
    expect(await count('thumbnails', { spec })).toBe(3);
    expect(await admin.ok('DELETE', '/large_image/thumbnails', { query: { spec } })).toBe(3);
    expect(await count('thumbnails')).toBe(0);
  });

  it('makes one file for requests that come at the same time', async () => {
    const before = await countStoredFiles();
    const answers = await Promise.all(Array.from({ length: 12 }, () => thumbnail({ width: 77 })));
    expect(new Set(answers.map(({ status, bytes }) => `${status} ${bytes.toString('base64')}`)).size).toBe(1);
    expect(await keys()).toEqual(['{"width":77}']);
    expect((await countStoredFiles()) - before).toBe(1);
  });

  it('keeps pictures of frames only on request', async () => {
    await admin.ok('GET', `/item/${item}/tiles/tile_frames`, { query: { width: 30, cache: 'false' } });
    expect(await count('thumbnails')).toBe(0);
    const answer = await admin.send('GET', `/item/${item}/tiles/tile_frames`, {
      query: { width: 30, cache: 'true', encoding: 'PNG' },
    });
    expect(answer.headers.get('content-type')).toBe('image/png');
    const confirmed = await admin.send('GET', `/item/${item}/tiles/tile_frames`, { query: { width: 30, encoding: 'PNG' } });
    expect([confirmed.headers.get('content-type'), confirmed.bytes.equals(answer.bytes)]).toEqual(['image/png', true]);
    expect(await keys()).toEqual(['{"encoding":"PNG","imageKey":"tileFrames","output":{"maxWidth":30}}']);
    expect(await count('associated_images', { imageKey: 'tileFrames' })).toBe(1);
    expect(await count('associated_images', { imageKey: '.*' })).toBe(1);
    expect(await count('associated_images', { imageKey: 'tile.*' })).toBe(0);
    expect(await count('associated_images', { imageKey: 'tile(' })).toBe(0);
    expect(await admin.ok('DELETE', '/large_image/associated_images', { query: { imageKey: 'label' } })).toBe(0);
    expect(await admin.ok('DELETE', '/large_image/associated_images', { query: { imageKey: 'tileFrames' } })).toBe(1);
  });

  it('computes histograms, and keeps them', async () => {
    const path = `/item/${item}/tiles/histogram`;
    const bands = await admin.ok('GET', path, { query: { bins: 8, width: 100, height: 100 } });
    expect(bands).toHaveLength(3);
    expect(bands[0]).toMatchObject({
      bins: 8,
      density: false,
      samples: 6600,
      bin_edges: expect.any(Array),
      hist: expect.any(Array),
    });
    expect(await admin.ok('GET', path, { query: { bins: 8, width: 100, height: 100 } })).toEqual(bands);
    expect(await keys()).toEqual(['{"bins":8,"imageKey":"histogram","output":{"maxHeight":100,"maxWidth":100}}']);
    const [measured] = (await admin.ok('GET', path, { query: { rangeMin: 1.5, bins: 4, threshold: 0 } })) as unknown as {
      min: number;
      max: number;
      thresholds: number[];
    }[];
    expect(measured!.thresholds).toEqual([measured!.min, measured!.max]);
    expect(measured!.max).toBeGreaterThan(measured!.min);
    expect(await count('histograms')).toBe(1);
    expect(await count('thumbnails')).toBe(0);
    const round = await admin.ok('GET', path, { query: { roundRange: true, bins: 100 } });
    expect(round).toEqual(await admin.ok('GET', path, { query: { roundRange: true, bins: 100 } }));
    expect(await count('histograms')).toBe(2);
    expect(await admin.ok('DELETE', '/large_image/histograms')).toBe(2);
    await admin.ok('GET', path);
    for (const same of ['frame=0', 'bins=256&density=false&style=']) {
      expect(await admin.ok('GET', `${path}?${same}&cache=report`)).toEqual({ cached: [true] });
      await admin.ok('GET', `${path}?${same}`);
    }
    expect(await count('histograms')).toBe(1);
    const tagged = await admin.send('GET', path);
    const headers = { 'If-None-Match': tagged.headers.get('etag')! };
    expect((await admin.send('GET', path, { headers })).status).toBe(304);
    // A request that states a default has the entity tag of one that does not.
    for (const [kind, stated] of [
      ['histogram', 'frame=0&bins=256&density=false'],
      ['bands', 'frame=0'],
      ['thumbnail', 'frame=0&jpegQuality=95&encoding=JPEG'],
      ['region', 'frame=0&jpegSubsampling=0&style='],
      ['tile_frames', 'jpegQuality=95'],
    ] as const) {
      const [plain, same] = [`/item/${item}/tiles/${kind}?`, `/item/${item}/tiles/${kind}?${stated}`];
      const tag = (await admin.send('GET', plain)).headers.get('etag');
      expect(tag).toMatch(/^"/);
      expect([kind, (await admin.send('GET', same)).headers.get('etag')]).toEqual([kind, tag]);
    }
    expect(await admin.ok('GET', `/item/${item}/tiles/bands`)).toMatchObject({
      1: {
        interpretation: 'red',
        min: expect.any(Number),
        max: expect.any(Number),
        mean: expect.any(Number),
        stdev: expect.any(Number),
      },
    });
  });

  it('keeps nothing when a form is sent instead of a picture', async () => {
    const sending = { query: { key: 'posted' }, body: 'a=1', headers: { 'Content-Type': 'application/x-www-form-urlencoded' } };
    const refused = await admin.fails('POST', `/item/${item}/tiles/thumbnails`, sending);
    expect(refused).toMatchObject({ status: 400, message: expect.stringContaining('with its Content-Type') });
    expect(await keys()).toEqual([]);
  });

  it.each(['text/html', 'image/svg+xml', 'text/html;charset=utf-8'])(
    'serves a file that was stored as %s as plain bytes',
    async (mimeType) => {
      const query = { key: '{"width":13}', mimeType };
      await admin.ok('POST', `/item/${item}/tiles/thumbnails`, { query, body: '<script>alert(1)</script>' });
      const { headers } = await thumbnail({ width: 13 });
      expect(headers.get('content-type')).toBe('application/octet-stream');
    },
  );

  it.each(['x', 'text/html\r\nX-Other: b', 'a/b/c'])('refuses the type %j', async (mimeType) => {
    const query = { key: '{"width":13}', mimeType };
    expect(await admin.fails('POST', `/item/${item}/tiles/thumbnails`, { query, body: 'x' })).toMatchObject({ status: 400 });
    expect(await keys()).toEqual([]);
  });

  it('recomputes a histogram when the stored file is invalid', async () => {
    const key = '{"imageKey":"histogram","output":{"maxHeight":2048,"maxWidth":2048},"resample":false}';
    const query = { key, thumbnail: false };
    await admin.ok('POST', `/item/${item}/tiles/thumbnails`, { query, body: Buffer.from([0x80, 4, 0x95]) });
    expect(await admin.ok('GET', `/item/${item}/tiles/histogram`)).toHaveLength(3);
    expect(await admin.ok('GET', `/item/${item}/tiles/histogram`)).toHaveLength(3);
    expect(await count('histograms')).toBe(1);
  });

  it('reports and schedules missing files, for callers with WRITE only', async () => {
    const path = `/item/${item}/tiles/tile_frames/quad_info`;
    const info: Record<string, unknown> = await admin.ok('GET', path, { query: { maxTextureSize: 256 } });
    expect(info).toMatchObject({ frames: [0], quadsToIdx: [0], src: [{ encoding: 'JPEG', fill: 'corner:black', exact: false }] });
    expect(await admin.ok('GET', path, { query: { maxTextureSize: 256, cache: 'report' } })).toMatchObject({
      ...info,
      cached: [false],
    });
    await admin.ok('PUT', `/folder/${folder}/access`, {
      query: { access: JSON.stringify({ users: [{ id: other.id, level: 0 }], groups: [] }) },
    });
    expect(await other.fails('GET', path, { query: { cache: 'schedule' } })).toMatchObject({ status: 403 });
    expect(await other.fails('GET', `/item/${item}/tiles/histogram`, { query: { cache: 'schedule' } })).toMatchObject({
      status: 403,
    });
    const { scheduledJob, cached } = await admin.ok('GET', path, { query: { maxTextureSize: 256, cache: 'schedule' } });
    expect(cached).toEqual([false]);
    const job = await until('the job has ended', async () => {
      const job = await admin.ok('GET', `/job/${String(scheduledJob)}`);
      return [3, 4, 5].includes(Number(job.status)) && job;
    });
    expect(job).toMatchObject({ status: 3, type: 'large_image_cache_tile_frames', title: 'Cache tileFrames' });
    expect((job.log as string[])[0]).toBe('Started caching tile frames\n');
    expect(await admin.ok('GET', path, { query: { maxTextureSize: 256, cache: 'schedule' } })).toEqual({
      ...info,
      cached: [true],
    });
    // The request that a client builds from it finds the file.
    const src = (info.src as Record<string, string>[])[0]!;
    const before = await keys();
    await admin.ok('GET', `/item/${item}/tiles/tile_frames`, { query: { ...src, cache: true } });
    expect(await keys()).toEqual(before);
    const histograms = await admin.ok('GET', `/item/${item}/tiles/histogram`, { query: { bins: 5, cache: 'schedule' } });
    expect(histograms).toMatchObject({ cached: [false], scheduledJob: expect.any(String) });
    await until('the histogram is kept', async () => {
      const { cached: isCached } = await admin.ok('GET', `/item/${item}/tiles/histogram`, {
        query: { bins: 5, cache: 'report' },
      });
      return (isCached as boolean[])[0];
    });
    expect(await admin.ok('GET', `/item/${item}/tiles/histogram`, { query: { rangeMax: 5, cache: 'report' } })).toEqual({
      cached: [],
    });
  });

  it('trims and removes the files of one item', async () => {
    for (const width of [10, 11, 12]) await thumbnail({ width });
    await admin.ok('GET', `/item/${item}/tiles/histogram`);
    const path = `/item/${item}/tiles/thumbnails`;
    expect(await admin.ok('DELETE', path)).toEqual([3, 0]);
    expect(await admin.ok('DELETE', path, { query: { keep: 2 } })).toEqual([3, 1]);
    expect((await keys()).slice(0, 2)).toEqual(['{"width":12}', '{"width":11}']);
    expect(await admin.ok('DELETE', path, { query: { key: '{"width":11}', thumbnail: false } })).toEqual([null]);
    expect(await admin.ok('DELETE', path, { query: { key: '{"width":11}' } })).toMatchObject([{ thumbnailKey: '{"width":11}' }]);
    expect(await admin.fails('DELETE', path, { query: { keep: -1 } })).toMatchObject({ status: 400 });
    expect(await admin.ok('DELETE', path, { query: { keep: 0 } })).toEqual([2, 2]);
    expect(await other.fails('GET', path)).toMatchObject({ status: 403, message: 'Administrator access required.' });
    expect(await other.fails('POST', path, { query: { key: 'k' }, body: 'x' })).toMatchObject({ status: 403 });
    expect(await admin.fails('POST', path, { body: 'x' })).toMatchObject({
      status: 400,
      message: 'Parameter "key" is required.',
    });
    const large = { query: { key: 'k' }, body: Buffer.alloc(33 * 1024 * 1024) };
    expect(await admin.fails('POST', path, large)).toMatchObject({ status: 413 });
  });

  it('serves the copy of an item from its own files, even when the original was removed', async () => {
    const copied = await uploadItem(admin, folder, 'copied.tif', image);
    const copy = await admin.ok('POST', `/item/${copied}/copy`);
    const [file] = (await admin.ok('GET', `/item/${String(copy._id)}/files`)) as unknown as { _id: string }[];
    expect(copy.largeImage).toMatchObject({ fileId: file!._id, sourceName: 'tiff' });
    await admin.ok('DELETE', `/item/${copied}`);
    expect(await admin.ok('GET', `/item/${String(copy._id)}/tiles`)).toMatchObject({ levels: expect.any(Number) as number });
  });

  it('removes the files with their item, with its large image, and when the file of the image changes', async () => {
    const ownItem = await uploadItem(admin, folder, 'own.tif', image);
    await thumbnail({ width: 20 }, ownItem);
    const copy = String((await admin.ok('POST', `/item/${ownItem}/copy`))._id);
    expect(await keys(copy)).toEqual([]);
    await admin.ok('DELETE', `/item/${ownItem}/tiles`);
    expect(await keys(ownItem)).toEqual([]);
    await admin.ok('POST', `/item/${ownItem}/tiles`);
    const before = await thumbnail({ width: 20 }, ownItem);
    const [file] = await admin.ok('GET', `/item/${ownItem}/files`);
    const replacement = await sharp({ create: { width: 300, height: 300, channels: 3, background: '#0a0' } })
      .tiff({ tile: true, tileWidth: 256, tileHeight: 256, pyramid: true })
      .toBuffer();
    const id = String((file as { _id: string })._id);
    const upload = await admin.ok('PUT', `/file/${id}/contents`, { query: { size: replacement.length } });
    await admin.ok('POST', '/file/chunk', { query: { uploadId: String(upload._id), offset: 0 }, body: replacement });
    const after = await thumbnail({ width: 20 }, ownItem);
    expect((await sharp(before.bytes).metadata()).height).not.toBe((await sharp(after.bytes).metadata()).height);
    expect(await keys(ownItem)).toEqual(['{"width":20}']);
    const stored = await countStoredFiles();
    await admin.ok('DELETE', `/item/${ownItem}`);
    expect(await started.host.context.models.file.countDocuments({ attachedToId: ownItem } as object)).toBe(0);
    expect(await countStoredFiles()).toBe(stored - 2);
  });

  it.each([
    ['GET', 'thumbnails?spec=notjson', 400, 'The spec parameter must be a JSON list.'],
    ['GET', 'thumbnails?spec={}', 400, 'The spec parameter must be a JSON list.'],
    ['DELETE', 'thumbnails?spec=notjson', 400, 'The spec parameter must be a JSON list.'],
    ['PUT', 'thumbnails?spec=notjson', 400, 'The spec parameter must be a JSON list.'],
    ['PUT', 'thumbnails?spec=', 400, 'The spec parameter must be a JSON list.'],
    ['PUT', 'thumbnails', 400, 'Parameter "spec" is required.'],
    ['PUT', 'thumbnails?spec=[]&logInterval=x', 400, 'Invalid value for numeric parameter logInterval: x.'],
    ['PUT', 'thumbnails?spec=[]&concurrent=x', 400, 'Invalid value for numeric parameter concurrent: x.'],
    ['PUT', 'thumbnails?spec=x&concurrent=x', 400, 'The spec parameter must be a JSON list.'],
    [
      'PUT',
      'thumbnails?spec=[]&concurrent=10000',
      400,
      'Invalid value for numeric parameter concurrent: 10000. Allowed values: numbers up to 256.',
    ],
  ])('%s %s answers %i: %s', async (method, path, status, message) => {
    const jobs = await admin.ok('GET', '/job/all');
    expect(await admin.fails(method, `/large_image/${path}`)).toMatchObject({ status, message, type: 'rest' });
    expect(await admin.ok('GET', '/job/all')).toHaveLength(jobs.length);
  });

  it('refuses to make thumbnails when none are kept', async () => {
    await admin.ok('PUT', '/system/setting', { query: { key: 'large_image.max_thumbnail_files', value: '0' } });
    const query = { spec: '[]', concurrent: 'x' };
    expect(await admin.fails('PUT', '/large_image/thumbnails', { query })).toMatchObject({
      status: 400,
      message: 'Thumbnail files are not enabled.',
    });
  });

  it.each([
    'GET thumbnails',
    'PUT thumbnails',
    'DELETE thumbnails',
    'GET associated_images',
    'DELETE associated_images',
    'GET histograms',
    'DELETE histograms',
  ])('%s requires an administrator with the scope', async (route) => {
    const [method, name] = route.split(' ') as [string, string];
    const path = `/large_image/${name}`;
    const body = { message: 'Administrator access required.', type: 'access' };
    expect(await started.anonymous.fails(method, path)).toMatchObject({ status: 401, ...body });
    expect(await other.fails(method, path)).toMatchObject({ status: 403, ...body });
    const scope = method === 'GET' ? 'core.data.read' : 'core.data.write';
    const others = ['core.data.read', 'core.data.write', 'core.data.own', 'core.user_info.read'].filter((name) => name !== scope);
    expect(await (await withScopes(others)).fails(method, path)).toMatchObject({ status: 401, ...body });
    // With the scope, the request is allowed, even if it then fails for another reason.
    expect((await (await withScopes([scope])).send(method, path)).status).toBe(method === 'PUT' ? 400 : 200);
  });

  it('keeps client data on items, and nothing else', async () => {
    const path = `/item/${item}/internal_metadata`;
    expect(await admin.ok('GET', `${path}/presets`)).toBeNull();
    const presets = [{ name: 'é', style: { bands: [] } }];
    expect(await admin.ok('PUT', `${path}/presets`, { json: presets })).toBeNull();
    expect(await other.ok('GET', `${path}/presets`)).toEqual(presets);
    expect(await admin.ok('GET', `${path}/name`)).toBe('image.tif');
    expect(await admin.ok('DELETE', `${path}/presets`)).toBeNull();
    expect(await admin.ok('DELETE', `${path}/presets`)).toBeNull();
    expect(await admin.ok('GET', `${path}/presets`)).toBeNull();
    for (const key of [
      '_id',
      'folderId',
      'largeImage',
      'size',
      'name',
      'creatorId',
      'baseParentId',
      'words',
      'a.b',
      '$x',
      '__proto__',
    ]) {
      expect(await admin.fails('PUT', `${path}/${key}`, { json: 1 })).toMatchObject({ status: 400 });
      expect(await admin.fails('DELETE', `${path}/${key}`)).toMatchObject({ status: 400 });
    }
    expect(await admin.fails('PUT', `${path}/presets`, { body: '{' })).toMatchObject({
      status: 400,
      message: 'Invalid JSON passed in request body.',
    });
    expect(await admin.fails('PUT', `${path}/presets`, { json: { $where: 1 } })).toMatchObject({ status: 400 });
    expect(await admin.fails('PUT', `${path}/meta`, { json: [1] })).toMatchObject({ status: 400 });
    await admin.ok('PUT', `${path}/meta`, { json: { a: 1 } });
    expect((await admin.ok('GET', `/item/${item}`)).meta).toEqual({ a: 1 });
    expect(await other.fails('PUT', `${path}/presets`, { json: 1 })).toMatchObject({ status: 403 });
    expect(await other.fails('DELETE', `${path}/presets`)).toMatchObject({ status: 403 });
    expect(await started.anonymous.fails('PUT', `${path}/presets`, { json: 1 })).toMatchObject({ status: 401 });
  });

  it.each([
    ['histogram?bins=0', 400],
    ['histogram?bins=x', 400],
    ['histogram?bins=100000000', 400],
    ['histogram?rangeMin=5&rangeMax=4', 400],
    ['histogram?frame=7', 400],
    ['histogram?cache=maybe', 400],
    ['bands?frame=-1', 400],
    ['tile_frames?framesAcross=0', 400],
    ['tile_frames?frameList=a', 400],
    ['tile_frames?width=1000000000', 400],
    ['tile_frames?encoding=XYZ&cache=true', 400],
    ['tile_frames/quad_info?frameBase=9', 400],
    ['tile_frames/quad_info?frameBase=1.5', 400],
    ['tile_frames/quad_info?frameBase=x', 400],
    ['tile_frames/quad_info?frameStride=abc', 400],
    ['tile_frames/quad_info?maxTextureSize=1', 400],
    ['tile_frames/quad_info?format=a%3D1%26a%3D2', 400],
    ['tile_frames/quad_info?format=jpegQuality%3Dx&cache=report', 400],
  ])('answers %s with %i and keeps nothing', async (path, status) => {
    const answer = await admin.send('GET', `/item/${item}/tiles/${path}`);
    expect([answer.status, (answer.body as Record<string, unknown>).type]).toEqual([status, 'rest']);
    expect(await keys()).toEqual([]);
  });

  it('keeps label and macro, and nothing for names that do not exist', async ({ skip }) => {
    const directory = await mkdtemp(join(tmpdir(), 'cached-files-'));
    const path = await slideFile(directory);
    if (!path.endsWith('.svs')) skip('needs the sample CMU-1-Small-Region.svs');
    const slide = await uploadItem(admin, folder, 'slide.svs', await readFile(path));
    await rm(directory, { recursive: true });
    const label = await admin.send('GET', `/item/${slide}/tiles/images/label`, { query: { width: 50 } });
    expect(label.headers.get('content-type')).toBe('image/jpeg');
    const none = await admin.send('GET', `/item/${slide}/tiles/images/nosuch`);
    expect([none.status, none.bytes.length, none.headers.get('content-type')]).toEqual([200, 0, 'application/octet-stream']);
    expect(await keys(slide)).toEqual(['{"imageKey":"label","width":50}']);
    expect(await count('associated_images', { imageKey: 'label' })).toBe(1);
    expect(await count('thumbnails', { spec: '[{"imageKey":"label","width":50}]' })).toBe(1);
  });

  describe('with a second process on the same database', () => {
    let second: ReferenceHost;
    let client: Client;

    beforeAll(async () => {
      second = await createReferenceHost({
        mongoUri: started.databaseUri,
        dataDirectory: started.dataDirectory,
        brand: 'girder',
        passwordMemoryKiB: 8,
      });
      const { url } = await second.listen();
      client = new Client(url, admin.token, admin.id);
    });
    afterAll(() => second?.close());

    it('makes one file for requests that come at the same time', async () => {
      for (let width = 100; width < 104; width++) {
        const requests = [admin, client, admin, client].map((caller) =>
          caller.send('GET', `/item/${item}/tiles/thumbnail`, { query: { width } }),
        );
        const answers = await Promise.all(requests);
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
        const spec = JSON.stringify([{ width }]);
        expect(await count('thumbnails', { spec })).toBe(1);
      }
    });
  });
});
