/** A server is killed at each step of each write of the plugin; another process then finishes it or leaves nothing. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Mongoose, type Connection } from 'mongoose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createReferenceHost, type ReferenceHost } from '../../src/reference-host/index.js';
import { elementsOf, point } from '../support/annotated.js';
import { buildProgram } from '../support/built-program.js';
import { newFolder, pyramid, uploadItem } from '../support/images.js';
import { Client, startHost, type Answer, type TestHost } from '../support/reference-host.js';
import { stepsEnvironment } from '../support/steps.js';
import { until } from '../support/until.js';

type Json = Record<string, unknown>;

/** What one case works on. */
interface Place {
  folder: string;
  item: string;
  /** Id of what was prepared. */
  made: string;
}

interface Write {
  steps: readonly string[];
  prepare?: (client: Client, place: Place) => Promise<unknown>;
  /** The request during which, or after which, the process dies. */
  act: (client: Client, place: Place) => Promise<unknown>;
  /** What must be there afterwards, whatever the step. */
  check: (client: Client, place: Place) => Promise<void>;
}

const before = 300;
const points = (count: number, lineWidth: number) => Array.from({ length: count }, (_, x) => point(x, { lineWidth }));
const annotate = (client: Client, item: string, json: unknown) =>
  client.ok('POST', '/annotation', { query: { itemId: item }, json });
const annotated = async (client: Client, place: Place) => {
  place.made = String((await annotate(client, place.item, { name: 'a', elements: points(before, 1) }))._id);
};
const listed = (client: Client, { item }: Place) =>
  client.ok('GET', '/annotation', { query: { itemId: item, limit: 0 } }) as unknown as Promise<Json[]>;
/** Number and line widths of the elements of an annotation. */
const shape = async (client: Client, id: unknown): Promise<[number, ...unknown[]]> => {
  const elements = elementsOf(await client.ok('GET', `/annotation/${String(id)}`));
  return [elements.length, ...new Set(elements.map(({ lineWidth }) => lineWidth))];
};
const shapeIsOneOf = async (client: Client, id: unknown, ...shapes: [number, ...unknown[]][]) => {
  expect(shapes).toContainEqual(await shape(client, id));
};

const annotationWrites: Record<string, Write> = {
  'a new annotation': {
    steps: ['elements:begun', 'elements:inserted', 'elements:stored', 'annotation:inserted', 'elements:released'],
    act: (client, { item }) => annotate(client, item, { name: 'a', elements: points(before, 1) }),
    async check(client, place) {
      const made = await listed(client, place);
      expect(made.length).toBeLessThanOrEqual(1);
      for (const { _id } of made) expect(await shape(client, _id)).toEqual([before, 1]);
    },
  },
  'a list of annotations': {
    steps: ['annotation:inserted', 'annotation:list-committed'],
    act: (client, { item }) =>
      client.ok('POST', `/annotation/item/${item}`, { json: ['a', 'b', 'c'].map((name) => ({ name, elements: points(20, 1) })) }),
    async check(client, place) {
      const made = await listed(client, place);
      expect([0, 3]).toContain(made.length);
      for (const { _id } of made) expect(await shape(client, _id)).toEqual([20, 1]);
    },
  },
  'added elements': {
    steps: [
      'elements:held',
      'elements:inserted',
      'elements:stored',
      'annotation:kept',
      'annotation:replaced',
      'elements:released',
    ],
    prepare: annotated,
    act: (client, { made }) => client.ok('POST', `/annotation/${made}/elements`, { json: points(50, 1) }),
    async check(client, { made }) {
      await shapeIsOneOf(client, made, [before, 1], [before + 50, 1]);
      // Nobody waits for who was killed.
      const begun = Date.now();
      await client.ok('POST', `/annotation/${made}/elements`, { json: points(1, 1) });
      expect(Date.now() - begun).toBeLessThan(5000);
      await shapeIsOneOf(client, made, [before + 1, 1], [before + 51, 1]);
    },
  },
  'a replaced annotation': {
    steps: ['annotation:kept', 'annotation:replaced'],
    prepare: annotated,
    act: (client, { made }) => client.ok('PUT', `/annotation/${made}`, { json: { name: 'b', elements: points(100, 2) } }),
    check: (client, { made }) => shapeIsOneOf(client, made, [before, 1], [100, 2]),
  },
  'a restored version': {
    steps: ['elements:held', 'annotation:replaced'],
    async prepare(client, place) {
      await annotated(client, place);
      await client.ok('PUT', `/annotation/${place.made}`, { json: { name: 'b', elements: points(100, 2) } });
    },
    act: (client, { made }) => client.ok('PUT', `/annotation/${made}/history/revert`),
    check: (client, { made }) => shapeIsOneOf(client, made, [before, 1], [100, 2]),
  },
  'a copy': {
    steps: ['elements:held', 'annotation:inserted'],
    prepare: annotated,
    act: (client, { made, item }) => client.ok('POST', `/annotation/${made}/copy`, { query: { itemId: item } }),
    async check(client, place) {
      for (const { _id } of await listed(client, place)) expect(await shape(client, _id)).toEqual([before, 1]);
    },
  },
};

