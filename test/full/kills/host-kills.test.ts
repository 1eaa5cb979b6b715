/**
 * The process of the host is killed at each step of each write. Another process then finishes the write or leaves nothing of it,
 * and no byte is lost.
 */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createReferenceHost, type ReferenceHost } from '../../../src/reference-host/index.js';
import { buildProgram } from '../../support/run/built-program.js';
import { connectHostModels } from '../../support/hosts/host-models.js';
import { bodyOf, contents, hostWrites, minimumChunk, type Place } from '../../support/kills/host-writes.js';
import { killTogether, type KillOptions, type Victim } from '../../support/kills/kill-together.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

const logged: { event: string; fields: Record<string, unknown> }[] = [];
const places = new Map<string, Place>();
let started: TestHost;
let admin: Client;
let program: Awaited<ReturnType<typeof buildProgram>>;
let killing: KillOptions;

/** Creates a folder for a write, and what the write needs there. */
async function prepared(write: string, name: string): Promise<Place> {
  const collection = await admin.create('/collection', { name });
  const folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Root' });
  const place: Place = { name, collection, folder, body: bodyOf(), ids: {} };
  await hostWrites[write]!.prepare?.(admin, place);
  return place;
}

async function victimOf(write: string, step: string, name = `${write} at ${step}`): Promise<Victim> {
  const place = await prepared(write, name);
  places.set(name, place);
  return { step, name, act: (client) => hostWrites[write]!.act(client, place) };
}

async function countUndertakings(databaseUri: string): Promise<number> {
  const { models, close } = await connectHostModels(databaseUri);
  try {
    return await models.undertaking.countDocuments();
  } finally {
    await close();
  }
}

beforeAll(async () => {
  program = await buildProgram('test/support/programs/host-process', { holdsAtSteps: true });
  started = await startHost({
    settings: { 'core.upload_minimum_chunk_size': minimumChunk, 'core.user_maximum_uploads': 0 },
    // It recovers only when the cases below say so, not every half minute.
    upkeep: false,
  });
  admin = await started.register('admin');
  killing = { program: program.path, host: started, client: admin };
  const victims: Victim[] = [];
  for (const [write, { steps }] of Object.entries(hostWrites))
    for (const step of steps) victims.push(await victimOf(write, step));
  await killTogether(killing, victims);
  // A process that recovers from this is also killed.
  await killTogether({ ...killing, env: { UPKEEP: 'true' } }, [
    { name: 'the recovery', step: 'removal:recovered', inBackground: true },
  ]);
  // Another process does this within half a minute, and the same process when it is started again.
  await started.host.context.journal.recoverInterrupted();
});
afterAll(async () => {
  await started?.close();
  await program?.remove();
});

describe.each(Object.entries(hostWrites))('after %s that was killed', (write, { steps, check }) => {
  it.each(steps)('at %s, nothing is half done', (step) => check(admin, places.get(`${write} at ${step}`)!, step));
});

describe('after the killed registration of a file that is served in place', () => {
  it.each(['in-place:file', 'in-place:item'])('at %s, nothing is left, and the file is unchanged', async (step) => {
    const directory = await mkdtemp(join(tmpdir(), 'in-place-'));
    const path = join(directory, 'a.bin');
    await writeFile(path, 'bytes');
    try {
      const { folder } = await prepared('an upload in one request', `in place at ${step}`);
      await killTogether({ ...killing, env: { FOLDER: folder }, words: [path] }, [
        { name: 'a file in place', step, inBackground: true },
      ]);
      await started.host.context.journal.recoverInterrupted();
      expect(await contents(admin, folder)).toEqual([]);
      expect(await started.host.context.models.file.countDocuments({ 'storage.path': path })).toBe(0);
      expect(await readdir(directory)).toEqual(['a.bin']);
    } finally {
      await rm(directory, { recursive: true });
    }
  });
});

