import mongoose from 'mongoose';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { closeSpecimenServer, openSpecimenServer, specimenHost } from '../../../examples/host-adapter.js';
import { install, type InstallOptions } from '../../../src/index.js';
import { collectionNames } from '../../../src/core/database/own-collections.js';
import { startTestDatabase } from '../../support/hosts/database.js';
import { plainSlide, startSpecimens, type InstalledSpecimens } from '../../support/hosts/installed-specimens.js';
import { until } from '../../support/run/until.js';

type Json = Record<string, unknown>;

const longAgo = new Date('2001-01-01');
const id = (letter: string) => new mongoose.Types.ObjectId(letter.repeat(24));

/** Documents that look as if the plugin had written and forgotten them, or that it cannot understand. */
const lookalikes: Json[] = [
  { _id: 'a text', name: 'theirs', batch: 'theirs', state: 'aborted', at: longAgo, created: longAgo, updated: longAgo },
  {
    _id: id('a'),
    itemId: 'e'.repeat(24),
    _active: false,
    updated: longAgo,
    created: longAgo,
    head: '{}',
    access: { users: [{ id: 'somebody', level: 2 }], groups: [] },
    public: true,
    creatorId: 'somebody',
  },
  { _id: id('b'), family: id('c'), leases: [], sweeping: null, claim: null, value: 99 },
  {
    _id: 12,
    batch: id('d').toHexString(),
    family: { of: 'theirs' },
    public: true,
    status: 2,
    run: { owner: 'x' },
    type: 'theirs',
  },
  { _id: 'b'.repeat(24), state: 'committed', at: longAgo, next: longAgo, elements: 'none', batch: ['theirs'] },
];
const strange = lookalikes.map((lookalike, n): Json => ({
  ...lookalike,
  annotationId: 'e'.repeat(24),
  _version: n,
  digest: `theirs ${n}`,
  key: `large_image.${n === 2 ? 'max_thumbnail_files' : n}`,
}));

