/** Requests about many things are answered before clients stop waiting, and their work continues if needed. */
import { Types } from 'mongoose';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { answerLimitMs } from '../../../src/core/concurrency/answer-in-time.js';
import type { FileDocument } from '../../../src/reference-host/files/file.model.js';
import type { ItemDocument } from '../../../src/reference-host/tree/item.model.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

let started: TestHost;
let admin: Client;
let folder: string;
const realNow = performance.now.bind(performance);
/** How far the clock is ahead. It never goes back, because timers would then wait that much longer. */
let aheadMs = 0;
/** Called with each event of the log. */
let onEvent: (event: string) => void = () => undefined;

beforeAll(async () => {
  performance.now = () => realNow() + aheadMs;
  const onLog = (_fields: object, event?: string) => onEvent(event ?? '');
  started = await startHost({ logger: { info: onLog, warn: onLog, error: onLog, debug: onLog } });
  await started.swept();
  admin = await started.register('admin');
  const collection = await admin.create('/collection', { name: 'Many' });
  folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Root' });
});
afterAll(async () => {
  await started?.close();
  performance.now = realNow;
});
afterEach(() => {
  onEvent = () => undefined;
  vi.restoreAllMocks();
});

it('the answer about a folder counts the large images made so far, and names the job for the rest', async () => {
  const top = await admin.create('/folder', { parentType: 'folder', parentId: folder, name: 'Top' });
  for (const name of ['first', 'second']) {
    const below = await admin.create('/folder', { parentType: 'folder', parentId: top, name });
    for (const parentId of [below, top]) {
      for (const number of [1, 2]) {
        const query = { parentType: 'folder', parentId, name: `${name} ${number}.txt`, size: 5 };
        await admin.ok('POST', '/file', { query, body: 'words' });
      }
    }
  }
  const createImages = async (): Promise<Record<string, unknown>> =>
    admin.ok('PUT', `/large_image/folder/${top}/tiles`, { query: { recurse: true } });
  const answer = await createImages();
  expect(answer).toMatchObject({ childFoldersRecursed: 2, largeImagesNotCreated: 8, totalItems: 8 });
  expect(answer).not.toHaveProperty('jobId');

  // The clock goes on by a minute while the third item is handled, in the second folder.
  let handled = 0;
  onEvent = (event) => {
    if (event === 'LargeImage:NotCreated' && ++handled === 3) aheadMs = 60_000;
  };
  const { jobId, ...counted } = await createImages();
  expect(counted).toEqual({ ...answer, largeImagesNotCreated: 3, totalItems: 3 });
  const job = await until('the job has ended', async () => {
    const job = await admin.ok('GET', `/job/${String(jobId)}`);
    return Number(job.status) >= 3 && job;
  });
  const log = job.log as unknown as string[];
  expect(log.at(-1)).toBe(`Finished: ${JSON.stringify(answer)}\n`);
  expect(handled).toBe(8);
});

it('copies of a folder with many items are refused before anything is made', async () => {
  const full = await admin.create('/folder', { parentType: 'folder', parentId: folder, name: 'Full' });
  const { models } = started.host.context;
  const items = Array.from({ length: 5001 }, () => ({ _id: new Types.ObjectId(), folderId: new Types.ObjectId(full) }));
  await models.item.collection.insertMany(items as never);
  const answer = await admin.fails('POST', `/folder/${full}/copy`, { query: { name: 'Copy' } });
  expect(answer).toMatchObject({ status: 400, message: expect.stringContaining('at most 5000') });
  const folders = (await admin.ok('GET', '/folder', {
    query: { parentType: 'folder', parentId: folder, name: 'Copy' },
  })) as unknown[];
  expect(folders).toEqual([]);
  await models.item.collection.deleteMany({ folderId: new Types.ObjectId(full) });
});

it('too many resources are refused before any is moved, and repeated ones count once', async () => {
  const item = await admin.create('/item', { folderId: folder, name: 'Named often' });
  const target = await admin.create('/folder', { parentType: 'folder', parentId: folder, name: 'Target' });
  const query = { parentType: 'folder', parentId: target };
  const several = Array.from({ length: 501 }, () => new Types.ObjectId().toHexString());
  for (const [method, path] of [
    ['PUT', '/resource/move'],
    ['POST', '/resource/copy'],
  ] as const) {
    const resources = JSON.stringify({ item: [item, ...several] });
    const answer = await admin.fails(method, path, { query, form: { resources } });
    expect(answer).toMatchObject({ status: 400, message: expect.stringContaining('At most 500 resources') });
  }
  await admin.ok('PUT', '/resource/move', {
    query,
    form: { resources: JSON.stringify({ item: Array.from({ length: 501 }, () => item) }) },
  });
  expect(await admin.ok('GET', `/item/${item}`)).toMatchObject({ folderId: target, name: 'Named often' });
});

