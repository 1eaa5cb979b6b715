/**
 * The element store against references in the same run: `npm run bench -- annotations [sizes]`, sizes such as `10000,100000,1000000`.
 * The database is `MONGODB_URI`, else the durable one beside the repository, else the one that the tests use.
 */
import { execFile } from 'node:child_process';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { createServer, get, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import mongoose from 'mongoose';
import { parseElementQuery } from '../src/annotation/element-query.js';
import type { StoredElements } from '../src/annotation/store/contract.js';
import { PackedElementStore } from '../src/annotation/store/store.js';
import { MongoElementRecords } from '../src/models/element-records.js';
import type { Created } from './support/create-annotation.js';
import { benchDatabase } from './support/database.js';
import { median, megabytes, timed } from './support/measure.js';
import { slideHeight, slideWidth, writePolygons } from './support/polygons.js';

const sizes = (process.argv[3] ?? '10000,100000,1000000').split(',').map(Number);
const directory = await mkdtemp(join(tmpdir(), 'bench-annotations-'));
const database = await benchDatabase(directory);
const dbName = `bench_${process.pid}`;
const connection = await mongoose.createConnection(database.uri, { dbName }).asPromise();
const warmUp = join(directory, 'warm-up.json');
await writePolygons(warmUp, 5000);
const records = new MongoElementRecords(connection);
const store = new PackedElementStore({ records, brand: 'service', overlaySizes: () => Promise.resolve(null) });
const heads = connection.collection('head');

/** Answers of a server to one request, received and thrown away; milliseconds. */
async function receiveMs(listener: RequestListener): Promise<{ ms: number; bytes: number }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  let bytes = 0;
  const [, ms] = await timed(
    () =>
      new Promise<void>((resolve, reject) => {
        get({ port, host: '127.0.0.1' }, (response) => {
          response.on('data', (chunk: Buffer) => (bytes += chunk.length));
          response.on('end', resolve).on('error', reject);
        }).on('error', reject);
      }),
  );
  server.closeAllConnections();
  server.close();
  return { ms, bytes };
}

const query = (sent: Record<string, string> = {}) => parseElementQuery(sent);

async function whole(stored: StoredElements): Promise<{ ms: number; bytes: number }> {
  return receiveMs((_request, response) => {
    void store.read(stored, query()).then(({ chunks }) => pipeline(Readable.from(chunks, { objectMode: false }), response));
  });
}

/** Medians of a question asked some times. */
async function medianMs(times: number, ask: (i: number) => Promise<unknown>): Promise<number> {
  const all: number[] = [];
  for (let i = 0; i < times; i += 1) all.push((await timed(() => ask(i)))[1]);
  return median(all);
}

async function bench(count: number): Promise<void> {
  const path = join(directory, `${count}.json`);
  await writePolygons(path, count);
  const { size } = await stat(path);
  console.log(`\n${count} polygons of 12 points, ${megabytes(size)} (${database.engine})`);
  const script = new URL('support/create-annotation.ts', import.meta.url).pathname;
  const parameters = ['--import', 'tsx', script, database.uri, dbName, path, warmUp];
  const { stdout } = await promisify(execFile)(process.execPath, parameters, { maxBuffer: 1 << 26 });
  const { stored, createMs, grewBytes, parseMs } = JSON.parse(stdout) as Created;
  console.log(
    `  JSON.parse ${parseMs.toFixed(0)} ms; create ${createMs.toFixed(0)} ms = ${(createMs / parseMs).toFixed(2)} × (to reach: 4)`,
  );
  console.log(`  memory grew by ${megabytes(grewBytes)} (to reach: 500 MB)`);

  const wholes: number[] = [];
  const pipes: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    pipes.push((await receiveMs((_request, response) => void pipeline(createReadStream(path), response))).ms);
    wholes.push((await whole(stored)).ms);
  }
  console.log(
    `  piping the file ${median(pipes).toFixed(0)} ms; whole read ${median(wholes).toFixed(0)} ms = ${(median(wholes) / median(pipes)).toFixed(2)} × (to reach: 3)`,
  );

  const head = (await heads.findOne({ 'elements.content': stored.content }))!;
  const findOne = await medianMs(100, () => heads.findOne({ _id: head._id }, { projection: { name: 1 } }));
  const side = Math.sqrt((50 * slideWidth * slideHeight) / count);
  let found = 0;
  const viewport = await medianMs(40, async () => {
    const [left, top] = [Math.random() * (slideWidth - side), Math.random() * (slideHeight - side)];
    const sent = { left: String(left), top: String(top), right: String(left + side), bottom: String(top + side) };
    const { chunks, budget } = await store.read(stored, query(sent));
    for await (const _chunk of chunks);
    found += budget.returned / 40;
  });
  console.log(
    `  findOne ${findOne.toFixed(2)} ms; viewport of ${found.toFixed(0)} ${viewport.toFixed(1)} ms = ${(viewport / findOne).toFixed(1)} × (to reach: 20, 50 ms)`,
  );
  const ids = await someIds(stored);
  let current = stored;
  const change = await medianMs(20, async (i) => {
    const id = ids[i % ids.length]!;
    const element = { ...(await store.find(current, [id])).get(id)!, lineWidth: i + 3 };
    current = await store.change(current, { put: [element] }, async ({ stored: changed }) => {
      await heads.findOneAndUpdate({ _id: head._id }, { $set: { elements: changed }, $inc: { _version: 1 } });
      return changed;
    });
  });
  const rename = await medianMs(40, (i) =>
    heads.findOneAndUpdate({ _id: head._id }, { $set: { name: `bench ${i}` }, $inc: { _version: 1 } }),
  );
  console.log(`  rename ${rename.toFixed(1)} ms = ${(rename / findOne).toFixed(1)} × findOne (to reach: 20)`);
  console.log(`  one element changed ${change.toFixed(1)} ms = ${(change / findOne).toFixed(1)} × findOne (to reach: 100)`);
  const [, centroids] = await timed(async () => {
    for await (const _chunk of (await store.centroids(stored, query({ centroids: 'true' }))).chunks);
  });
  const [, sorted] = await timed(async () => {
    const sent = { sort: 'size', sortdir: '-1', maxDetails: '500000', minElements: '5000' };
    for await (const _chunk of (await store.read(stored, query(sent))).chunks);
  });
  console.log(`  centroids of all ${centroids.toFixed(0)} ms; the largest of 500 000 details ${sorted.toFixed(0)} ms`);
  const [report, sweepMs] = await timed(() => store.sweep(() => Promise.resolve([current])));
  console.log(`  sweep of ${report.removed} documents ${sweepMs.toFixed(0)} ms`);
  await rm(path);
}

async function someIds(stored: StoredElements): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < 10; i += 1) {
    const { chunks } = await store.read(stored, query({ offset: String(Math.floor((i * stored.count) / 10)), limit: '1' }));
    for await (const chunk of chunks) ids.push((JSON.parse(chunk.toString()) as { id: string }).id);
  }
  return ids;
}

try {
  await store.prepare();
  for (const count of sizes) await bench(count);
} finally {
  await connection.dropDatabase();
  await connection.close();
  await database.stop();
  await rm(directory, { recursive: true, force: true });
}
