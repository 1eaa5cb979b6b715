import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createReferenceHost } from '../../../src/reference-host/index.js';
import { startHost, type Answer, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { sampleOf } from '../../support/run/sample.js';
import { until } from '../../support/run/until.js';

/** A picture of noise, which takes libvips a while. */
async function noise(width: number, height: number): Promise<Buffer> {
  const samples = new Uint8Array(width * height * 3);
  const random = randomBytes(2 * samples.length);
  // The sum of two random numbers compresses as badly as the sum of many.
  for (let i = 0; i < samples.length; i += 1) samples[i] = 64 + (random[2 * i]! & 63) + (random[2 * i + 1]! & 63);
  return sharp(samples, { raw: { width, height, channels: 3 } })
    .png({ compressionLevel: 1 })
    .toBuffer();
}

describe('large images by conversion', () => {
  let started: TestHost;
  let originalTmpdir: string;
  let ownTmpdir: string;
  let admin: Client;
  let reader: Client;
  let folder: string;
  let picture: Buffer;
  let noisy: Buffer;

  const upload = async (name: string, bytes: Uint8Array, into = folder): Promise<string> => {
    const query = { parentType: 'folder', parentId: into, name, size: bytes.length };
    return String((await admin.ok('POST', '/file', { query, body: bytes })).itemId);
  };
  /** An item whose file does not become a large image automatically. */
  const plainItem = async (name: string, bytes: Uint8Array, into = folder): Promise<string> => {
    const item = await upload(name, bytes, into);
    await admin.ok('DELETE', `/item/${item}/tiles`);
    return item;
  };
  const job = (id: unknown) => admin.ok('GET', `/job/${String(id)}`);
  const ended = (id: unknown, status: number): Promise<Answer['body']> =>
    until(
      `job in status ${status}`,
      async () => {
        const record = await job(id);
        if ([3, 4, 5].includes(Number(record.status)) && record.status !== status)
          throw new Error(`${String(record.status)}: ${String(record.log)}`);
        return record.status === status && record;
      },
      120_000,
    );
  const marker = async (item: string) =>
    (await admin.ok('GET', `/item/${item}`)).largeImage as Record<string, unknown> | undefined;
  const files = (item: string) => admin.ok('GET', `/item/${item}/files`);
  const temporary = async () =>
    (await readdir(tmpdir())).filter((name) => name.startsWith('large-image-') && name.endsWith('.d'));

  beforeAll(async () => {
    // Its own folder, in which no other test makes files.
    originalTmpdir = tmpdir();
    ownTmpdir = await mkdtemp(join(originalTmpdir, 'conversion-'));
    process.env.TMPDIR = ownTmpdir;
    started = await startHost();
    admin = await started.register('admin');
    reader = await started.register('reader');
    const collection = await admin.create('/collection', { name: 'Images', public: true });
    folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Public', public: true });
    picture = await noise(600, 400);
    noisy = await noise(2000, 2000);
  });
  afterAll(async () => {
    await started?.close();
    process.env.TMPDIR = originalTmpdir;
    await rm(ownTmpdir, { recursive: true, force: true });
  });

  it('are created with force and the requested options, and the item names file, job and original', async () => {
    const item = await plainItem('noise.png', picture);
    const [original] = await files(item);
    const query = { force: true, tileSize: 128, compression: 'deflate', level: 2, localJob: true };
    const answer = await admin.ok('POST', `/item/${item}/tiles`, { query });
    expect(answer).toMatchObject({
      title: 'Large Image Conversion: noise.png',
      type: 'large_image_tiff',
      handler: 'jobs._local',
      public: false,
      meta: { creator: 'large_image', itemId: item, task: 'createImageItem' },
      kwargs: { force: 'true', tileSize: '128', compression: 'deflate', level: '2' },
    });
    const endedJob = await ended(answer._id, 3);
    expect(endedJob.log).toEqual(['Started large image conversion\n', 'Storing result\n', 'Finished large image conversion\n']);
    expect(endedJob.progress).toMatchObject({ message: 'Large image created for item noise.png' });
    const [, convertedFile] = await files(item);
    const { _id: fileId, ...file } = convertedFile as unknown as Record<string, unknown>;
    expect(file).toMatchObject({ name: 'noise.tiff', mimeType: 'image/tiff' });
    expect(file).not.toHaveProperty('largeImageConversionId');
    expect(await marker(item)).toEqual({
      fileId,
      sourceName: 'tiff',
      originalId: (original as unknown as Record<string, unknown>)._id,
      jobId: answer._id,
    });
    expect(await admin.ok('GET', `/item/${item}/tiles`)).toMatchObject({ sizeX: 600, sizeY: 400, tileWidth: 128, levels: 4 });
    const bytes = (await admin.send('GET', `/file/${String(fileId)}/download`)).bytes;
    expect((await sharp(bytes).raw().toBuffer()).equals(await sharp(picture).raw().toBuffer())).toBe(true);
    const notification = await until('a notification', async () =>
      (await admin.ok('GET', '/notification')).find(
        (each) => (each as { type?: string }).type === 'large_image.finished_image_item',
      ),
    );
    expect(notification).toMatchObject({ data: { item_id: item, success: true, status: 3 } });

    expect(await admin.fails('POST', `/item/${item}/tiles`, { query: { fileId: String(fileId) } })).toMatchObject({
      status: 400,
      message: 'Item already has largeImage set.',
    });
    expect(await admin.ok('DELETE', `/item/${item}/tiles`)).toEqual({ deleted: true });
    expect(await files(item)).toHaveLength(1);
    expect(await marker(item)).toBeUndefined();
    expect(await temporary()).toEqual([]);
  });

  it('are made of a file that a source reads only with force, by default by remote workers', async () => {
    const item = await plainItem('small.png', picture);
    expect((await admin.send('POST', `/item/${item}/tiles`)).bytes.toString()).toBe('null');
    await admin.ok('DELETE', `/item/${item}/tiles`);
    const remote = await admin.ok('POST', `/item/${item}/tiles`, { query: { force: true } });
    expect(remote.handler).toBe('worker_handler');
    expect(await admin.fails('POST', `/item/${item}/tiles`)).toMatchObject({ status: 400 });
    await ended(remote._id, 3);
  });

  it.each([
    [{ compression: 'gzip' }, 'Invalid value for compression: "gzip"'],
    [{ compression: 'jp2k' }, 'JPEG 2000 is read but not written'],
    [{ tileSize: 100 }, 'Invalid tileSize 100: it must be a multiple of 16'],
    [{ tileSize: 'x' }, 'Invalid value for integer parameter tileSize: x.'],
    [{ quality: 101 }, 'Invalid quality 101'],
    [{ compression: 'zstd', level: 23 }, 'Invalid level 23: for zstd it must be from 1 to 22'],
    [{ predictor: 'float' }, 'floating-point samples'],
    [{ fileId: '' }, 'Missing "fileId" parameter.'],
    [{ fileId: 'zz' }, 'Invalid ObjectId: zz'],
    [{ fileId: '0123456789abcdef01234567' }, 'No such file: 0123456789abcdef01234567'],
  ] as [Record<string, string | number>, string][])('refuse %j and leave the item alone', async (query, message) => {
    const item = await plainItem('refused.png', picture);
    const answer = await admin.fails('POST', `/item/${item}/tiles`, { query: { force: true, ...query } });
    expect(answer).toMatchObject({ status: 400, message: expect.stringContaining(message) });
    expect(await marker(item)).toBeUndefined();
  });

  it('are created with force from an item that is already a large image', async () => {
    const item = await upload('automatic.png', picture);
    const [original] = await files(item);
    expect(await marker(item)).toMatchObject({ sourceName: 'sharp' });
    const query = { force: true, localJob: true };
    for (const tileSize of [128, 512]) {
      const answer = await admin.ok('POST', `/item/${item}/tiles`, { query: { ...query, tileSize } });
      await ended(answer._id, 3);
      expect(await marker(item)).toMatchObject({
        sourceName: 'tiff',
        originalId: (original as unknown as Record<string, unknown>)._id,
      });
      expect(await admin.ok('GET', `/item/${item}/tiles`)).toMatchObject({ tileWidth: tileSize });
      await until('the former product has gone', async () => (await files(item)).length === 2);
    }
  });

  it('are neither started nor counted for files of a folder that no job could read', async () => {
    const ownFolder = await admin.create('/folder', { parentType: 'folder', parentId: folder, name: 'Unreadable' });
    const item = await upload('words.txt', Buffer.from('words'), ownFolder);
    const put = (query: Record<string, string | boolean>) => admin.ok('PUT', `/large_image/folder/${ownFolder}/tiles`, { query });
    expect(await put({ createJobs: 'always', localJobs: true })).toMatchObject({
      largeImagesCreated: 0,
      largeImagesNotCreated: 1,
    });
    expect(await marker(item)).toBeUndefined();
  });

  it('leave the item of a corrupt file unchanged, and say why', async () => {
    const item = await plainItem('broken.png', picture.subarray(0, 5000));
    const answer = await admin.ok('POST', `/item/${item}/tiles`, { query: { force: true, localJob: true } });
    const failed = await ended(answer._id, 4);
    expect((failed.log as unknown as string[]).at(-1)).toMatch(/^Failed in large image conversion \(.+\)\n$/);
    const message = 'FAILED: Large image creation failed for item broken.png';
    await until(message, async () => ((await job(answer._id)).progress as { message?: string }).message === message);
    expect(await marker(item)).toBeUndefined();
    expect(await files(item)).toHaveLength(1);
    expect(await temporary()).toEqual([]);
  });

  it.each(
    sampleOf<[string, (item: string, id: string) => Promise<unknown>, number | null]>(
      [
        ['canceled', (_item: string, id: string) => admin.ok('PUT', `/job/${id}/cancel`), 5],
        ['deleted from the item', (item: string) => admin.ok('DELETE', `/item/${item}/tiles`), 5],
        ['removed with their record', (_item: string, id: string) => admin.ok('DELETE', `/job/${id}`), null],
        ['removed as incomplete', () => admin.ok('DELETE', '/large_image/tiles/incomplete'), 5],
      ],
      2,
    ),
  )('stop when they are %s, and leave nothing behind', async (_how, stop, status) => {
    const item = await plainItem('large.png', noisy);
    // At this compression level, the conversion takes much longer than this test.
    const query = { force: true, localJob: true, compression: 'zstd', level: 14 };
    const { _id } = await admin.ok('POST', `/item/${item}/tiles`, { query });
    await until('it is converting', async () => Number(((await job(_id)).progress as { current?: number })?.current) >= 1);
    expect(await temporary()).toHaveLength(1);
    expect(await marker(item)).toMatchObject({ expected: true, jobId: _id, notify: true });
    expect(await admin.fails('GET', `/item/${item}/tiles`)).toMatchObject({
      message: 'The large image file for this item is still pending creation.',
    });
    await stop(item, String(_id));
    await until('nothing temporary is left', async () => (await temporary()).length === 0);
    await until('no large image', async () => (await marker(item)) === undefined);
    expect(await files(item)).toHaveLength(1);
    if (status !== null) expect((await job(_id)).status).toBe(status);
    expect(await admin.ok('DELETE', '/large_image/tiles/incomplete')).toEqual({ removed: 0 });
  });

  it('leave items as they were when they are removed as incomplete, whether running or queued', async () => {
    const ownFolder = await admin.create('/folder', { parentType: 'folder', parentId: folder, name: 'Redone' });
    // Converting this image takes much longer than the requests that follow.
    const large = await noise(2500, 2500);
    const items = [await upload('one.png', large, ownFolder), await upload('two.png', large, ownFolder)];
    const had = [await marker(items[0]!), await marker(items[1]!)];
    expect(had).toMatchObject([{ fileId: expect.any(String) }, { fileId: expect.any(String) }]);
    const query = { createJobs: 'always', redoExisting: true };
    await admin.ok('PUT', `/large_image/folder/${ownFolder}/tiles`, { query });
    for (const item of items) expect(await marker(item)).toMatchObject({ expected: true });
    await admin.ok('DELETE', '/large_image/tiles/incomplete');
    for (const [i, item] of items.entries()) expect(await marker(item)).toEqual(had[i]);
    await until('nothing temporary is left', async () => (await temporary()).length === 0);
    for (const item of items) expect(await files(item)).toHaveLength(1);
  });

  it('are written as new items with name and folder, for callers who can write there', async () => {
    const item = await upload('source.png', picture);
    const target = await admin.create('/folder', { parentType: 'folder', parentId: folder, name: 'Copies' });
    const query = { folderId: target, name: 'copy.tiff', compression: 'webp', quality: 0 };
    const answer = await admin.ok('POST', `/item/${item}/tiles/convert`, { query });
    expect(answer.handler).toBe('jobs._local');
    const endedJob = await ended(answer._id, 3);
    const [copy] = await admin.ok('GET', '/item', { query: { folderId: target } });
    const convertedItem = copy as unknown as Record<string, unknown>;
    expect(convertedItem).toMatchObject({ name: 'copy.tiff', largeImage: { sourceName: 'tiff' } });
    expect(endedJob.log).toContain('Finished large image conversion\n');
    const value = await admin.ok('GET', `/item/${String(convertedItem._id)}/tiles/pixel`, { query: { left: 5, top: 7 } });
    expect(value).toEqual(await admin.ok('GET', `/item/${item}/tiles/pixel`, { query: { left: 5, top: 7 } }));
    expect(await reader.fails('POST', `/item/${item}/tiles/convert`)).toMatchObject({ status: 403 });
    expect(await started.anonymous.fails('POST', `/item/${item}/tiles/convert`)).toMatchObject({ status: 401 });
    expect(await admin.fails('POST', `/item/${item}/tiles/convert`, { query: { format: 'aperio' } })).toMatchObject({
      status: 400,
    });
    expect(await marker(item)).toMatchObject({ sourceName: 'sharp' });
  });

  it('are not made twice, and leave no empty item, when a process was killed while they were stored', async () => {
    const item = await upload('killed.png', picture);
    const target = await admin.create('/folder', { parentType: 'folder', parentId: folder, name: 'Killed' });
    const inTarget = () => admin.ok('GET', '/item', { query: { folderId: target } }) as unknown as Promise<{ _id: string }[]>;
    const { _id } = await admin.ok('POST', `/item/${item}/tiles/convert`, { query: { folderId: target } });
    const first = await ended(_id, 3);
    const [copy] = await inTarget();
    const { models } = started.host.context;
    const jobId = String(_id);
    const countMarked = () => models.item.collection.countDocuments({ largeImageConversionId: jobId });
    await until('the copy counts as finished', async () => (await countMarked()) === 0);
    // The state after the first attempt was killed after storing its file, and an earlier one before storing it.
    const empty = await admin.create('/item', { folderId: target, name: 'half made' });
    const ids = { $in: [empty, copy!._id].map((id) => new models.item.base.Types.ObjectId(id)) };
    await models.item.collection.updateMany({ _id: ids }, { $set: { largeImageConversionId: jobId } });
    const jobs = models.item.db.collection<{ _id: unknown }>('large_image_job');
    const stored = await jobs.findOne({ title: 'Large Image Conversion: killed.png' });
    await jobs.updateOne({ _id: stored!._id }, { $set: { status: 1, results: null, 'run.owner': null } });
    await started.host.host.agenda.now('large_image.local.large_image_tiff', { jobId });
    const rerun = await ended(_id, 3);
    expect(rerun.results).toEqual(first.results);
    expect((await inTarget()).map((each) => each._id)).toEqual([copy!._id]);
    await until('the copy counts as finished again', async () => (await countMarked()) === 0);
  });

  it('leave nothing when their job was canceled and its process killed', async () => {
    const lost = await admin.create('/item', { folderId: folder, name: 'lost' });
    const { models } = started.host.context;
    const _id = new models.item.base.Types.ObjectId(lost);
    await models.item.collection.updateOne({ _id }, { $set: { largeImageConversionId: 'of a job that is gone' } });
    const { databaseUri: mongoUri, dataDirectory } = started;
    const second = await createReferenceHost({ mongoUri, dataDirectory, brand: 'girder', worker: true });
    try {
      await until('it is gone', async () => (await admin.send('GET', `/item/${lost}`)).status === 400);
    } finally {
      await second.close();
    }
  });

  it('are made for a folder by its rules, and nothing is lost when that fails', async () => {
    const top = await admin.create('/folder', { parentType: 'folder', parentId: folder, name: 'Top' });
    const below = await admin.create('/folder', { parentType: 'folder', parentId: top, name: 'Below' });
    const good = await plainItem('good.png', picture, top);
    const deep = await plainItem('deep.png', picture, below);
    const text = await plainItem('text.txt', Buffer.from('no image'), top);
    const none = {
      childFoldersRecursed: 0,
      itemsSkipped: 0,
      jobsCanceled: 0,
      jobsFailedToCancel: 0,
      largeImagesCreated: 0,
      largeImagesNotCreated: 0,
      largeImagesRemovedAndRecreated: 0,
      largeImagesRemovedAndNotRecreated: 0,
      totalItems: 0,
    };
    const put = (query: Record<string, string | boolean> = {}) => admin.ok('PUT', `/large_image/folder/${top}/tiles`, { query });
    expect(await put()).toEqual({ ...none, largeImagesCreated: 1, largeImagesNotCreated: 1, totalItems: 2 });
    expect(await put({ recurse: true })).toEqual({
      ...none,
      childFoldersRecursed: 1,
      itemsSkipped: 1,
      largeImagesCreated: 1,
      largeImagesNotCreated: 1,
      totalItems: 3,
    });
    expect(await marker(deep)).toMatchObject({ sourceName: 'sharp' });
    const refused = (await admin.ok('GET', '/large_image/tiles/refused')) as unknown as { itemId: string; reason: string }[];
    const { reason } = refused.find(({ itemId }) => itemId === text)!;
    expect(reason).toMatch(/\w{3}/);
    expect(await admin.ok('GET', `/item/${text}`)).toMatchObject({ largeImageRefused: reason });
    expect(refused.map(({ itemId }) => itemId)).not.toContain(deep);
    expect(await put({ redoExisting: true })).toEqual({
      ...none,
      largeImagesNotCreated: 1,
      largeImagesRemovedAndRecreated: 1,
      totalItems: 2,
    });
    const before = await marker(good);

    // A failed conversion restores the former image.
    const { context } = started.host;
    const [file] = await context.models.file.find({ itemId: good }).lean();
    // The job waits, so that it does not end before it is canceled.
    const { agenda } = started.host.host;
    await agenda.stop(false);
    expect(await put({ createJobs: 'always', localJobs: true, redoExisting: true })).toMatchObject({
      largeImagesNotCreated: 1,
      largeImagesRemovedAndRecreated: 1,
    });
    const pending = await marker(good);
    expect(pending).toMatchObject({ expected: true, originalId: String(file!._id) });
    expect(await put({ cancelJobs: true, createJobs: 'false' })).toMatchObject({ jobsCanceled: 1 });
    await agenda.start();
    await until('ended', async () => (await marker(good))?.expected !== true);
    expect(await marker(good)).toMatchObject({ fileId: before!.fileId, sourceName: 'sharp' });

    for (const id of ['zz', '0123456789abcdef01234567']) {
      expect(await admin.fails('PUT', `/large_image/folder/${id}/tiles`)).toMatchObject({
        status: 400,
        message: 'ID was invalid.',
      });
    }
    expect(await reader.fails('PUT', `/large_image/folder/${top}/tiles`)).toMatchObject({ status: 403 });
    expect(await started.anonymous.fails('PUT', `/large_image/folder/${top}/tiles`)).toMatchObject({ status: 401 });
    expect(await put({ localJobs: 'xyz' })).toMatchObject({ totalItems: 2 });
    expect(await admin.fails('PUT', `/large_image/folder/${top}/tiles`, { query: { createJobs: 'maybe' } })).toMatchObject({
      status: 400,
      message: 'Invalid value for createJobs: "maybe". Allowed values: true, false, always.',
    });
  });

  it('are made in folders that the caller can write, and only counted in folders that the caller can read', async () => {
    const top = await admin.create('/folder', { parentType: 'folder', parentId: folder, name: 'Shared' });
    const share = async (id: string, level: 0 | 1 | null) => {
      const users = level === null ? [] : [{ id: reader.id, level, flags: [] }];
      await admin.ok('PUT', `/folder/${id}/access`, {
        query: { access: JSON.stringify({ users, groups: [] }), public: false },
      });
    };
    await share(top, 1);
    const items: string[] = [];
    for (const [name, level] of [
      ['written', 1],
      ['read', 0],
      ['hidden', null],
    ] as const) {
      const below = await admin.create('/folder', { parentType: 'folder', parentId: top, name });
      await share(below, level);
      items.push(await plainItem(`${name}.png`, picture, below));
    }
    const counts = await reader.ok('PUT', `/large_image/folder/${top}/tiles`, { query: { recurse: true } });
    expect(counts).toMatchObject({ childFoldersRecursed: 2, largeImagesCreated: 1, itemsSkipped: 1, totalItems: 2 });
    const haveImages = await Promise.all(items.map(async (item) => (await marker(item)) !== undefined));
    expect(haveImages).toEqual([true, false, false]);
  });
});
