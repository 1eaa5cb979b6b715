/** Recorded requests about items and folders, and the shape of the responses of the established implementation. */
import { existsSync, readFileSync } from 'node:fs';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sampleFile } from '../../support/images/data.js';
import { newFolder, uploadItem } from '../../support/images/images.js';
import { endedJob } from '../../support/jobs/job-status.js';
import { recordedBody } from '../../support/hosts/recorded-body.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

interface Example {
  name: string;
  request: { method: string; path: string; user: string | null; params?: Record<string, string> };
  status: number;
  body: { kind: string; json?: unknown; format?: string; width?: number; height?: number };
}

const file = '../shared/spec/examples.jsonl';
const names = ['CMU-1-Small-Region.svs', 'multi-channel-z-series.ome.tif', 'sample.jpg'] as const;
const samples = names.map(sampleFile);
const missing = existsSync(file) ? (samples.includes(null) ? 'a real image is not there' : null) : `${file} is not there`;
const recorded = new Map(
  (missing === null ? readFileSync(file, 'utf8').trim().split('\n') : []).map((line) => {
    const example = JSON.parse(line) as Example;
    return [example.name, example] as const;
  }),
);

let started: TestHost;
let users: Record<'admin' | 'user', Client>;
const ids: Record<string, string> = {};

async function replay(
  name: string,
  further: Record<string, string> = {},
): Promise<{ answer: Awaited<ReturnType<Client['send']>>; body: Example['body'] }> {
  const { request, status, body } = recorded.get(name)!;
  const path = request.path.replaceAll(/\{(\w+)\}/g, (_all, id: string) => ids[id]!);
  const client = request.user === null ? started.anonymous : users[request.user as 'admin' | 'user'];
  const answer = await client.send(request.method, path, { query: { ...request.params, ...further } });
  expect([answer.status, answer.status === status ? '' : answer.bytes.toString()]).toEqual([status, '']);
  return { answer, body };
}

/** A recorded value to compare with: ids, dates and other placeholders stand for anything. */
function shape(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shape);
  if (typeof value === 'string') {
    const filledIn = value.replaceAll(/<(\w+)>/g, (placeholder, id: string) => ids[id] ?? placeholder);
    return /<\w+>/.test(filledIn) ? expect.anything() : filledIn;
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, shape(member)]));
}

async function withoutImage(name: string, bytes: Uint8Array, folder: string): Promise<string> {
  const item = await uploadItem(users.admin, folder, name, bytes);
  await users.admin.ok('DELETE', `/item/${item}/tiles`);
  return item;
}

