/**
 * Measures tiles of each format in comparison with the format's library in a loop, how many bytes of a large file the first tile needs, the
 * cost of the thousandth open file, and memory over many requests. docs/benchmarks.md says what the lines mean.
 */
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileInput } from '../../src/tilesource/byte-reader.js';
import type { SourceInput, TileSource } from '../../src/tilesource/tile-source.js';
import { memoryOverRequests } from './memory.js';
import { smallImages, type Openable } from './pictures.js';
import { samples, type Sample } from './samples.js';
import { median, megabytes } from '../support/measure.js';
import { compare, loop } from '../tiles/measure.js';

const value = (name: string, usual: number) => {
  const at = process.argv.indexOf(`--${name}`);
  return at < 0 ? usual : Number(process.argv[at + 1]);
};
const bytes = value('bytes', 2 ** 30);
const requests = value('requests', 100_000);
const rounds = value('rounds', 5);
/** Longest time for the requests, in seconds. */
const seconds = value('seconds', 900);
/** `--memory`: measure only memory over many requests. */
const memoryOnly = process.argv.includes('--memory');
/** `--only TEXT`: only formats whose name contains the text. */
const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1]! : '';
const openFiles = 1000;
/** The number of files of each format, about two hundred in total. */
const filesOfFormat = only === '' ? 12 : 200;
/** Number of pictures that are decoded at the same time on both sides. */
const concurrency = 4;

const random = (below: number) => Math.floor(Math.random() * below);

/** Creates an input that counts the bytes that are read from a file. */
function createCountingInput(path: string): { input: SourceInput; read(): number; size(): number } {
  let [read, size] = [0, 0];
  const input = fileInput(path);
  return {
    read: () => read,
    size: () => size,
    input: {
      ...input,
      open: async () => {
        const reader = await input.open();
        ({ size } = reader);
        return {
          ...reader,
          size,
          read: async (offset, length, options) => {
            const bytes = await reader.read(offset, length, options);
            read += bytes.length;
            return bytes;
          },
          close: () => reader.close(),
        };
      },
    },
  };
}

function anyTile(source: TileSource): Promise<unknown> {
  const { sizeX, sizeY, tileWidth, tileHeight, levels } = source.metadata;
  const [x, y] = [random(Math.max(1, Math.floor(sizeX / tileWidth))), random(Math.max(1, Math.floor(sizeY / tileHeight)))];
  return source.readTile({ level: levels - 1, x, y, frame: 0 });
}

async function measureSpeed({ name, source, path, library }: Sample): Promise<void> {
  const countingInput = createCountingInput(path);
  const opened = await source.open(countingInput.input, { temporaryDirectory: directory });
  try {
    await anyTile(opened);
    const share = countingInput.read() / countingInput.size();
    const isLarge = countingInput.size() > bytes / 2;
    const verdict = isLarge ? ` (target: 0.02; ${share < 0.02 ? 'reached' : 'NOT REACHED'})` : '';
    console.log(
      `${name}: opened, and the first tile: ${megabytes(countingInput.read())} of ${megabytes(countingInput.size())}, ${share.toFixed(4)}${verdict}`,
    );
    const ours = loop(concurrency, () => anyTile(opened));
    await compare(
      name,
      { ours, reference: loop(concurrency, async () => library()), against: 'its library' },
      { rounds, seconds: 1, target: 0.7, cpu: true },
    );
  } finally {
    await opened.close();
  }
}

/** Opens a thousand files and keeps them open. */
async function measureOpenFiles({ name, source }: Sample, paths: readonly string[]): Promise<void> {
  const opened: TileSource[] = [];
  const times: number[] = [];
  const processor: number[] = [];
  try {
    for (let index = 0; index < openFiles; index += 1) {
      const start = performance.now();
      const cpuBefore = process.cpuUsage();
      const each = await source.open(fileInput(paths[index % paths.length]!), { temporaryDirectory: directory });
      opened.push(each);
      await anyTile(each);
      times.push(performance.now() - start);
      const { user, system } = process.cpuUsage(cpuBefore);
      processor.push(user + system);
    }
    const ends = (values: readonly number[]) => [median(values.slice(10, 110)), median(values.slice(-100))] as const;
    const [first, last] = ends(times);
    const [firstUsed, lastUsed] = ends(processor);
    const ratio = last / first;
    console.log(
      `${name}: of ${openFiles} open files the last hundred took ${last.toFixed(1)} ms each, the first ${first.toFixed(1)} ms: ${ratio.toFixed(2)} ×` +
        ` (target: 1.2; ${ratio <= 1.2 ? 'reached' : 'NOT REACHED'}), by processor time ${(lastUsed / firstUsed).toFixed(2)} ×`,
    );
  } finally {
    for (const each of opened) await each.close();
  }
}

async function makeCopies(path: string, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => join(directory, `${index}-${basename(path)}`));
  await Promise.all(names.map((name) => copyFile(path, name)));
  return names;
}

/** Leaves out formats that need a package that is not installed, and prints a message. */
async function selectOpenable(files: readonly Openable[]): Promise<Openable[]> {
  const missing = new Set<string>();
  for (const [index, { name, open }] of files.entries()) {
    if (files[index - 1]?.name === name) continue;
    try {
      await (await open()).close();
    } catch (error) {
      console.log(`${name} is left out: ${error instanceof Error ? error.message : String(error)}`);
      missing.add(name);
    }
  }
  return files.filter(({ name }) => !missing.has(name));
}

const directory = await mkdtemp(join(tmpdir(), 'bench-formats-'));
try {
  if (!memoryOnly) for await (const sample of samples(directory, bytes, only)) await measureSpeed(sample);
  // These files are smaller, because only their number matters.
  const files: Openable[] = [];
  for await (const sample of samples(directory, 2 ** 20, only)) {
    const paths = await makeCopies(sample.path, filesOfFormat);
    const { name, source } = sample;
    if (!memoryOnly && sample.isVariant !== true) await measureOpenFiles(sample, paths);
    for (const path of paths) files.push({ name, open: () => source.open(fileInput(path), { temporaryDirectory: directory }) });
  }
  for await (const image of smallImages(directory, filesOfFormat)) if (image.name.includes(only)) files.push(image);
  console.log(`MALLOC_ARENA_MAX is ${process.env.MALLOC_ARENA_MAX ?? 'not set; docs/operations.md says why it should be 2'}`);
  await memoryOverRequests(await selectOpenable(files), { requests, seconds, concurrency }, anyTile);
} finally {
  await rm(directory, { recursive: true, force: true });
}
