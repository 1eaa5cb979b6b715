import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import express from 'express';
import { Mongoose } from 'mongoose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { closeSpecimenServer, openSpecimenServer, specimenHost, type SpecimenServer } from '../../../examples/host-adapter.js';
import { install, InvalidHostError, startWorker, type Host, type InstallOptions } from '../../../src/index.js';
import { startTestDatabase } from '../../support/hosts/database.js';
import { listen } from '../../support/hosts/listening.js';
import { until } from '../../support/run/until.js';
import { casesOf } from '../../support/run/sample.js';

/** Mistakes of developers, some of which the compiler would also find. */
type Wrong = { [K in keyof Host]?: unknown };

/** Collects garbage now. */
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('install', () => {
  let server: SpecimenServer;
  let host: Host;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    const database = await startTestDatabase();
    stop = database.stop;
    server = await openSpecimenServer(database.uri);
    host = specimenHost(server);
  });
  afterAll(async () => {
    await closeSpecimenServer(server);
    await stop();
  });

  /** Runs work with a server that has other models and another database. */
  const elsewhere = async (work: (other: SpecimenServer) => Promise<void>): Promise<void> => {
    const database = await startTestDatabase();
    const other = await openSpecimenServer(database.uri);
    try {
      await work(other);
    } finally {
      await closeSpecimenServer(other);
      await database.stop();
    }
  };

  const refused = async (change: Wrong, text: RegExp): Promise<void> => {
    const before = Object.keys(server.Specimens.schema.paths);
    const failure = await install({ ...host, ...change } as Host, { env: {} }).then(
      () => null,
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(InvalidHostError);
    expect((failure as Error).message).toMatch(text);
    expect(Object.keys(server.Specimens.schema.paths)).toEqual(before);
  };

  it.each<[string, Wrong, RegExp]>([
    ['no app', { app: undefined }, /^install: app is missing\./],
    ['no agenda', { agenda: undefined }, /^install: agenda is missing\./],
    ['an invalid agenda', { agenda: {} }, /^install: agenda\.define is not a function\./],
    ['no auth', { auth: undefined }, /^install: auth is missing\./],
    ['auth without verify', { auth: {} }, /^install: auth\.verify is not a function\./],
    [
      'strategies without a caller',
      { auth: { strategies: [{ authenticate() {} }] } },
      /^install: auth\.caller is not a function\./,
    ],
    [
      'no strategies',
      { auth: { strategies: [], caller() {} } },
      /^install: auth\.strategies is not a list of Passport strategies\./,
    ],
    ['an invalid strategy', { auth: { strategies: [{}], caller() {} } }, /^install: auth\.strategies\[0\]\.authenticate is no/],
    [
      'both verify and strategies',
      { auth: { strategies: [{ authenticate() {} }], caller() {}, verify() {} } },
      /^install: auth has both verify and strategies\./,
    ],
    ['no access', { access: undefined }, /^install: access is missing\./],
    ['access without a filter', { access: { level: () => 0 } }, /^install: access\.filter is not a function\./],
    [
      'files that cannot be removed',
      { files: { localPath() {}, read() {}, create() {} } },
      /^install: files\.remove is not a function\./,
    ],
    ['a directory without groups', { directory: { users() {} } }, /^install: directory\.groups is not a function\./],
    ['a logger that only warns', { logger: { warn() {} } }, /^install: logger\.debug is not a function\./],
    ['a restart that is a command', { restart: 'reboot' }, /^install: host\.restart is not a function\./],
    ['no mongoose', { mongoose: undefined }, /^install: mongoose is missing\./],
    [
      'models of another mongoose',
      { mongoose: new Mongoose() },
      /^install: models\.item was compiled by a Mongoose instance other/,
    ],
    ['no models', { models: undefined }, /^install: models is missing\./],
    ['an apiRoot with a trailing slash', { apiRoot: '/api/v1/' }, /^install: apiRoot is "\/api\/v1\/"\. Give a literal path/],
    ['an apiRoot without a slash', { apiRoot: 'api' }, /^install: apiRoot is "api"\. Give a literal path/],
    ['no apiRoot', { apiRoot: undefined }, /^install: apiRoot is undefined\. Give a literal path/],
    ['an address as apiRoot', { apiRoot: 'https://host/api' }, /^install: apiRoot is "https:/],
    ['a pattern as apiRoot', { apiRoot: '/api/:version' }, /^install: apiRoot is "\/api\/:version"\. Give a literal path/],
    [
      'an apiRoot that Express cannot read',
      { apiRoot: '/api/(v1)' },
      /^install: apiRoot is "\/api\/\(v1\)"\. Give a literal path/,
    ],
    ['an apiRoot that no client can request', { apiRoot: '/api/..' }, /^install: apiRoot is "\/api\/\.\."\. Give a literal path/],
    ['a brand of several words', { brand: 'my server' }, /^install: brand is "my server"\. Give a word/],
    ['a brand that is not text', { brand: 5 }, /^install: brand is 5\. Give a word/],
    ['events that are a text', { events: 'all' }, /^install: events is not an object\. Give an object with on /],
    [
      'a sweep that is a text',
      { files: { localPath() {}, read() {}, create() {}, remove() {}, sweep: 'x' } },
      /^install: files\.sweep /,
    ],
    [
      'a tree that is a folder',
      { files: { localPath() {}, read() {}, create() {}, remove() {}, tree: {} } },
      /^install: files\.tree is not a function\./,
    ],
    ['replaced metadata as a flag', { metadataReplaced: true }, /^install: host\.metadataReplaced is not a function\./],
    [
      'a mistyped field',
      { fields: { item: { titel: 'title' } } },
      /^install: fields\.item\.titel is unknown\. Known are name, folderId,/,
    ],
    ['fields of another record', { fields: { user: { name: 'login' } } }, /^install: fields\.user is unknown\./],
  ])('refuses %s', (_name, change, text) => refused(change, text));

  it('says so when there is no host', async () => {
    for (const nothing of [undefined, null] as unknown as Host[]) {
      for (const begin of [install, startWorker]) {
        await expect(begin(nothing)).rejects.toThrow(/^install: the host is missing\. Call install\(host\) with an adapter/);
      }
    }
  });

  it('refuses a missing model, fields that the schemas lack, and ids of a different kind', async () => {
    const { models, fields } = host;
    await refused({ models: { ...models, file: undefined } }, /^install: models\.file is not a compiled Mongoose model\./);
    await refused({ fields: undefined }, /^install: models\.item has no field "name"\. Add it, or say in fields\.item\.name/);
    await refused(
      { fields: { ...fields, file: { ...fields?.file, size: 'lenght' } } },
      /^install: fields\.file\.size is "lenght", which the schema of models\.file lacks\./,
    );
    const { Schema } = server.mongoose;
    const named = server.mongoose.model('Named', new Schema({ _id: String, title: String, cabinet: String }));
    await refused({ models: { ...models, item: named } }, /^install: models\.item has _ids of type String\./);
    const ofOtherConnection = server.mongoose.createConnection().model('Elsewhere', new Schema({ title: String }));
    await refused({ models: { ...models, folder: ofOtherConnection } }, /^install: models are on several connections\./);
  });

  const raw = { name: 'raw', extensions: { default: 12, raw8: 1 }, mimeTypes: { default: 12 }, open() {} };
  it.each<[string, unknown, string]>([
    ['a source instead of a list', { tileSources: raw }, "the option tileSources is { name: 'raw', "],
    ['a source that does not open', { tileSources: [{ ...raw, open: undefined }] }, 'The tile source raw has no function open('],
    ['a source without types', { tileSources: [{ ...raw, mimeTypes: undefined }] }, 'The tile source raw: mimeTypes is missing'],
    ['types without a default', { tileSources: [{ ...raw, mimeTypes: {} }] }, 'The tile source raw: mimeTypes lacks "default"'],
    [
      'an extension with a dot',
      { tileSources: [{ ...raw, extensions: { default: 12, '.RAW8': 1 } }] },
      'The tile source raw: extensions has ".RAW8"; extensions must be in lower case, without a dot.',
    ],
    [
      'two sources with one name',
      { tileSources: [raw, { ...raw }] },
      'the option tileSources has two sources with the name raw. Remove or rename one of them.',
    ],
    ['no processes', { processes: 0 }, 'the option processes is 0. Give a whole number of at least 1.'],
    ['a mistyped option', { tileSource: [raw] }, 'the option tileSource is unknown. Known are tileSources, cacheBackend, '],
    [
      'an unknown cache',
      { cacheBackend: 'memcached' },
      "the option cacheBackend is 'memcached'. Give 'memory', 'redis' or 'none'.",
    ],
    ['a negative number', { maxOpenSources: -1 }, 'the option maxOpenSources is -1. Give a whole number of at least 0.'],
    ['a fraction', { tileCacheBytes: 1.5 }, 'the option tileCacheBytes is 1.5. Give a whole number of at least 0.'],
    ['no number', { annotationCleanupMs: NaN }, 'the option annotationCleanupMs is NaN. Give a number of at least 0.'],
    ['an unknown queue', { queues: { picture: { running: 1, waiting: 1 } } }, 'the option queues is { picture: { running: 1, '],
    [
      'a queue that runs nothing',
      { queues: { tiles: { running: 0, waiting: 1 } } },
      'the option queues is { tiles: { running: 0, ',
    ],
    ['no options', null, 'the second argument is not an object. Give options, or nothing.'],
  ])('refuses %s among the options', async (_name, options, text) => {
    for (const begin of [install, startWorker]) {
      const failure = await begin(host, options as InstallOptions).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(InvalidHostError);
      expect((failure as Error).message).toContain(`install: ${text}`);
    }
  });

  it('refuses models whose connection is not open, and waits for one that is being opened', async () => {
    const database = await startTestDatabase();
    const mongoose = new Mongoose();
    const model = (name: string) =>
      mongoose.model(name, new mongoose.Schema({ name: String, folderId: 'ObjectId', itemId: 'ObjectId', size: Number }));
    const unconnected = {
      mongoose,
      models: { item: model('Item'), file: model('File'), folder: model('Folder') },
      fields: undefined,
      app: express(),
    };
    const notOpen = /^install: models are on a connection that is not open\. Call mongoose\.connect first\.$/;
    await refused(unconnected, notOpen);
    await mongoose.connect(database.uri);
    await mongoose.disconnect();
    await refused(unconnected, notOpen);
    const connecting = mongoose.connect(database.uri);
    const installation = await install({ ...host, ...unconnected } as Host, { env: {} });
    await installation.close();
    await connecting;
    await mongoose.disconnect();
    await database.stop();
  });

  it('refuses a second installation on the same models, or at the same path', async () => {
    const first = await install(host, { env: {} });
    try {
      await refused({ app: express() }, /^install: models\.item already has an installation\./);
      await expect(startWorker(host, { env: {} })).rejects.toThrow(/^install: models\.item already has an installation\./);
      await elsewhere((other) =>
        expect(install({ ...specimenHost(other), app: host.app }, { env: {} })).rejects.toThrow(
          /^install: the app already has an installation at \/specimens\/api\./,
        ),
      );
    } finally {
      await first.close();
    }
  });

  it('refuses an application whose earlier route catches everything', async () => {
    const app = express();
    app.use((_request, response) => void response.status(404).send('Not found'));
    await refused({ app }, /^install: a route that was added earlier answers \/specimens\/api with 404/);
    const page = express();
    page.get('*all', (_request, response) => void response.send('<!doctype html>'));
    await refused({ app: page }, /^install: a route that was added earlier answers \/specimens\/api with 200/);
  });

  it('accepts an application that requires a token first', async () => {
    const app = express();
    app.use((request, response, next) => (request.headers.authorization ? next() : void response.status(401).end()));
    const installation = await install({ ...host, app }, { env: {} });
    await installation.close();
  });

  it('leaves nothing behind when it is repeatedly installed and closed', async () => {
    const app = express();
    const layers = () => app.router.stack.length;
    const hooks = () => {
      const { s } = server.Blobs.schema as unknown as { s: { hooks: { _pres: Map<string, unknown[]> } } };
      return [...s.hooks._pres.values()].reduce((sum, list) => sum + list.length, 0);
    };
    const installed: WeakRef<object>[] = [];
    const installOnce = async () => {
      const installation = await install({ ...host, app }, { env: {}, annotationCleanupMs: 0 });
      installed.push(new WeakRef(installation.jobs));
      await installation.close();
    };
    for (let i = 0; i < 3; i++) await installOnce();
    const before = {
      layers: layers(),
      hooks: hooks(),
      models: server.mongoose.modelNames(),
      jobs: Object.keys(server.agenda.definitions),
    };
    expect(before.hooks).toBeGreaterThan(0);
    for (let i = 0; i < casesOf(97); i++) await installOnce();
    expect({
      layers: layers(),
      hooks: hooks(),
      models: server.mongoose.modelNames(),
      jobs: Object.keys(server.agenda.definitions),
    }).toEqual(before);
    await until('nothing refers to what was closed', () => {
      collectGarbage();
      // Pending promises may still refer to the last one.
      return installed.filter((reference) => reference.deref() !== undefined).length <= 1;
    });
    const installation = await install({ ...host, app }, { env: {} });
    const listening = await listen(app);
    expect((await fetch(`${listening.url}${host.apiRoot}/large_image/settings`)).status).toBe(200);
    await installation.close();
    expect((await fetch(`${listening.url}${host.apiRoot}/large_image/settings`)).status).toBe(404);
    await listening.close();
  });
});
