import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import mongoose from 'mongoose';
import { afterEach, describe, expect, it } from 'vitest';
import { OwnCollections } from '../../../src/core/database/own-collections.js';
import { createReferenceHost } from '../../../src/reference-host/index.js';
import { elementsOf } from '../../support/hosts/annotated.js';
import { dumpHost, restoreHost, type Dump } from '../../support/hosts/database-dump.js';
import { startTestDatabase } from '../../support/hosts/database.js';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { Client, startHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

/** Data stored by release 1.0. UPDATE_FIXTURES=1 writes it again; only do that with that release. */
const fixture = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'fixtures', 'stored-by-1.0.json');

/** Stores something of each kind. @returns their ids. */
async function store(admin: Client) {
  const folder = await newFolder(admin, 'Kept');
  const item = await uploadItem(admin, folder, 'kept.tif', await pyramid(300, 200));
  await until('a large image', async () => (await admin.ok('GET', `/item/${item}`)).largeImage !== undefined);
  await admin.ok('GET', `/item/${item}/tiles/histogram`);
  await admin.send('GET', `/item/${item}/tiles/thumbnail`, { query: { width: 40 } });
  const elements = [
    { type: 'point', center: [1, 2, 0], group: 'a' },
    {
      type: 'polyline',
      points: [
        [0, 0, 0],
        [9, 0, 0],
        [9, 9, 0],
      ],
      closed: true,
      user: { area: 40.5 },
    },
  ];
  const { _id: annotation } = await admin.ok('POST', '/annotation', {
    query: { itemId: item },
    json: { name: 'first', elements },
  });
  await admin.ok('PUT', `/annotation/${String(annotation)}`, { json: { name: 'second', elements: elements.slice(1) } });
  await admin.ok('PUT', '/system/setting', { query: { key: 'large_image.max_thumbnail_files', value: '7' } });
  return { item, annotation: String(annotation) };
}

/** Expects all of it to be stored. */
async function expectStored(url: string) {
  const password = Buffer.from('admin:admin.password').toString('base64');
  const anonymous = new Client(url, null, null);
  const { authToken } = await anonymous.ok('GET', '/user/authentication', { headers: { Authorization: `Basic ${password}` } });
  const admin = new Client(url, (authToken as { token: string }).token, null);
  const [item] = await admin.ok('GET', '/item', { query: { text: 'kept' } });
  const { _id } = item as { _id: string };
  expect(await admin.ok('GET', `/item/${_id}/tiles`)).toMatchObject({ sizeX: 300, sizeY: 200 });
  expect(await admin.ok('GET', `/item/${_id}/tiles/pixel`, { query: { left: 5, top: 5 } })).toHaveProperty('value');
  expect(await admin.ok('GET', '/large_image/thumbnails', { query: { spec: '[{"width":40}]' } })).toBe(1);
  expect(await admin.ok('GET', '/large_image/histograms')).toBe(1);
  const [annotation] = await admin.ok('GET', '/annotation', { query: { itemId: _id } });
  const { _id: annotationId } = annotation as { _id: string };
  const fullAnnotation = await admin.ok('GET', `/annotation/${annotationId}`);
  expect(fullAnnotation.annotation).toMatchObject({ name: 'second' });
  expect(elementsOf(fullAnnotation)).toMatchObject([{ type: 'polyline', user: { area: 40.5 } }]);
  const history = await admin.ok('GET', `/annotation/${annotationId}/history`);
  expect(history).toHaveLength(2);
  const former = await admin.ok(
    'GET',
    `/annotation/${annotationId}/history/${String((history[1] as { _version: number })._version)}`,
  );
  expect(elementsOf(former)).toHaveLength(2);
  expect(await admin.ok('GET', '/system/setting', { query: { key: 'large_image.max_thumbnail_files' } })).toBe(7);
}