describe.skipIf(missing !== null)(`recorded responses about items${missing === null ? '' : ` (skipped: ${missing})`}`, () => {
  beforeAll(async () => {
    started = await startHost({ checksAnswers: true });
    const admin = await started.register('admin');
    users = { admin, user: await started.register('user') };
    Object.assign(ids, { admin: admin.id, user: users.user.id });
    const pub = await newFolder(admin, 'Pub', true);
    const conv = await newFolder(admin, 'Conv', true);
    Object.assign(ids, { conv, priv: await newFolder(admin, 'Priv') });
    const [svs, ome, jpg] = samples.map((path) => readFileSync(path!));
    for (const [id, bytes, name] of [
      ['svs', svs, names[0]],
      ['ome', ome, names[1]],
      ['jpg', jpg, names[2]],
    ] as const)
      ids[id] = await uploadItem(admin, pub, name, bytes!);
    Object.assign(ids, { k1: ids.jpg, k5: ids.ome });
    // Some of the items of the recorded folder: one that no source can read, one that is already a large image, and one in a
    // subfolder that is still to be made.
    await uploadItem(admin, conv, 'notes.txt', Buffer.from('text'));
    await uploadItem(admin, conv, 'done.jpg', jpg!);
    const below = await admin.create('/folder', { parentType: 'folder', parentId: conv, name: 'Below', public: true });
    await withoutImage('plain.jpg', jpg!, below);
  });
  afterAll(() => started?.close());

  it.each([
    'auth.anon.DELETE.large_image.associated_images',
    'auth.admin.GET.large_image.cache.clear',
    'thumbnails.get0.wh',
    'thumbnails.get1.notjson',
    'folder.as_user.priv',
    'folder.conv.9',
    'folder.conv.recurse',
    'create.exists',
  ])('%s is answered the same', async (name) => {
    const { answer, body } = await replay(name);
    expect(recordedBody(answer)).toEqual(shape(body.json));
  });

  it.each(['quad.ome.0', 'quad.svs.6', 'quad.jpg.1'])('%s lays the frames out the same', async (name) => {
    const { answer, body } = await replay(name);
    // The metadata come from the source, which may report more or less.
    const { metadata: _ours, ...ours } = answer.body;
    const { metadata: _theirs, ...theirs } = body.json as Record<string, unknown>;
    expect(ours).toEqual(theirs);
  });

  it.each(['frames.ome.0', 'frames.ome.11'])('%s makes a picture of the same size', async (name) => {
    const { answer, body } = await replay(name);
    expect(await sharp(answer.bytes).metadata()).toMatchObject({ width: body.width, height: body.height });
  });

  it.each(['hist.svs.0', 'hist.ome.12'])('%s counts the same values when pixels are mixed as Girder does', async (name) => {
    // By default, samples are not scaled before they are counted, so the results describe the stored samples.
    const { answer, body } = await replay(name, { resample: '1' });
    const bands = answer.body as unknown as Record<'mean' | 'stdev' | 'samples' | 'bins' | 'min' | 'max', number>[];
    for (const [i, band] of bands.entries()) {
      const recorded = (body.json as typeof bands)[i]!;
      expect(Object.keys(band).toSorted()).toEqual(Object.keys(recorded).toSorted());
      expect([band.samples, band.bins]).toEqual([recorded.samples, recorded.bins]);
      // Samples of int8 stay as they are; Girder adds 128.
      const added = name === 'hist.ome.12' ? 128 : 0;
      expect(Math.abs(band.mean + added - recorded.mean)).toBeLessThan(1);
      expect(Math.abs(band.stdev - recorded.stdev)).toBeLessThan(2);
    }
    const plain = (await replay(name)).answer.body as unknown as typeof bands;
    expect(plain.map(({ samples, bins }) => [samples, bins])).toEqual(bands.map(({ samples, bins }) => [samples, bins]));
  });

  it('create.opt.0 begins a job, which ends as recorded; the same file is converted into a new item', async () => {
    const [source] = (await users.admin.ok('GET', `/item/${ids.k1}/files`)).map((entry) =>
      String((entry as { _id: string })._id),
    );
    await users.admin.ok('DELETE', `/item/${ids.k1}/tiles`);
    await replay('create.opt.8.internal');
    const created = await replay('create.opt.0');
    // Users who may not read the item may not see its jobs; in the recorded responses they are public.
    const isPrivate = { public: false };
    const { status: _status, timestamps: _times, ...known } = created.body.json as Record<string, unknown>;
    expect(created.answer.body).toMatchObject({ ...(shape(known) as object), ...isPrivate });
    const ended = await endedJob(users.admin, String(created.answer.body._id));
    ids.k1_file = source!;
    const { log, progress, ...end } = recorded.get('create.opt.0.job')!.body.json as Record<string, unknown>;
    expect(ended).toMatchObject({
      ...(shape(end) as object),
      ...isPrivate,
      progress: { message: (progress as { message: string }).message },
    });
    expect(ended.log.at(-1)).toBe((log as string[]).at(-1));

    const converted = await replay('convert.11');
    const { status: _s, timestamps: _t, ...conversion } = converted.body.json as Record<string, unknown>;
    expect(converted.answer.body).toMatchObject({ ...(shape(conversion) as object), ...isPrivate });
    expect(await endedJob(users.admin, String(converted.answer.body._id))).toMatchObject({ status: 3 });
  });
});
