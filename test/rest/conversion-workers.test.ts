import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { startHost, type Client, type TestHost } from '../support/reference-host.js';
import { until } from '../support/until.js';

const workerFile = fileURLToPath(new URL('../support/host-worker.ts', import.meta.url));
const children: ChildProcess[] = [];

describe('conversions in worker processes', { timeout: 150_000 }, () => {
  let started: TestHost;
  let admin: Client;
  let folder: string;
  let picture: Buffer;

  async function startWorker(): Promise<ChildProcess> {
    const words = ['--import', 'tsx', workerFile, started.databaseUri, started.dataDirectory];
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    let output = '';
    child.stdout!.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await until('worker ready', () => output.includes('ready'), 60_000);
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
  const ended = (id: string, status: number, timeoutMs = 90_000) =>
    until(
      `status ${status}`,
      async () => {
        const job = await record(id);
        if (job?.status !== status) throw new Error(`it is ${job?.status}: ${job?.log?.join('')}`);
        return job;
      },
      timeoutMs,
    );
  const files = async (item: string) => (await admin.ok('GET', `/item/${item}/files`)).length;

  beforeAll(async () => {
    // A place of its own, in which nobody else makes files.
    process.env.TMPDIR = await mkdtemp(join(tmpdir(), 'conversion-'));
    started = await startHost();
    admin = await started.register('admin');
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
  afterAll(() => started?.close());

  it('run each exactly once, and a worker that is killed loses none', async () => {
    const [doomed] = await Promise.all([startWorker(), startWorker()]);
    const long = await submit({ compression: 'zstd', level: 12 });
    const others = [await submit({}), await submit({ localJob: true })];
    await until(
      'the long one is running',
      async () => (await record(long.id))?.run?.owner?.includes(`:${doomed.pid}:`) === true,
      5000,
    ).catch(() => undefined);
    doomed.kill('SIGKILL');
    for (const { id, item } of [long, ...others]) {
      const job = await ended(id, 3);
      expect(job.results?.file).toHaveLength(1);
      expect(job.log?.filter((line) => line.startsWith('Finished'))).toHaveLength(1);
      expect(await files(item)).toBe(2);
    }
    expect((await readdir(tmpdir())).filter((name) => name.startsWith('large-image-conversion-')).length).toBeLessThanOrEqual(1);
  });

  it('stop within a second after they were cancelled here', { retry: 2 }, async () => {
    await startWorker();
    const { id, item } = await submit({ compression: 'zstd', level: 14 });
    await until('it is converting', async () => Number((await record(id))?.progress?.current) >= 1, 60_000);
    const before = Date.now();
    await admin.ok('PUT', `/job/${id}/cancel`);
    await until('the worker has let go', async () => (await record(id))?.run?.owner === null, 5000);
    expect(Date.now() - before).toBeLessThan(1500);
    await ended(id, 5);
    await until('no marker', async () => (await admin.ok('GET', `/item/${item}`)).largeImage === undefined);
    expect(await files(item)).toBe(1);
  });
});
