/**
 * A server is killed at each step of each write of the plugin. Another process then finishes the write or leaves nothing of it.
 */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Mongoose, type Connection } from 'mongoose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { processName } from '../../../src/core/database/leases/process-name.js';
import { createReferenceHost, type ReferenceHost } from '../../../src/reference-host/index.js';
import { buildProgram } from '../../support/run/built-program.js';
import { pyramid } from '../../support/images/images.js';
import { killTogether, type KillOptions, type Victim } from '../../support/kills/kill-together.js';
import { annotationUploads, annotationWrites, finalWrites } from '../../support/kills/annotation-writes.js';
import { commentWrites } from '../../support/kills/comment-writes.js';
import { dicomWrites } from '../../support/kills/dicom-writes.js';
import { configurationFileSteps, conversionWrites, imageWrites, productWrites } from '../../support/kills/image-writes.js';
import { markerOf, newPlace, type Json, type Place, type PluginWrite } from '../../support/kills/plugin-writes.js';
import { Client, startHost, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

const writes: Record<string, PluginWrite> = {
  ...annotationWrites,
  ...commentWrites,
  ...imageWrites,
  ...dicomWrites,
  ...productWrites,
  ...finalWrites,
  ...conversionWrites,
  ...annotationUploads,
};
const permanentRemoval = 'the permanent removal of an annotation';
/** Steps after the requests, a list for each process: steps that come one after the other need separate processes. */
const laterRounds: [write: string, step: string][][] = [
  [
    ['a conversion', 'conversion:delivered'],
    ['a conversion to a new item', 'conversion:item-made'],
    ['uploaded annotations', 'annotation-upload:read'],
    [permanentRemoval, 'elements-sweep:claimed'],
  ],
  [
    ['a conversion', 'job:claimed'],
    ['the removal of a conversion', 'job:given-up'],
    [permanentRemoval, 'elements-sweep:removed'],
  ],
  [
    ['a conversion', 'conversion:converted'],
    ['uploaded annotations', 'annotation-upload:removed'],
    [permanentRemoval, 'elements-sweep:ended'],
  ],
  [
    ['a conversion', 'conversion:stored'],
    ['uploaded annotations that wait for others', 'annotation-upload:parked'],
  ],
  [
    ['a conversion', 'conversion:ended'],
    ['uploaded annotations of which the others have come', 'annotation-upload:started-again'],
  ],
  [
    ['a conversion to a new item', 'conversion:stored'],
    ['a conversion that fails', 'conversion:ended'],
  ],
  [['a conversion to a new item', 'conversion:file-completed']],
  [['a conversion', 'job:ended']],
];
const laterSteps = new Set(laterRounds.flat().map(([write, step]) => `${write} at ${step}`));

let program: Awaited<ReturnType<typeof buildProgram>>;
let started: TestHost;
let admin: Client;
let image: Buffer;
let configuration: string;
let database: Connection;
let killing: KillOptions;
const places = new Map<string, Place>();
const log: { event: string; fields: Json }[] = [];

async function victimOf(write: string, step: string, name = `${write} at ${step}`): Promise<Victim> {
  const place = places.get(name) ?? (await newPlace(admin, image));
  places.set(name, place);
  await writes[write]!.prepare?.(admin, place);
  const inBackground = laterSteps.has(name) && step !== 'job:given-up';
  const isAnswered = step.startsWith('elements-sweep');
  return { step, name, act: (client) => writes[write]!.act(client, place), inBackground, isAnswered };
}

async function victimsOf(chosen: Readonly<Record<string, PluginWrite>>): Promise<Victim[]> {
  const victims: Victim[] = [];
  for (const [write, { steps }] of Object.entries(chosen)) {
    for (const step of steps) if (!laterSteps.has(`${write} at ${step}`)) victims.push(await victimOf(write, step));
  }
  return victims;
}

const textAt = (step: string) => `[large_image]\n# ${step}\n`;
/** The contents of the configuration file after a kill. */
const configurationAfter = new Map<string, string>();
const configurationPath = () => join(configuration, 'server.cfg');
const configurationVictim = (step: string): Victim => ({
  step,
  name: 'the configuration file',
  act: (client) => client.ok('POST', '/large_image/config/replace', { query: { restart: false }, body: textAt(step) }),
});

const setHistory = (value: boolean) =>
  admin.ok('PUT', '/system/setting', { query: { key: 'large_image.annotation_history', value } });
const unfinished = { status: { $nin: [3, 4, 5] } };
const unfinishedJobs = () => database.collection('large_image_job').countDocuments(unfinished);
/** Jobs of the killed process. */
const orphanedJobs = () => {
  const owner = { $type: 'string', $not: new RegExp(`^${processName()}`) };
  return database.collection('large_image_job').countDocuments({ ...unfinished, 'run.owner': owner });
};

/** Lets this process finish what killed processes have left. */
async function recover(): Promise<void> {
  const { agenda } = started.host.host;
  await agenda.start();
  await until('no job is orphaned', async () => (await orphanedJobs()) === 0);
  await until('no job goes on', async () => (await unfinishedJobs()) === 0);
  await agenda.stop(false);
}

/** Items whose large images jobs have made. */
async function makeProducts(): Promise<void> {
  for (const [write, { steps }] of Object.entries(productWrites)) {
    for (const step of steps) {
      const place = await newPlace(admin, image);
      places.set(`${write} at ${step}`, place);
      await admin.ok('DELETE', `/item/${place.item}/tiles`);
      await admin.ok('POST', `/item/${place.item}/tiles`, { query: { force: true } });
    }
  }
  await until('all are converted', async () => (await unfinishedJobs()) === 0);
}

beforeAll(async () => {
  program = await buildProgram('test/support/programs/host-process', { holdsAtSteps: true });
  configuration = await mkdtemp(join(tmpdir(), 'configuration-'));
  // Only this has the reason why a job failed.
  const logger = { debug() {}, info() {}, warn() {}, error: (fields: object, event: string) => console.error(event, fields) };
  started = await startHost({ settings: { 'core.user_maximum_uploads': 0 }, logger });
  admin = await started.register('admin');
  image = await pyramid(300, 200);
  database = await new Mongoose().createConnection(started.databaseUri).asPromise();
  killing = { program: program.path, host: started, client: admin, env: { SERVICE_CONFIG: configurationPath() } };
  await makeProducts();
  // Jobs are for the processes that are killed, and for those that come after them.
  await started.host.host.agenda.stop(false);

  await writeFile(configurationPath(), textAt('start'));
  await admin.ok('PUT', '/system/setting', { query: { key: 'large_image.merge_dicom', value: true } });
  const configurationSteps = [...configurationFileSteps];
  const killAll = async (victims: readonly Victim[]) => {
    const step = configurationSteps.shift();
    await killTogether(killing, [...victims, ...(step === undefined ? [] : [configurationVictim(step)])]);
    if (step !== undefined) configurationAfter.set(step, await readFile(configurationPath(), 'utf8'));
  };
  await killAll([
    ...(await victimsOf({
      ...annotationWrites,
      ...commentWrites,
      ...imageWrites,
      ...dicomWrites,
      ...productWrites,
      ...conversionWrites,
      ...annotationUploads,
    })),
  ]);
  await recover();
  await setHistory(false);
  for (const round of laterRounds) {
    const victims = round === laterRounds[0] ? await victimsOf(finalWrites) : [];
    for (const [write, step] of round) victims.push(await victimOf(write, step));
    await killAll(victims);
    await recover();
  }
  await setHistory(true);
  await started.host.host.agenda.start();
});
afterAll(async () => {
  await database?.close();
  await started?.close();
  await program?.remove();
  await rm(configuration, { recursive: true, force: true });
});

describe.each(Object.entries(writes))('after %s that was killed', (write, { steps, check }) => {
  it.each(steps)('at %s, nothing is half done', (step) => check(admin, places.get(`${write} at ${step}`)!, step));
});

it.each([
  ['configuration:written', 'start'],
  ['configuration:saved', 'start'],
  ['configuration:replaced', 'configuration:replaced'],
])('at %s, the configuration file is whole', (step, text) => {
  expect(configurationAfter.get(step)).toBe(textAt(text));
});

describe('leftovers of killed processes', () => {
  let host: ReferenceHost;
  let item: string;

  beforeAll(async () => {
    await admin.ok('POST', '/annotation', { query: { itemId: (await newPlace(admin, image)).item }, json: { name: 'left' } });
    const victims = [
      await victimOf('a conversion', 'conversion:converted', 'a conversion that is left'),
      await victimOf('a new annotation', 'elements:stored', 'elements that are left'),
      // Everything that this write stored is in use, so a sweep removes nothing but its lease.
      await victimOf('a new annotation', 'annotation:inserted', 'a lease that is left'),
      await victimOf('a thumbnail', 'cached-file:claimed', 'a claim that is left'),
    ];
    victims[0]!.inBackground = true;
    item = places.get('a conversion that is left')!.item;
    await started.host.close();
    await killTogether(killing, [...victims, configurationVictim('configuration:written')]);
    // A process that takes the job over is also killed.
    await killTogether(killing, [{ name: 'a job taken from a dead process', step: 'job:released', inBackground: true }]);
    const write = (fields: object, event: string) => void log.push({ event, fields: fields as Json });
    host = await createReferenceHost({
      mongoUri: started.databaseUri,
      dataDirectory: started.dataDirectory,
      brand: 'girder',
      passwordMemoryKiB: 8,
      logger: { debug() {}, info: write, warn: write, error: write },
      install: { configFile: configurationPath() },
    });
    await until('the sweep has ended', () => log.some(({ event }) => event === 'Sweep:Done'));
    await until('no job is orphaned', async () => (await orphanedJobs()) === 0);
    await until('no job goes on', async () => (await unfinishedJobs()) === 0);
  });
  afterAll(() => host?.close());

  it('are swept at startup, with a count in the log', () => {
    const { fields } = log.find(({ event }) => event === 'Sweep:Done')!;
    expect(fields).toMatchObject({ why: 'start', full: true });
    expect(Object.keys(fields.removed as Json)).toEqual(
      expect.arrayContaining(['temporaryFiles', 'convertedFiles', 'abandonedItems', 'cachedFiles', 'annotationElements']),
    );
    expect(log.filter(({ event }) => event === 'Sweep:Failed')).toEqual([]);
  });

  it('include a job that two processes had started, which is finished', async () => {
    const { url } = await host.listen();
    expect(await markerOf(new Client(url, admin.token, admin.id), item)).toMatchObject({
      sourceName: 'tiff',
      fileId: expect.any(String),
    });
  });

  it('are removed: unreferenced elements, leases, marks, temporary files and processes', async () => {
    const collection = (name: string) => database.collection(`large_image_${name}`);
    const families = new Set<string>();
    for (const name of ['annotation', 'annotation_version']) {
      for (const family of await collection(name).distinct('elements.family')) families.add(String(family));
    }
    for (const kind of ['pack', 'window', 'part']) {
      const stored = (await collection(`annotation_element_${kind}`).distinct('family')).map(String);
      expect(
        stored.filter((family) => !families.has(family)),
        kind,
      ).toEqual([]);
    }
    expect(await collection('annotation_element_family').countDocuments({ 'leases.0': { $exists: true } })).toBe(0);
    const committed = (await collection('annotation_batch').distinct('_id', { state: 'committed' })).map(String);
    const lists = (await collection('annotation').distinct('batch', { batch: { $ne: null } })).map(String);
    expect(lists.filter((list) => !committed.includes(list))).toEqual([]);
    const versions = (await collection('annotation_version').distinct('annotationId')).map(String);
    const heads = (
      await collection('annotation')
        .find({}, { projection: { _id: 1 } })
        .toArray()
    ).map(({ _id }) => String(_id));
    expect(versions.filter((id) => !heads.includes(id))).toEqual([]);
    expect(await collection('lease').countDocuments()).toBe(0);
    expect(await collection('process').countDocuments()).toBe(1);
    const { models } = host.context;
    expect(await models.item.countDocuments({ 'largeImage.expected': true } as object)).toBe(0);
    for (const model of [models.item, models.file]) {
      expect(await model.collection.countDocuments({ largeImageConversionId: { $ne: null } })).toBe(0);
    }
    expect((await readdir(configuration)).filter((name) => name.includes('.tmp'))).toEqual([]);
    expect((await readdir(tmpdir())).filter((name) => /^large-image-[0-9a-f]{12}-/.test(name))).toEqual([]);
  });

  it('include no thumbnail of an image that the item no longer has, and none twice', async () => {
    const files = await host.context.models.file.collection.find({ isLargeImageThumbnail: true }).toArray();
    const names = files.map(({ attachedToId, thumbnailKey }) => `${String(attachedToId)} ${String(thumbnailKey)}`);
    expect(new Set(names).size).toBe(names.length);
    for (const { attachedToId, largeImageState } of files) {
      const item = (await host.context.models.item.findById(attachedToId).lean()) as { largeImage?: { fileId: unknown } } | null;
      expect(String(largeImageState).split(':')[0]).toBe(String(item?.largeImage?.fileId));
    }
  });
});