it('removals continue after clients would have timed out', async () => {
  const names = Array.from({ length: 12 }, (_, i) => `Removed ${i}`);
  const items: string[] = [];
  for (const name of names) items.push(await admin.create('/item', { folderId: folder, name }));
  const wait = globalThis.setTimeout;
  const shortenAnswerTime = (call: () => void, ms?: number) => wait(call, ms === answerLimitMs ? 1 : ms);
  const timers = vi.spyOn(globalThis, 'setTimeout').mockImplementation(shortenAnswerTime as typeof setTimeout);
  // The removals are recorded together. They wait for something that happens only after the response.
  const { models, journal } = started.host.context;
  let continueWork = () => {};
  const waiting = new Promise<void>((resolve) => (continueWork = resolve));
  const undertake = journal.undertake.bind(journal);
  const holding = vi.spyOn(journal, 'undertake').mockImplementation(async (undertaking, work) => {
    if (undertaking.kind === 'item-removals') await waiting;
    return undertake(undertaking, work);
  });
  try {
    await admin.ok('DELETE', '/resource', { form: { resources: JSON.stringify({ item: items }) } });
    await until('it has begun', () => holding.mock.calls.some(([{ kind }]) => kind === 'item-removals'));
  } finally {
    timers.mockRestore();
    continueWork();
  }
  const ids = items.map((id) => new Types.ObjectId(id));
  await until('all are removed', async () => (await models.item.countDocuments({ _id: { $in: ids } })) === 0);
});

it('named resources are looked up together, and none is removed when one is not permitted', async () => {
  const items: string[] = [];
  for (let i = 0; i < 20; i++) items.push(await admin.create('/item', { folderId: folder, name: `Together ${i}` }));
  const { models } = started.host.context;
  const spies = (['find', 'findOne'] as const).map((name) => vi.spyOn(models.item.collection, name));
  const missing = new Types.ObjectId().toHexString();
  const answer = await admin.fails('DELETE', '/resource', { form: { resources: JSON.stringify({ item: [...items, missing] }) } });
  expect(answer).toMatchObject({ status: 400, message: expect.stringContaining(missing) });
  expect(spies.flatMap(({ mock }) => mock.calls).length).toBeLessThan(20);
  vi.restoreAllMocks();
  const stranger = await started.register('together');
  const refused = await stranger.fails('DELETE', '/resource', { form: { resources: JSON.stringify({ item: items }) } });
  expect(refused.status).toBe(403);
  expect(await models.item.countDocuments({ _id: { $in: items } })).toBe(20);
});

it('the files of an archive are looked up together', async () => {
  const parentId = await admin.create('/folder', { parentType: 'folder', parentId: folder, name: 'Archived' });
  const query = { parentType: 'folder', parentId, name: '00.txt', size: 5 };
  const createdFile = await admin.ok('POST', '/file', { query, body: 'words' });
  const { file, item } = started.host.context.models;
  const firstFile = await file.findById(String(createdFile._id)).lean<FileDocument>();
  const firstItem = await item.findById(String(createdFile.itemId)).lean<ItemDocument>();
  for (let i = 1; i < 20; i++) {
    const [_id, name] = [new Types.ObjectId(), `${String(i).padStart(2, '0')}.txt`];
    await item.collection.insertOne({ ...firstItem!, _id, name });
    await file.collection.insertOne({ ...firstFile!, _id: new Types.ObjectId(), itemId: _id, name });
  }
  const spies = [file, item].flatMap(({ collection }) => [vi.spyOn(collection, 'find'), vi.spyOn(collection, 'findOne')]);
  const { status, bytes } = await admin.send('GET', `/folder/${parentId}/download`);
  expect([status, bytes.subarray(30, 45).toString(), bytes.readUInt16LE(bytes.length - 12)]).toEqual([
    200,
    'Archived/00.txt',
    20,
  ]);
  // Other work of the server may also send queries. One by one, twenty files would need twenty queries.
  expect(spies.flatMap(({ mock }) => mock.calls).length).toBeLessThan(20);
});