/** Every document of these collections that the plugin has not written. */
async function othersIn(server: InstalledSpecimens['server'], names: readonly string[]): Promise<Record<string, unknown[]>> {
  const db = server.mongoose.connection.getClient().db();
  const entries = names.map(async (name) => {
    const docs = await db.collection(name).find({ plugin: null }).toArray();
    return [name, docs.map((doc) => JSON.stringify(doc)).sort()] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Uses everything that the plugin stores, and makes it clean up. */
async function useEverything(specimens: InstalledSpecimens): Promise<void> {
  const { server, installation, api } = specimens;
  await server.Badges.create({ secret: 'curator', person: 'curator' });
  const headers = { Authorization: 'Bearer curator', 'Content-Type': 'application/json' };
  const send = async (method: string, path: string, json?: unknown) => {
    const body = json === undefined ? {} : { body: JSON.stringify(json) };
    const answer = await fetch(`${api}${path}`, { method, headers, ...body });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Json;
  };
  const { specimen } = await specimens.addSpecimen('slide.tif', await plainSlide({ r: 9, g: 99, b: 9 }));
  const elements = Array.from({ length: 50 }, (_, x) => ({ type: 'point', center: [x, x, 0] }));
  const { _id } = await send('POST', `/annotation?itemId=${specimen}`, { name: 'one', elements });
  await send('POST', `/annotation/item/${specimen}`, [{ name: 'two', elements }, { name: 'three' }]);
  await send('PUT', `/annotation/${String(_id)}`, { name: 'changed', elements: elements.slice(1) });
  await send('DELETE', `/annotation/${String(_id)}`);
  await installation.settings.set('large_image.max_thumbnail_files', 4);
  expect(await installation.settings.get('large_image.max_thumbnail_files')).toBe(4);
  const job = await send('PUT', '/large_image/thumbnails?spec=[{"width":64}]');
  await until('the job has ended', async () => Number((await send('GET', `/job/${String(job._id)}`)).status) === 3);
  const old = () => send('GET', '/annotation/old?age=0&versions=0');
  // The version that was just removed is swept soon after the response.
  await until('no version is abandoned', async () => (await old()).abandonedVersions === 0);
  expect(await old()).toMatchObject({
    abandonedVersions: 0,
    fromDeletedItems: 0,
    active: 2,
  });
  await send('DELETE', '/annotation/old?age=7&versions=0');
  await send('DELETE', '/large_image/thumbnails');
  expect(await send('GET', '/annotation')).toHaveLength(2);
  expect(await send('GET', '/job/all')).toHaveLength(1);
  expect(await send('GET', '/job/typeandstatus/all')).toEqual({ types: [job.type], statuses: [3] });
  await send('DELETE', `/job/${String(job._id)}`);
}

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

describe('a server with its own collections', () => {
  const names = ['annotation', 'annotationelement', 'annotation_version', 'job', 'setting', 'notification', 'schedule'];
  let specimens: InstalledSpecimens;
  beforeAll(async () => {
    const seed = async (server: InstalledSpecimens['server']) => {
      for (const name of names) await server.mongoose.connection.collection(name).insertMany(structuredClone(strange) as never);
    };
    let seeded: Promise<void> = Promise.resolve();
    specimens = await startSpecimens(
      (_host, server) => {
        seeded = seed(server);
        return {};
      },
      { annotationCleanupMs: 50, env: {} },
    );
    await seeded;
    await specimens.server.agenda.start();
  });
  afterAll(async () => {
    await specimens?.server.agenda.stop();
    await specimens?.close();
  });

  it('keeps every document in them, whatever the plugin does and cleans up', async () => {
    const { server } = specimens;
    const before = await othersIn(server, names);
    expect(before.annotation).toHaveLength(strange.length);
    const collections = async () => (await server.mongoose.connection.listCollections()).map(({ name }) => name);
    await useEverything(specimens);
    expect(await othersIn(server, names)).toEqual(before);
    const serverNames = new Set(['cabinets', 'specimens', 'blobs', 'badges', 'agendaJobs', 'agenda_logs', ...names]);
    const others = (await collections()).filter((name) => !serverNames.has(name));
    expect(others.filter((name) => !name.startsWith('large_image_'))).toEqual([]);
    expect(others.toSorted()).toEqual(
      others.filter((name) => collectionNames.some((collectionName) => name === `large_image_${collectionName}`)).toSorted(),
    );
  });

  it("keeps and ignores documents of others in the plugin's collections", async () => {
    const { server } = specimens;
    const pluginCollections = collectionNames.map((name) => `large_image_${name}`);
    const db = server.mongoose.connection.getClient().db();
    for (const name of pluginCollections)
      await db
        .collection(name)
        .insertMany(structuredClone(strange) as never, { ordered: false })
        .catch(() => undefined);
    const before = await othersIn(server, pluginCollections);
    for (const name of pluginCollections) expect(before[name]!.length, name).toBeGreaterThan(2);
    await server.Badges.deleteMany({});
    await db.collection('large_image_annotation').deleteMany({ plugin: 'large_image' });
    await useEverything(specimens);
    expect(await othersIn(server, pluginCollections)).toEqual(before);
  });
});

describe('fields of the server that have the names of those of the plugin', () => {
  it('keep their values', async () => {
    const specimens = await startSpecimens();
    undo.push(() => specimens.close());
    const { server, api } = specimens;
    await server.Badges.create({ secret: 'curator', person: 'curator' });
    const headers = { Authorization: 'Bearer curator' };
    const { specimen } = await specimens.addSpecimen('slide.tif', await plainSlide({ r: 9, g: 99, b: 9 }));
    const theirs = { largeImage: { url: 'somewhere' }, conversionJobId: 'e'.repeat(24) };
    const _id = new server.mongoose.Types.ObjectId(specimen);
    await server.Specimens.collection.updateOne({ _id }, { $set: theirs });
    const answers = [];
    for (const [method, path] of [
      ['GET', `/item/${specimen}/tiles`],
      ['POST', `/item/${specimen}/tiles`],
      ['DELETE', `/item/${specimen}/tiles`],
      ['DELETE', '/large_image/tiles/incomplete'],
    ] as const) {
      answers.push((await fetch(`${api}${path}`, { method, headers })).status);
    }
    expect(answers.slice(0, 2)).toEqual([400, 400]);
    expect(Math.max(...answers)).toBeLessThan(500);
    expect(await server.Specimens.collection.findOne({ _id })).toMatchObject(theirs);
  });

  it('are refused by install when the server declares them differently', async () => {
    const database = await startTestDatabase();
    undo.push(() => database.stop());
    const server = await openSpecimenServer(database.uri);
    undo.push(() => closeSpecimenServer(server));
    await server.agenda.ready;
    server.Blobs.schema.add({ thumbnailKey: Number } as never);
    const before = Object.keys(server.Specimens.schema.paths);
    await expect(install(specimenHost(server), { env: {} })).rejects.toThrow('The model Blob already has a field thumbnailKey');
    expect(Object.keys(server.Specimens.schema.paths)).toEqual(before);
  });
});

describe('install', () => {
  /** An empty server, and a function that installs the plugin on it. */
  const openServer = async () => {
    const database = await startTestDatabase();
    undo.push(() => database.stop());
    const server = await openSpecimenServer(database.uri);
    undo.push(() => closeSpecimenServer(server));
    await server.agenda.ready;
    const start = async (options: InstallOptions = {}) => {
      const installation = await install(specimenHost(server), { env: {}, ...options });
      undo.push(() => installation.close());
      return installation;
    };
    return { server, start };
  };
  const state = async ({ mongoose: { connection } }: InstalledSpecimens['server']) => {
    const db = connection.getClient().db();
    const allNames = (await connection.listCollections()).map(({ name }) => name);
    const collections = allNames.filter((name) => name.startsWith('large_image_')).toSorted();
    return Promise.all(
      collections.map(async (name) => [name, await db.collection(name).indexes(), await db.collection(name).find().toArray()]),
    );
  };

  it('refuses collections with documents of other programs, names them, and changes nothing', async () => {
    const { server, start } = await openServer();
    const { connection } = server.mongoose;
    const db = connection.getClient().db();
    const [first] = strange;
    for (const name of ['annotation', 'job', 'lease']) {
      await db.collection(`large_image_${name}`).insertOne({ ...first } as never);
      const before = await state(server);
      await expect(start()).rejects.toMatchObject({
        code: 'conflict',
        message: expect.stringContaining(`large_image_${name} contains`) as string,
      });
      expect(await state(server)).toEqual(before);
      expect(Object.keys(connection.collections).filter((each) => each.startsWith('large_image_'))).toEqual([]);
      await db.collection(`large_image_${name}`).drop();
    }
    await start();
  });

  it('finds a single document of another program among its own, the oldest or the newest', async () => {
    const { server, start } = await openServer();
    const installation = await start();
    await installation.settings.set('large_image.max_thumbnail_files', 3);
    await installation.close();
    const settings = server.mongoose.connection.getClient().db().collection('large_image_setting');
    const [first] = strange;
    for (const _id of [1, new mongoose.Types.ObjectId('f'.repeat(24))]) {
      await settings.insertOne({ ...first, _id } as never);
      await expect(start()).rejects.toThrow(`such as ${String(_id)}.`);
      await settings.deleteOne({ _id: _id as never });
    }
    expect(await (await start()).settings.get('large_image.max_thumbnail_files')).toBe(3);
  });

  it('accepts another prefix next to such collections', async () => {
    const { server, start } = await openServer();
    const { connection } = server.mongoose;
    const [first] = strange;
    await connection
      .getClient()
      .db()
      .collection('large_image_job')
      .insertOne({ ...first } as never);
    const installation = await start({ collectionPrefix: 'slides_' });
    await installation.settings.set('large_image.max_thumbnail_files', 3);
    const names = (await connection.listCollections()).map(({ name }) => name);
    expect(names).toContain('slides_setting');
    expect(names.filter((name) => name.startsWith('large_image_'))).toEqual(['large_image_job']);
    await installation.close();
    for (const collectionPrefix of ['', 'system.', 'a$', 'a\0', 'x'.repeat(61)]) {
      await expect(start({ collectionPrefix })).rejects.toThrow('collectionPrefix must be');
    }
  });

  it('refuses a collection that a model of the server uses, and adds nothing to documents of that model', async () => {
    const { server, start } = await openServer();
    const { connection } = server.mongoose;
    await (await start()).close();
    const mine = connection.model('Mine', new mongoose.Schema({ any: String }), 'large_image_annotation');
    await expect(start()).rejects.toThrow("large_image_annotation belongs to the server's own model Mine");
    await mine.create({ any: 'thing' });
    expect(await connection.collection('large_image_annotation').findOne({ any: 'thing' })).not.toHaveProperty('plugin');
  });
});
