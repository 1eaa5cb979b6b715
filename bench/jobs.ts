/**
 * Compares the thumbnail job with a loop in which sharp makes the same thumbnails of the same files at the same concurrency. Also measures
 * counting and removing growing numbers of cached files. Rounds alternate, and medians are compared. Set `MONGODB_URI` to a durable database
 * to see what users see.
 *
 * There are two loops. The target refers to the careful loop, whose author knows the files and names the smallest sufficient level. In the
 * plain loop, sharp reads the full resolution, as it does by default. Both loops write the pictures as plain files.
 */
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import mongoose from 'mongoose';
import sharp from 'sharp';
import { withDatabaseName } from '../src/reference-host/database/uri.js';
import { createReferenceHost, startDatabase } from '../src/reference-host/index.js';
import { median } from './support/measure.js';

const rounds = 3;
const imageCount = 240;
const [width, height] = [4096, 3072];
const concurrency = cpus().length;
const cachedFileCounts = (process.argv[3] ?? '10000,100000').split(',').map(Number);

const directory = await mkdtemp(join(tmpdir(), 'bench-jobs-'));
const database = await startDatabase({ env: process.env, directory: null });
// Each run has its own database, so that it does not find what earlier runs left on a server.
const mongoUri = withDatabaseName(database.uri, `bench_jobs_${Date.now()}`);
const host = await createReferenceHost({ mongoUri, dataDirectory: directory, passwordMemoryKiB: 8 });
try {
  const { url } = await host.listen();
  const call = async (method: string, path: string, parameters: Record<string, string>, body?: Uint8Array) => {
    const response = await fetch(`${url}/api/v1${path}?${new URLSearchParams(parameters).toString()}`, {
      method,
      headers,
      ...(body && { body }),
    });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as Record<string, unknown>;
  };
  const headers: Record<string, string> = {};
  const user = { login: 'bench', email: 'bench@example.org', firstName: 'B', lastName: 'B', password: 'bench.password' };
  const registration = await call('POST', '/user', user);
  headers['Girder-Token'] = (registration.authToken as { token: string }).token;
  const collection = String((await call('POST', '/collection', { name: 'bench' }))._id);
  const parent = { parentType: 'collection', parentId: collection, name: 'bench' };
  const folder = String((await call('POST', '/folder', parent))._id);

  const noise = { type: 'gaussian' as const, mean: 128, sigma: 20 };
  const image = await sharp({ create: { width, height, channels: 3, background: '#fff', noise } })
    .tiff({ tile: true, tileWidth: 256, tileHeight: 256, pyramid: true, compression: 'jpeg', quality: 80 })
    .toBuffer();
  let item = '';
  for (let i = 0; i < imageCount; i++) {
    const upload = { parentType: 'folder', parentId: folder, name: `image ${i}.tif`, size: String(image.length) };
    item = String((await call('POST', '/file', upload, image)).itemId);
  }
  const { models, store } = host.context;
  const storedFiles = await models.file.find({ name: /^image/ }, { storage: 1 }).lean();
  const paths = storedFiles.flatMap(({ storage }) => (storage.kind === 'stored' ? [store.pathOf(storage.key)] : []));
  if (paths.length !== imageCount) throw new Error(`${paths.length} of ${imageCount} files`);

  const side = 400;
  /** Milliseconds on the clock and of this process's processors, for each thumbnail. */
  const measurePerThumbnail = async (count: number, run: () => Promise<number>) => {
    const before = process.cpuUsage();
    const wallMs = await run();
    const { user, system } = process.cpuUsage(before);
    return { wallMs: wallMs / count, cpuMs: (user + system) / 1000 / count };
  };
  const loop = (files: readonly string[], options: { page?: number }) => async (): Promise<number> => {
    const startMs = performance.now();
    const queue = [...files.entries()];
    const work = async () => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const jpeg = { quality: 95, chromaSubsampling: '4:4:4' };
        const picture = await sharp(next[1], options).resize(side, side, { fit: 'inside' }).jpeg(jpeg).toBuffer();
        await writeFile(join(directory, `thumbnail ${next[0]}.jpg`), picture);
      }
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    return performance.now() - startMs;
  };
  // Directory 3 of the file is 512 × 384: the smallest that has the resolution.
  const careful = loop(paths, { page: 3 });
  const plainCount = Math.ceil(imageCount / 10);
  const plain = loop(paths.slice(0, plainCount), {});
  const clear = () => call('DELETE', '/large_image/thumbnails', {});
  const runJob = async (): Promise<number> => {
    const spec = JSON.stringify([{ width: side, height: side }]);
    const job = await call('PUT', '/large_image/thumbnails', { spec, concurrent: String(concurrency) });
    for (;;) {
      const { status, timestamps } = await call('GET', `/job/${String(job._id)}`, {});
      if (Number(status) > 3) throw new Error(`The job has status ${Number(status)}.`);
      const times = (timestamps as { status: number; time: string }[]).map(
        (entry) => [entry.status, Date.parse(entry.time)] as const,
      );
      // From RUNNING to SUCCESS, because how soon a queued job begins depends on the queue.
      if (status === 3) return new Map(times).get(3)! - new Map(times).get(2)!;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  };
  const ratios: { careful: number; plain: number; cpu: number }[] = [];
  await careful();
  await runJob();
  for (let round = 1; round <= rounds; round++) {
    await clear();
    const [plainCost, carefulCost] = [
      await measurePerThumbnail(plainCount, plain),
      await measurePerThumbnail(imageCount, careful),
    ];
    const jobCost = await measurePerThumbnail(imageCount, runJob);
    ratios.push({
      careful: carefulCost.wallMs / jobCost.wallMs,
      plain: plainCost.wallMs / jobCost.wallMs,
      cpu: carefulCost.cpuMs / jobCost.cpuMs,
    });
    const words = [`sharp`, `sharp at full resolution`, `job`];
    const text = [carefulCost, plainCost, jobCost].map(
      ({ wallMs, cpuMs }, index) =>
        `${words[index]} ${(1000 / wallMs).toFixed(0)}/s (${cpuMs.toFixed(1)} ms of processor time each)`,
    );
    console.log(`thumbnails, round ${round} of ${rounds}: ${text.join(', ')}`);
  }
  const ratio = (name: keyof (typeof ratios)[number]) => median(ratios.map((each) => each[name])).toFixed(2);
  console.log(
    `thumbnail job: ${ratio('careful')} × sharp in a loop at the same concurrency, told the best level of each file (target: 0.8); ` +
      `${ratio('cpu')} × by processor time of this process; ${ratio('plain')} × sharp left to itself`,
  );

  /** Removes all thumbnails. Unlike fetch, this has no time limit for responses. */
  const removeAll = () =>
    new Promise<string>((resolve, reject) => {
      const clientRequest = request(`${url}/api/v1/large_image/thumbnails`, { method: 'DELETE', headers }, (response) => {
        text(response).then(resolve, reject);
      });
      clientRequest.on('error', reject).end();
    });
  const fill = async (count: number) => {
    const itemId = new mongoose.Types.ObjectId(item);
    for (let start = 0; start < count; start += 5000) {
      const ids = Array.from({ length: Math.min(5000, count - start) }, () => new mongoose.Types.ObjectId());
      const references = (fileId: mongoose.Types.ObjectId) => [{ fileId, process: '', since: new Date() }];
      const blobs = ids.map((id) => ({ _id: id.toHexString(), size: 1, userId: null, references: references(id) }));
      await models.blob.collection.insertMany(blobs as never);
      await models.file.collection.insertMany(
        ids.map((_id, i) => ({
          _id,
          name: '_largeImageThumbnail',
          itemId: null,
          attachedToType: 'item',
          attachedToId: i === 0 ? itemId : new mongoose.Types.ObjectId(),
          isLargeImageThumbnail: true,
          thumbnailKey: `{"width":${start + i}}`,
          size: 1,
          exts: [],
          storage: { kind: 'stored', key: _id.toHexString() },
        })) as never,
      );
      for (const id of ids) {
        const path = store.pathOf(id.toHexString());
        await mkdir(join(path, '..'), { recursive: true });
        await writeFile(path, 'x');
      }
    }
  };
  await clear();
  const timesByCount: { count: number; countMs: number; removalMs: number }[] = [];
  for (const count of cachedFileCounts) {
    await fill(count);
    let startMs = performance.now();
    const reportedCount = Number(await call('GET', '/large_image/thumbnails', {}));
    const countMs = performance.now() - startMs;
    startMs = performance.now();
    const bareCount = await host.context.models.file.countDocuments({ isLargeImageThumbnail: true });
    const bareMs = performance.now() - startMs;
    startMs = performance.now();
    const removedCount = Number(await removeAll());
    const removalMs = performance.now() - startMs;
    if (reportedCount !== count || bareCount !== count || removedCount !== count)
      throw new Error(`${reportedCount}, ${bareCount}, ${removedCount} of ${count}`);
    timesByCount.push({ count, countMs, removalMs });
    console.log(
      `${count} files: counted in ${countMs.toFixed(0)} ms (bare countDocuments ${bareMs.toFixed(0)} ms), removed in ${(removalMs / 1000).toFixed(1)} s (${((removalMs * 1000) / count).toFixed(0)} µs a file)`,
    );
  }
  const [first, last] = [timesByCount[0]!, timesByCount.at(-1)!];
  const growth = (field: 'countMs' | 'removalMs') => (last[field] / last.count / (first[field] / first.count)).toFixed(2);
  console.log(
    `time a file at ${last.count} against ${first.count}: counting ${growth('countMs')} ×, removing ${growth('removalMs')} × (linear: 1)`,
  );
} finally {
  await host.close();
  await database.stop();
  await rm(directory, { recursive: true, force: true });
}
