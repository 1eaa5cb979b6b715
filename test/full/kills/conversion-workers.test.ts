import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Mongoose, type Connection } from 'mongoose';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { builtProgram } from '../../support/run/programs.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

const children: ChildProcess[] = [];

describe('jobs in worker processes', () => {
  let started: TestHost;
  let originalTmpdir: string;
  let ownTmpdir: string;
  let admin: Client;
  let folder: string;
  let picture: Buffer;
  let database: Connection;

  async function startWorker(): Promise<ChildProcess> {
    const words = [builtProgram('host-worker'), started.databaseUri, started.dataDirectory];
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    let output = '';
    child.stdout!.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await until('worker ready', () => output.includes('ready'));
    return child;
  }
  const submit = async (query: Record<string, string | number | boolean>) => {
    const sending = { parentType: 'folder', parentId: folder, name: 'noise.png', size: picture.length };
    const item = String((await admin.ok('POST', '/file', { query: sending, body: picture })).itemId);
    await admin.ok('DELETE', `/item/${item}/tiles`);
    const job = await admin.ok('POST', `/item/${item}/tiles`, { query: { force: true, ...query } });
    return { item, id: String(job._id) };
  };
  const record = (id: string) => started.host.jobs.find(id, { log: true });
  const ended = (id: string, status: number) =>
    until(`status ${status}`, async () => {
      const job = await record(id);
      if (job?.status !== status) throw new Error(`it is ${job?.status}: ${job?.log?.join('')}`);
      return job;
    });
  const files = async (item: string) => (await admin.ok('GET', `/item/${item}/files`)).length;

  beforeAll(async () => {
    // Its own folder, in which no other test makes files.
    originalTmpdir = tmpdir();
    ownTmpdir = await mkdtemp(join(originalTmpdir, 'conversion-'));
    process.env.TMPDIR = ownTmpdir;
    started = await startHost();
    admin = await started.register('admin');
    database = await new Mongoose().createConnection(started.databaseUri).asPromise();
    const collection = await admin.create('/collection', { name: 'Images', public: true });
    folder = await admin.create('/folder', { parentType: 'collection', parentId: collection, name: 'Public', public: true });
    const noise = { type: 'gaussian' as const, mean: 128, sigma: 30 };
    picture = await sharp({ create: { width: 1500, height: 1500, channels: 3, background: '#fff', noise } })
      .png({ compressionLevel: 1 })
      .toBuffer();
    // This process serves and queues, and leaves the jobs to the others.
    await started.host.host.agenda.stop(false);
  });
  afterEach(async () => {
    for (const child of children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });
  afterAll(async () => {
    await database?.close();
    await started?.close();
    process.env.TMPDIR = originalTmpdir;
    await rm(ownTmpdir, { recursive: true, force: true });
  });

  /** Uploads a list of annotations. @returns the job that reads it */
  async function uploadAnnotations(item: string, annotations: unknown[]): Promise<string> {
    const body = Buffer.from(JSON.stringify(annotations));
    const reference = JSON.stringify({ identifier: 'LargeImageAnnotationUpload', itemId: item });
    const query = { parentType: 'item', parentId: item, name: 'a.json', size: body.length, reference };
    await admin.ok('POST', '/file', { query, body });
    const jobs = await admin.ok('GET', '/job/all', { query: { userId: 'None', types: '["large_image_annotation_upload"]' } });
    return String((jobs[0] as { _id: string })._id);
  }
  const packs = () => database.collection('large_image_annotation_element_pack').countDocuments();
  const points = (count: number) => Array.from({ length: count }, (_, x) => ({ type: 'point', center: [x, x, 0] }));

  it('are done exactly once, for conversions and uploaded annotations, even when a worker is killed', async () => {
    const workers = await Promise.all([startWorker(), startWorker()]);
    const long = await submit({ compression: 'zstd', level: 12 });
    const others = [await submit({}), await submit({ localJob: true })];
    const annotated = await admin.create('/item', { folderId: folder, name: 'annotated' });
    const names = ['a', 'b', 'c', 'd'];
    const upload = await uploadAnnotations(
      annotated,
      names.map((name) => ({ name, elements: points(15_000) })),
    );
    await until('some of the upload to be stored', async () => (await packs()) > 100);
    const owner = (await record(upload))?.run?.owner ?? '';
    // The job may have ended by now. Then any worker is killed.
    (workers.find(({ pid }) => owner.includes(`-${pid}-`)) ?? workers[0]).kill('SIGKILL');
    for (const { id, item } of [long, ...others]) {
      const job = await ended(id, 3);
      expect(job.results?.file).toHaveLength(1);
      expect(job.log?.filter((line) => line.startsWith('Finished'))).toHaveLength(1);
      expect(await files(item)).toBe(2);
    }
    await ended(upload, 3);
    const annotations = await admin.ok('GET', '/annotation', { query: { itemId: annotated, sort: 'annotation.name' } });
    expect(annotations).toMatchObject(names.map((name) => ({ annotation: { name }, _elementCount: 15_000 })));
    expect(await files(annotated)).toBe(0);
    // The killed worker leaves the files of its conversion, for an hour.
    const left = (await readdir(tmpdir())).filter((name) => name.startsWith('large-image-') && name.endsWith('.d'));
    expect(left.length).toBeLessThanOrEqual(1 + others.length);
  });

  it('stop when they are canceled in this process', async () => {
    await startWorker();
    const { id, item } = await submit({ compression: 'zstd', level: 14 });
    await until('it is converting', async () => Number((await record(id))?.progress?.current) >= 1);
    await admin.ok('PUT', `/job/${id}/cancel`);
    await until('the worker has let go', async () => (await record(id))?.run?.owner === null);
    await ended(id, 5);
    await until('no marker', async () => (await admin.ok('GET', `/item/${item}`)).largeImage === undefined);
    expect(await files(item)).toBe(1);
  });
});