const removal: Write = {
  steps: ['annotation:removed', 'annotation:former-removed', 'elements-sweep:claimed', 'elements-sweep:removed'],
  prepare: annotated,
  act: (client, { made }) => client.ok('DELETE', `/annotation/${made}`),
  async check(client, { made }) {
    const { status } = await client.send('GET', `/annotation/${made}`);
    if (status === 200) await shapeIsOneOf(client, made, [before, 1]);
  },
};

const key = '{"height":16,"width":16}';
const kept = async (client: Client, { item }: Place): Promise<unknown[]> => client.ok('GET', `/item/${item}/tiles/thumbnails`);

const imageWrites: Record<string, Write> = {
  'a thumbnail': {
    steps: ['cached-file:claimed', 'cached-file:stored', 'cached-file:released'],
    act: (client, { item }) => client.send('GET', `/item/${item}/tiles/thumbnail`, { query: { width: 100 } }),
    async check(client, place) {
      const begun = Date.now();
      const { status } = await client.send('GET', `/item/${place.item}/tiles/thumbnail`, { query: { width: 100 } });
      expect(status).toBe(200);
      expect(Date.now() - begun).toBeLessThan(5000);
      expect(await kept(client, place)).toHaveLength(1);
    },
  },
  'a thumbnail that a client sends': {
    steps: ['cached-file:stored', 'cached-file:former-removed'],
    prepare: (client, { item }) => client.ok('POST', `/item/${item}/tiles/thumbnails`, { query: { key }, body: 'old' }),
    act: (client, { item }) => client.ok('POST', `/item/${item}/tiles/thumbnails`, { query: { key }, body: 'new' }),
    async check(client, place) {
      const [newest] = await kept(client, place);
      const { bytes } = await client.send('GET', `/file/${String((newest as Json)._id)}/download`);
      expect(['old', 'new']).toContain(bytes.toString());
    },
  },
  'the removal of a large image': {
    steps: ['removal:released', 'cached-file:revoked'],
    prepare: (client, { item }) => client.send('GET', `/item/${item}/tiles/thumbnail`),
    act: (client, { item }) => client.ok('DELETE', `/item/${item}/tiles`),
    async check(client, { item }) {
      const { largeImage } = await client.ok('GET', `/item/${item}`);
      expect((await client.send('GET', `/item/${item}/tiles`)).status).toBe(largeImage === undefined ? 400 : 200);
    },
  },
  'the configuration file': {
    steps: ['configuration:written', 'configuration:replaced'],
    act: (client) => client.ok('PUT', '/large_image/config/replace', { query: { restart: false }, body: '[large_image]\n' }),
    check: async () => {},
  },
};

let program: Awaited<ReturnType<typeof buildProgram>>;
let started: TestHost;
let admin: Client;
let image: Buffer;
let configuration: string;
let database: Connection;
const log: { event: string; fields: Json }[] = [];