describe('leftovers of killed processes', () => {
  let host: ReferenceHost;
  /** Number of unfinished writes when the server started. */
  let unfinished = 0;

  beforeAll(async () => {
    await killTogether(killing, [
      await victimOf('the copy of an item', 'file:recorded', 'a copy that is left'),
      await victimOf('the configuration of a folder', 'storing:moved', 'bytes that are left'),
      await victimOf('the removal of a file', 'bytes:forgotten', 'a removal that is left'),
    ]);
    await started.host.close();
    // Now no process exists that could begin or end a write.
    unfinished = await countUndertakings(started.databaseUri);
    const log = (fields: object, event: string) => void logged.push({ event, fields: fields as Record<string, unknown> });
    host = await createReferenceHost({
      mongoUri: started.databaseUri,
      dataDirectory: started.dataDirectory,
      brand: 'girder',
      passwordMemoryKiB: 8,
      logger: { debug() {}, info: log, warn: log, error: log },
    });
    await until('the sweep has ended', () => logged.some(({ event }) => event === 'Host:Swept'));
  });
  afterAll(() => host?.close());

  it('are recovered from and swept at startup, with a count in the log', async () => {
    const swept = logged.find(({ event }) => event === 'Host:Swept')!;
    expect(Number(swept.fields.registrations)).toBeGreaterThan(0);
    expect(Number(swept.fields.bytes)).toBeGreaterThan(0);
    expect(unfinished).toBeGreaterThanOrEqual(2);
    expect(logged.find(({ event }) => event === 'Host:Recovered')!.fields).toEqual({ count: unfinished });
    expect(logged.filter(({ event }) => /Failed|Missing/.test(event))).toEqual([]);
  });

  it('are removed: bytes, registrations, notes, claims and processes', async () => {
    const { models, store, life } = host.context;
    expect(await models.undertaking.countDocuments()).toBe(0);
    expect(await models.claim.find({ process: { $ne: life.id } }).lean()).toEqual([]);
    expect((await models.hostProcess.find().lean()).map(({ _id }) => _id)).toEqual([life.id]);
    expect(await readdir(join(store.root, 'processes'))).toEqual([life.id]);
    expect(await models.upload.countDocuments()).toBe(0);
    expect(await readdir(join(store.root, 'uploads'))).toEqual([]);
    const files = await models.file.find().lean();
    const keys = files.flatMap(({ storage }) => (storage.kind === 'stored' ? [storage.key] : []));
    const onDisk = (await readdir(join(store.root, 'files'), { recursive: true })).flatMap((path) => path.split('/')[1] ?? []);
    expect(onDisk.toSorted()).toEqual([...new Set(keys)].toSorted());
    const recorded = (await models.blob.find().lean()).flatMap(({ _id, references }) =>
      references.map(({ fileId }) => `${_id} ${fileId.toHexString()}`),
    );
    const used = files.flatMap(({ _id, storage }) => (storage.kind === 'stored' ? [`${storage.key} ${_id.toHexString()}`] : []));
    expect(recorded.toSorted()).toEqual(used.toSorted());
  });

  it('do not include wrong sizes', async () => {
    const { models } = host.context;
    const [files, items] = await Promise.all([models.file.find().lean(), models.item.find().lean()]);
    const total = (sizes: readonly { size?: number }[]) => sizes.reduce((sum, { size = 0 }) => sum + size, 0);
    const wrong = [
      ...items.filter(({ _id, size }) => size !== total(files.filter(({ itemId }) => itemId?.equals(_id)))),
      ...(await models.folder.find().lean()).filter(
        ({ _id, size }) => size !== total(items.filter(({ folderId }) => folderId.equals(_id))),
      ),
      ...(await models.collection.find().lean()).filter(
        ({ _id, size }) => size !== total(items.filter(({ baseParentId }) => baseParentId.equals(_id))),
      ),
    ];
    expect(wrong.map(({ name, size }) => [name, size])).toEqual([]);
  });
});
