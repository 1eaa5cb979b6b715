import { cpus } from 'node:os';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { endedJob } from '../../support/jobs/job-status.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

const itemCount = 5;

describe('the job that makes thumbnails', () => {
  let started: TestHost;
  let admin: Client;
  let folder: string;
  let items: string[];

  const start = async (spec: unknown, query: Record<string, string> = {}) => {
    const text = typeof spec === 'string' ? spec : JSON.stringify(spec);
    return admin.ok('PUT', '/large_image/thumbnails', { form: { spec: text, ...query } });
  };
  const run = async (spec: unknown, query: Record<string, string> = {}) =>
    endedJob(admin, String((await start(spec, query))._id));
  const count = async (spec?: string) =>
    admin.ok('GET', '/large_image/thumbnails', { query: spec === undefined ? {} : { spec } });

  beforeAll(async () => {
    started = await startHost();
    admin = await started.register('admin');
    folder = await newFolder(admin, 'Images');
    const image = await pyramid();
    items = [];
    for (let i = 0; i < itemCount; i++) items.push(await uploadItem(admin, folder, `image ${i}.tif`, image));
    await uploadItem(admin, folder, 'no image.txt', Buffer.from('text'));
  });
  afterAll(() => started?.close());
  beforeEach(async () => {
    await admin.ok('DELETE', '/large_image/thumbnails');
  });

  it('answers with the job, which makes missing files', async () => {
    const spec = [
      { width: 160, height: 100 },
      { width: 160, height: 100, encoding: 'PNG' },
    ];
    const job = await start(spec, { concurrent: '2', logInterval: '0' });
    expect(job).toMatchObject({
      type: 'large_image_create_thumbnails',
      title: 'Create large image thumbnail files.',
      public: true,
      asynchronous: true,
      handler: 'jobs._local',
      kwargs: { spec, concurrent: 2, logInterval: 0 },
      args: [],
      status: 0,
      userId: admin.id,
      access: { users: [{ id: admin.id, level: 2, flags: [] }], groups: [] },
    });
    const ended = await endedJob(admin, String(job._id));
    expect(ended.status).toBe(3);
    expect(ended.log.slice(0, 2)).toEqual(['Started creating large image thumbnails\n', 'Creating thumbnails (2 concurrent)\n']);
    expect(ended.log.at(-1)).toBe('Finished: Checked 0, created 10 thumbnail files\n');
    expect(ended.log).toContain('Checked 0, created 1 thumbnail files (estimated 10.00% done)\n');
    expect(ended.log).toHaveLength(2 + 10 + 1);
    expect(ended.progress).toMatchObject({ total: 10, current: 10 });
    expect(await count()).toBe(10);
    expect(await count(JSON.stringify([spec[1]]))).toBe(5);
    // Requests of clients find the created thumbnails.
    await admin.send('GET', `/item/${items[0]}/tiles/thumbnail`, { query: { width: 160, height: 100, encoding: 'PNG' } });
    expect(await count()).toBe(10);
    const repeated = await run(spec);
    expect(repeated.log.slice(1)).toEqual([
      `Creating thumbnails (${cpus().length} concurrent)\n`,
      'Finished: Checked 10, created 0 thumbnail files\n',
    ]);
    expect(await admin.ok('DELETE', '/large_image/thumbnails', { query: { spec: JSON.stringify([spec[0]]) } })).toBe(5);
    expect((await run(spec)).log.at(-1)).toBe('Finished: Checked 5, created 5 thumbnail files\n');
  });

  it('keeps numbers in the key as they were written', async () => {
    const spec = '[{"width":60.0,"fill":"none"},{"width":60,"_":1,"frame":null}]';
    expect((await run(spec)).log.at(-1)).toBe('Finished: Checked 0, created 10 thumbnail files\n');
    expect([await count('[{"width":60.0}]'), await count('[{"width":60}]')]).toEqual([5, 5]);
  });

  it('makes associated images and pictures of frames, even if there are none', async () => {
    const spec = [
      { imageKey: 'label', width: 20 },
      { imageKey: 'tileFrames', output: { maxWidth: 40 } },
    ];
    expect((await run(spec)).log.at(-1)).toBe('Finished: Checked 0, created 10 thumbnail files\n');
    expect((await run(spec)).log.at(-1)).toBe('Finished: Checked 10, created 0 thumbnail files\n');
    const counted = (imageKey: string) => admin.ok('GET', '/large_image/associated_images', { query: { imageKey } });
    expect([await counted('label'), await counted('tileFrames'), await counted('macro')]).toEqual([5, 5, 0]);
    const missing = await admin.send('GET', `/item/${items[0]}/tiles/images/label`, { query: { width: 20 } });
    expect([missing.status, missing.bytes.length]).toEqual([200, 0]);
    const files = await admin.ok('GET', `/item/${items[0]}/tiles/thumbnails`);
    expect(files).toMatchObject([{ mimeType: 'image/jpeg' }, { mimeType: 'application/octet-stream', size: 0 }]);
  });

  it('counts failures, and reports them', async () => {
    const spec = [
      { width: 0 },
      { width: -1 },
      { width: 1e9 },
      { width: 'x' },
      { width: 20, encoding: 5 },
      { width: 20, encoding: 'TILED' },
      { width: 20, frame: 9 },
      { width: 20, style: 'no json' },
      { width: 20, style: { bands: [] } },
      { imageKey: 7 },
    ];
    const job = await run(spec, { concurrent: '1' });
    expect(job.status).toBe(3);
    const [finished, lastFailed] = job.log.at(-1)!.split(' (last failure on item ');
    expect(finished).toBe('Finished: Checked 0, created 5 thumbnail files\nFailed on 45 thumbnail files');
    // Items are processed at the same time.
    expect(items.map((id) => `${id})\n`)).toContain(lastFailed);
    expect(await count()).toBe(5);
    await started.host.context.models.item.collection.updateOne(
      { name: 'image 2.tif' },
      { $set: { 'largeImage.sourceName': 'nonesuch' } },
    );
    const broken = await run([{ width: 21 }]);
    expect(broken.log.at(-1)).toBe(
      `Finished: Checked 0, created 4 thumbnail files\nFailed on 1 thumbnail file (last failure on item ${items[2]})\n`,
    );
    await started.host.context.models.item.collection.updateOne(
      { name: 'image 2.tif' },
      { $set: { 'largeImage.sourceName': 'tiff' } },
    );
  });

  it.each(['[1]', '["a"]', '[null]', '[{"width":20},[]]'])('ends in ERROR for the list %s, and makes nothing', async (spec) => {
    const job = await run(spec);
    expect(job.status).toBe(4);
    expect(job.log.at(-1)).toBe('Error creating large image thumbnails\n');
    expect(job.log.at(-2)).toMatch(/^Entry [12] of the spec is not a JSON object\.\n$/);
    expect(await count()).toBe(0);
  });

  it('has nothing to do for an empty list', async () => {
    expect((await run([])).log.at(-1)).toBe('Finished: Checked 0, created 0 thumbnail files\n');
  });

  // Many sizes, so that there is time to stop.
  const slow = Array.from({ length: 400 }, (_, i) => ({ width: 300 + i, encoding: 'PNG' }));

  it.each(['canceled', 'removed', 'set to ERROR'])('stops when it is %s', async (how) => {
    await started.host.settings.set('large_image.max_thumbnail_files', 1000);
    const id = String((await start(slow, { concurrent: '1', logInterval: '0' }))._id);
    await until('some are made', async () => Number(await count()) > 3);
    if (how === 'canceled') await admin.ok('PUT', `/job/${id}/cancel`);
    else if (how === 'removed') await admin.ok('DELETE', `/job/${id}`);
    else await started.host.jobs.updateStatus(id, 4);
    let fileCount = -1;
    await until('nothing is made anymore', async () => {
      const before = fileCount;
      fileCount = Number(await count());
      return fileCount === before;
    });
    expect(fileCount).toBeLessThan(2000);
    if (how === 'removed') return;
    const job = (await admin.ok('GET', `/job/${id}`)) as unknown as { status: number; log: string[] };
    expect(job.status).toBe(how === 'canceled' ? 5 : 4);
    expect(job.log.join('')).not.toContain('Finished');
  });

  it('shares the files with requests that arrive in the meantime', async () => {
    await started.host.settings.set('large_image.max_thumbnail_files', 1000);
    const spec = slow.slice(0, 4);
    const job = await start(spec, { concurrent: '2' });
    const requests = spec.flatMap((query) => items.map((item) => admin.send('GET', `/item/${item}/tiles/thumbnail`, { query })));
    const answers = await Promise.all(requests);
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    expect((await endedJob(admin, String(job._id))).status).toBe(3);
    expect(await count()).toBe(20);
  });
});