async function makePlace(): Promise<Place> {
  const folder = await admin.create('/folder', { parentType: 'user', parentId: admin.id!, name: `place ${++places}` });
  return { folder, item: await uploadItem(admin, folder, 'image.tif', image), made: '' };
}
let places = 0;

/** Starts a server, sends it the request, and waits until it has died at the step. */
async function kill(act: Write['act'], place: Place, step: string): Promise<void> {
  const env = { ...process.env, ...stepsEnvironment({ killAt: step }), SERVICE_CONFIG: join(configuration, 'server.cfg') };
  const words = [program.path, started.databaseUri, started.dataDirectory];
  const child = spawn(process.execPath, words, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>;
  try {
    const first: unknown[] = await Promise.race([once(child.stdout, 'data'), ended]);
    const outcome: unknown = await act(new Client(String(first[0]).trim(), admin.token, admin.id), place).catch(
      (error: unknown) => error,
    );
    const late = once(AbortSignal.timeout(30_000), 'abort').then(() => [null, 'nothing']);
    const [, signal] = await Promise.race([ended, late]);
    if (signal !== 'SIGKILL') throw new Error(`${step} was not reached, but ${JSON.stringify(outcome)}`);
  } finally {
    child.kill('SIGKILL');
  }
}

const setHistory = (value: boolean) =>
  admin.ok('PUT', '/system/setting', { query: { key: 'large_image.annotation_history', value } });

beforeAll(async () => {
  program = await buildProgram('host-process');
  configuration = await mkdtemp(join(tmpdir(), 'configuration-'));
  started = await startHost();
  admin = await started.register('admin');
  image = await pyramid();
  await newFolder(admin, 'Images');
  database = await new Mongoose().createConnection(started.databaseUri).asPromise();
  // Jobs are for the processes that are killed, and for those that come after them.
  await started.host.host.agenda.stop(false);
});
afterAll(async () => {
  await database?.close();
  await started?.close();
  await program?.remove();
  await rm(configuration, { recursive: true, force: true });
});

describe.each(Object.entries({ ...annotationWrites, ...imageWrites }))('after %s that was killed', (_, write) => {
  it.each(write.steps)('at %s, nothing is half done', async (step) => {
    const place = await makePlace();
    await write.prepare?.(admin, place);
    await kill(write.act, place, step);
    await write.check(admin, place);
  });
});

describe('after the removal of an annotation for good that was killed', () => {
  beforeAll(() => setHistory(false));
  afterAll(() => setHistory(true));

  it.each(removal.steps)('at %s, nothing is half done', async (step) => {
    const place = await makePlace();
    await removal.prepare?.(admin, place);
    await kill(removal.act, place, step);
    await removal.check(admin, place);
  });
});

const marker = async (client: Client, { item }: Place) =>
  (await client.ok('GET', `/item/${item}`)).largeImage as Json | undefined;
const filesOf = (client: Client, { item }: Place) => client.ok('GET', `/item/${item}/files`);
const servesOneOfItsFiles = async (client: Client, place: Place) => {
  const served = await marker(client, place);
  const ids = (await filesOf(client, place)).map((file) => (file as Json)._id);
  expect(ids).toContain(served?.fileId);
  expect((await client.send('GET', `/item/${place.item}/tiles/zxy/0/0/0`)).status).toBe(200);
};
/** The item shows its image again, and has one file of the conversion at most. */
const isConverted = async (client: Client, place: Place) => {
  await until('the marker is right', async () => (await marker(client, place))?.expected === undefined, 30_000);
  if ((await marker(client, place)) !== undefined) await servesOneOfItsFiles(client, place);
  const count = (await filesOf(client, place)).length;
  expect([1, 2]).toContain(count);
};
const converted = async (client: Client, place: Place) => {
  await client.ok('DELETE', `/item/${place.item}/tiles`);
  const job = await client.ok('POST', `/item/${place.item}/tiles`, { query: { force: true } });
  await started.host.host.agenda.start();
  await until('a conversion', async () => (await client.ok('GET', `/job/${String(job._id)}`)).status === 3, 60_000);
  await started.host.host.agenda.stop(false);
};
const uploadAnnotations = (client: Client, { item }: Place) => {
  const body = Buffer.from(JSON.stringify([{ name: 'a', elements: points(before, 1) }]));
  const reference = JSON.stringify({ identifier: 'LargeImageAnnotationUpload', itemId: item });
  const query = { parentType: 'item', parentId: item, name: 'a.json', size: body.length, reference };
  return client.ok('POST', '/file', { query, body });
};

const jobWrites: Record<string, Write> = {
  'a conversion': {
    steps: [
      'creation:job-stored',
      'creation:marked',
      'job:queued',
      'job:entered',
      'job:claimed',
      'conversion:converted',
      'conversion:stored',
      'conversion:delivered',
      'conversion:ended',
    ],
    prepare: (client, { item }) => client.ok('DELETE', `/item/${item}/tiles`),
    act: (client, { item }) => client.ok('POST', `/item/${item}/tiles`, { query: { force: true } }),
    check: isConverted,
  },
  'a conversion that fails': {
    steps: ['conversion:ended'],
    async prepare(client, place) {
      place.item = await uploadItem(client, place.folder, 'broken.tif', image.subarray(0, 2000));
      await client.send('DELETE', `/item/${place.item}/tiles`);
    },
    act: (client, { item }) => client.ok('POST', `/item/${item}/tiles`, { query: { force: true } }),
    async check(client, place) {
      await until('nobody waits', async () => (await marker(client, place)) === undefined, 30_000);
      expect(await filesOf(client, place)).toHaveLength(1);
    },
  },
  'a conversion to a new item': {
    steps: ['conversion:item-made', 'conversion:stored', 'conversion:file-completed'],
    act: (client, { item, folder }) =>
      client.ok('POST', `/item/${item}/tiles/convert`, { query: { folderId: folder, name: 'copy.tiff' } }),
    async check(client, { folder }) {
      const copies = () => client.ok('GET', '/item', { query: { folderId: folder, name: 'copy.tiff' } });
      const isWhole = async () => {
        const [copy, ...others] = (await copies()) as unknown as Json[];
        if (copy === undefined || others.length > 0) throw new Error(`There are ${others.length} others.`);
        return ((await client.ok('GET', `/item/${String(copy._id)}/files`)) as Answer['body']).length === 1;
      };
      await until('one copy', isWhole, 30_000);
    },
  },
  'a new large image in the place of another': {
    steps: ['creation:product-marked', 'creation:replaced'],
    prepare: converted,
    act: (client, { folder }) =>
      client.ok('PUT', `/large_image/folder/${folder}/tiles`, { query: { redoExisting: true, createJobs: false } }),
    check: servesOneOfItsFiles,
  },
  'the removal of a converted image': {
    steps: ['creation:product-marked', 'removal:canceled'],
    prepare: converted,
    act: (client, { item }) => client.ok('DELETE', `/item/${item}/tiles`),
    async check(client, place) {
      if ((await marker(client, place)) !== undefined) return servesOneOfItsFiles(client, place);
      await until('the file of the conversion is gone', async () => (await filesOf(client, place)).length === 1);
    },
  },
  'uploaded annotations': {
    steps: ['annotation-upload:job-stored', 'annotation-upload:read', 'annotation-upload:removed'],
    act: uploadAnnotations,
    async check(client, place) {
      await until('they are read', async () => (await listed(client, place)).length > 0, 30_000);
      const made = await listed(client, place);
      expect(made).toHaveLength(1);
      expect(await shape(client, made[0]!._id)).toEqual([before, 1]);
      await until('the upload is gone', async () => (await filesOf(client, place)).length === 1);
    },
  },
};

const unfinishedJobs = () => database.collection('large_image_job').countDocuments({ status: { $nin: [3, 4, 5] } });

describe.each(Object.entries(jobWrites))('after %s that was killed', (_, write) => {
  it.each(write.steps)('at %s, another process ends it within seconds', { timeout: 120_000 }, async (step) => {
    const place = await makePlace();
    await write.prepare?.(admin, place);
    await kill(write.act, place, step);
    const begun = Date.now();
    await started.host.host.agenda.start();
    try {
      await until('no job goes on', async () => (await unfinishedJobs()) === 0, 60_000);
      await write.check(admin, place);
    } finally {
      await started.host.host.agenda.stop(false);
    }
    // Not after a lease of 15 s; what the machine does meanwhile comes on top.
    expect(Date.now() - begun).toBeLessThan(30_000);
  });
});

describe('what killed processes have left', () => {
  let host: ReferenceHost;

  beforeAll(async () => {
    await started.host.close();
    const write = (fields: object, event: string) => void log.push({ event, fields: fields as Json });
    host = await createReferenceHost({
      mongoUri: started.databaseUri,
      dataDirectory: started.dataDirectory,
      brand: 'girder',
      logger: { debug() {}, info: write, warn: write, error: write },
      install: { configFile: join(configuration, 'server.cfg') },
    });
    await until('the sweep has ended', () => log.some(({ event }) => event === 'Sweep:Done'));
  });
  afterAll(() => host?.close());

  it('is swept at the start, with a count in the log', () => {
    const { fields } = log.find(({ event }) => event === 'Sweep:Done')!;
    expect(fields).toMatchObject({ why: 'start', whole: true });
    expect(Object.keys(fields.removed as Json)).toEqual(
      expect.arrayContaining(['temporaryFiles', 'convertedFiles', 'abandonedItems', 'cachedFiles', 'annotationElements']),
    );
    expect(log.filter(({ event }) => event === 'Sweep:Failed')).toEqual([]);
  });

  it('is gone: elements of no version, leases, marks, temporary files, processes', async () => {
    const own = (name: string) => database.collection(`large_image_${name}`);
    const families = new Set<string>();
    for (const name of ['annotation', 'annotation_version']) {
      for (const family of await own(name).distinct('elements.family')) families.add(String(family));
    }
    for (const kind of ['pack', 'window', 'index']) {
      const stored = (await own(`annotation_element_${kind}`).distinct('family')).map(String);
      expect(
        stored.filter((family) => !families.has(family)),
        kind,
      ).toEqual([]);
    }
    expect(await own('annotation_element_family').countDocuments({ 'holds.0': { $exists: true } })).toBe(0);
    expect(await own('annotation').countDocuments({ batch: { $ne: null } })).toBe(0);
    const versions = (await own('annotation_version').distinct('annotationId')).map(String);
    const heads = (
      await own('annotation')
        .find({}, { projection: { _id: 1 } })
        .toArray()
    ).map(({ _id }) => String(_id));
    expect(versions.filter((id) => !heads.includes(id))).toEqual([]);
    expect(await own('cached_file_claim').countDocuments()).toBe(0);
    expect(await own('process').countDocuments()).toBe(1);
    const { models } = host.context;
    expect(await models.item.countDocuments({ 'largeImage.expected': true } as object)).toBe(0);
    for (const model of [models.item, models.file]) {
      expect(await model.collection.countDocuments({ largeImageConversionId: { $ne: null } })).toBe(0);
    }
    expect((await readdir(configuration)).filter((name) => name.includes('.tmp'))).toEqual([]);
    expect((await readdir(tmpdir())).filter((name) => /^large-image-[0-9a-f]{12}-/.test(name))).toEqual([]);
  });

  it('are no pictures of what an item does not show, and none twice', async () => {
    const files = await host.context.models.file.collection.find({ isLargeImageThumbnail: true }).toArray();
    const names = files.map(({ attachedToId, thumbnailKey }) => `${String(attachedToId)} ${String(thumbnailKey)}`);
    expect(new Set(names).size).toBe(names.length);
    for (const { attachedToId, largeImageState } of files) {
      const item = (await host.context.models.item.findById(attachedToId).lean()) as { largeImage?: { fileId: unknown } } | null;
      expect(String(largeImageState).split(':')[0]).toBe(String(item?.largeImage?.fileId));
    }
  });
});