describe('data stored by a server', () => {
  const undo: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const step of undo.splice(0).reverse()) await step();
  });

  /** Restores a dump to a database and a data folder. */
  async function restoreDump(dump: Dump) {
    const database = await startTestDatabase();
    undo.push(() => database.stop());
    const dataDirectory = await mkdtemp(join(tmpdir(), 'restored-'));
    undo.push(() => rm(dataDirectory, { recursive: true }));
    await restoreHost(dump, database.uri, dataDirectory);
    return { mongoUri: database.uri, dataDirectory, brand: 'girder', passwordMemoryKiB: 8 };
  }

  async function serve(options: Awaited<ReturnType<typeof restoreDump>>): Promise<string> {
    const host = await createReferenceHost(options);
    undo.push(() => host.close());
    return (await host.listen()).url;
  }

  it('is complete after it was restored from a backup', async () => {
    const started = await startHost();
    undo.push(() => started.close());
    await store(await started.register('admin'));
    const dump = await dumpHost(started.databaseUri, started.dataDirectory);
    if (process.env.UPDATE_FIXTURES === '1') await writeFile(fixture, `${JSON.stringify(dump)}\n`);
    await expectStored(await serve(await restoreDump(dump)));
  });

  it('is readable when release 1.0 has stored it', async () => {
    const dump = JSON.parse(await readFile(fixture, 'utf8')) as Dump;
    const pluginCollections = Object.entries(dump.collections).filter(([name]) => name.startsWith('large_image_'));
    expect(pluginCollections.length).toBeGreaterThan(5);
    for (const [name, documents] of pluginCollections) {
      const formats = (documents as { format?: { $numberInt: string } }[]).map(({ format }) => format?.$numberInt);
      expect([name, new Set(formats)]).toEqual([name, new Set(['1'])]);
    }
    await expectStored(await serve(await restoreDump(dump)));
  });

  it('of the reference host is left alone when a later release has stored it', async () => {
    const dump = JSON.parse(await readFile(fixture, 'utf8')) as Dump;
    const options = await restoreDump(dump);
    const host = await createReferenceHost(options);
    undo.push(() => host.close());
    const { hostState } = host.context.models;
    expect(await hostState.findById('format').lean()).toEqual({ _id: 'format', format: 1 });
    await hostState.updateOne({ _id: 'format' }, { $set: { format: 2 } });
    await expect(createReferenceHost(options)).rejects.toThrow(
      'The database contains documents of the reference host in format 2, which a later release has written; this release supports formats up to 1.',
    );
  });

  it('is left alone when a later release has stored it', async () => {
    const dump = JSON.parse(await readFile(fixture, 'utf8')) as Dump;
    const options = await restoreDump(dump);
    const connection = await mongoose.createConnection(options.mongoUri).asPromise();
    undo.push(() => connection.close());
    await connection.db!.collection('large_image_annotation').updateMany({}, { $set: { format: 2 } });
    await expect(new OwnCollections(connection).check()).rejects.toThrow(
      'The collection large_image_annotation contains documents of format 2, which a later release has written; this release supports formats up to 1.',
    );
  });

  it('does not appear in errors, which may be logged, when the database refuses it', async () => {
    const database = await startTestDatabase();
    undo.push(() => database.stop());
    const connection = await mongoose.createConnection(database.uri).asPromise();
    undo.push(() => connection.close());
    const packs = new OwnCollections(connection).collection<{ _id: string; text: string }>('annotation_element_pack');
    const pack = { _id: 'twice', text: 'a secret' };
    const writes = [
      () => packs.insertMany([pack, pack], { ordered: false }),
      () => packs.bulkWrite([{ replaceOne: { filter: { text: 'none' }, replacement: pack, upsert: true } }]),
    ];
    for (const write of writes) {
      const error: unknown = await write().catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: 11000 });
      expect(inspect(error, { depth: null })).not.toContain(pack.text);
      expect(JSON.stringify(error)).not.toContain(pack.text);
    }
  });
});
