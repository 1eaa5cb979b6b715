/**
 * Tiles of an annotation drawn above its image: `npm run bench -- overlay [count]`. For each level a process of its own is started, so
 * that nothing is cached and nothing is compiled yet; it draws one tile, then others. The reference is an indexed findOne.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import mongoose, { type Connection } from 'mongoose';
import type { StoredElements } from '../src/annotation/store/contract.js';
import { PackedElementStore } from '../src/annotation/store/store.js';
import { AnnotationDensityModel } from '../src/models/annotation-density.js';
import { MongoElementRecords } from '../src/models/element-records.js';
import { AnnotationDensities } from '../src/services/annotation-densities.js';
import { AnnotationOverlay } from '../src/services/annotation-overlay.js';
import { benchDatabase } from './support/database.js';
import { median, timed } from './support/measure.js';
import { polygonTexts, slideHeight, slideWidth } from './support/polygons.js';

const tileSize = 256;
const levels = 10;
const tilesPerLevel = 8;
const dbName = 'bench_overlay';

const silent = () => {};
const logger = { debug: silent, info: silent, warn: silent, error: silent };

function open(connection: Connection) {
  const records = new MongoElementRecords(connection);
  const store = new PackedElementStore({ records, brand: 'service', overlaySizes: () => Promise.resolve(null) });
  const model = new AnnotationDensityModel(connection);
  const densities = new AnnotationDensities({ store, model, logger });
  return { store, model, densities, overlay: new AnnotationOverlay({ store, densities }) };
}

/** Tiles of a level, spread over the slide. */
function views(level: number) {
  const scale = 2 ** (levels - 1 - level);
  const side = tileSize * scale;
  const [columns, rows] = [Math.ceil(slideWidth / side), Math.ceil(slideHeight / side)];
  return Array.from({ length: tilesPerLevel }, (_, i) => ({
    left: (Math.floor(columns * (0.5 + i * 0.618)) % columns) * side,
    top: (Math.floor(rows * (0.5 + i * 0.414)) % rows) * side,
    scale,
    width: tileSize,
    height: tileSize,
  }));
}

interface Measured {
  first: number;
  /** Processor time of the first tile, which a busy machine changes less; milliseconds. */
  firstCpu: number;
  others: number[];
  /** Processor time of the other tiles. */
  othersCpu: number[];
  vector: number[];
  findOne: number;
  bytes: number;
}

/** What a process that was just started measures. */
async function measure(uri: string, file: string, level: number): Promise<Measured> {
  const stored = JSON.parse(await readFile(file, 'utf8')) as StoredElements;
  const connection = await mongoose.createConnection(uri, { dbName }).asPromise();
  const heads = connection.collection('head');
  await heads.findOne({});
  const { overlay } = open(connection);
  const style = { mode: 'element', groups: undefined, gain: undefined } as const;
  const times: number[] = [];
  const vector: number[] = [];
  let bytes = 0;
  let firstCpu = 0;
  const othersCpu: number[] = [];
  for (const view of views(level)) {
    const start = process.cpuUsage();
    const [tile, ms] = await timed(() => overlay.png(stored, view, style));
    const { user, system } = process.cpuUsage(start);
    if (times.length === 0) firstCpu = (user + system) / 1000;
    else othersCpu.push((user + system) / 1000);
    times.push(ms);
    bytes = tile.bytes.length;
  }
  for (const view of views(level)) vector.push((await timed(() => overlay.vector(stored, view, style)))[1]);
  const finds: number[] = [];
  for (let i = 0; i < 30; i += 1) finds.push((await timed(() => heads.findOne({ name: 'stored' })))[1]);
  await connection.close();
  return { first: times[0]!, firstCpu, others: times.slice(1), othersCpu, vector, findOne: median(finds), bytes };
}

async function main(count: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'bench-overlay-'));
  const database = await benchDatabase(directory);
  try {
    const connection = await mongoose.createConnection(database.uri, { dbName }).asPromise();
    const { store, model, densities } = open(connection);
    await store.prepare();
    await model.createIndexes();
    const heads = connection.collection('head');
    await heads.createIndex({ name: 1 });
    const elements = (function* () {
      for (const text of polygonTexts(count)) yield JSON.parse(text) as unknown;
    })();
    const [stored, writeMs] = await timed(() => store.write(elements, (made) => Promise.resolve(made)));
    await heads.insertOne({ name: 'stored', stored });
    console.log(`${count} polygons of 12 points (${database.engine}); stored in ${(writeMs / 1000).toFixed(1)} s`);
    const before = process.cpuUsage();
    const [, makeMs] = await timed(async () => {
      // Longer than a request waits.
      for (;;) {
        try {
          return await densities.heads(stored);
        } catch (error) {
          if ((error as { code?: string }).code !== 'unavailable') throw error;
        }
      }
    });
    const { user, system } = process.cpuUsage(before);
    console.log(
      `densities made once: ${(makeMs / 1000).toFixed(1)} s (${((user + system) / 1e6).toFixed(1)} s of processor time)`,
    );
    const windows = new Set([stored.windows[0]!.id]);
    await model.keepOnly(stored.family, new Set(stored.windows.slice(1).map(({ id }) => id)));
    const [, againMs] = await timed(() => new AnnotationDensities({ store, model, logger }).heads(stored));
    console.log(`after a change of ${windows.size} of ${stored.windows.length} windows: ${(againMs / 1000).toFixed(1)} s`);
    await connection.close();

    const file = join(directory, 'stored.json');
    await writeFile(file, JSON.stringify(stored));
    console.log('level  scale  first tile ms  its cpu  others ms  their cpu  worst  x findOne  vector ms   PNG bytes');
    const run = promisify(execFile);
    for (let level = 0; level < levels; level += 1) {
      const argv = ['--import', 'tsx', fileURLToPath(import.meta.url), 'overlay', 'tile', database.uri, file, String(level)];
      const { stdout } = await run(process.execPath, argv);
      const { first, firstCpu, others, othersCpu, vector, findOne, bytes } = JSON.parse(
        stdout.trim().split('\n').at(-1) ?? '',
      ) as Measured;
      const columns = [
        String(level).padStart(5),
        String(2 ** (levels - 1 - level)).padStart(5),
        first.toFixed(0).padStart(13),
        firstCpu.toFixed(0).padStart(7),
        median(others).toFixed(0).padStart(9),
        median(othersCpu).toFixed(0).padStart(9),
        Math.max(...others)
          .toFixed(0)
          .padStart(6),
        (median(others) / findOne).toFixed(0).padStart(9),
        median(vector).toFixed(0).padStart(9),
        String(bytes).padStart(10),
      ];
      console.log(columns.join('  '));
    }
  } finally {
    await database.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

const [role, uri, file, level] = process.argv.slice(3);
if (role === 'tile') console.log(JSON.stringify(await measure(uri!, file!, Number(level))));
else await main(Number(role ?? 1_000_000));
