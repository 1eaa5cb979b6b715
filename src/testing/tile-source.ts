import assert from 'node:assert/strict';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, extname, join } from 'node:path';
import { TileSourceError } from '../errors.js';
import { openFileReader } from '../tilesource/byte-reader.js';
import {
  type ByteReader,
  type ImageMetadata,
  type SourceInput,
  type TileAddress,
  type TileSource,
  type TileSourceDefinition,
} from '../tilesource/tile-source.js';
import { definitionFault } from '../tilesource/registry/definition-fault.js';
import type { Raster, SampleType } from '../tilesource/raster.js';
import type { TestFunctions as AllTestFunctions } from './test-functions.js';

type TestFunctions = Pick<AllTestFunctions, 'describe' | 'it'>;

const arrayNames: Readonly<Record<SampleType, string>> = {
  uint8: 'Uint8Array',
  int8: 'Int8Array',
  uint16: 'Uint16Array',
  int16: 'Int16Array',
  uint32: 'Uint32Array',
  int32: 'Int32Array',
  float32: 'Float32Array',
  float64: 'Float64Array',
};

/** Maximum number of frames that are tested, because a file may have thousands. */
const maxTestedFrames = 3;

/** Counts the readers that a source opens and closes, and rejects reads that start outside the file. */
class WatchedInput implements SourceInput {
  readonly name: string;
  readonly path: string;
  openedCount = 0;
  closedCount = 0;

  constructor(path: string) {
    this.path = path;
    this.name = basename(path);
  }

  async open(): Promise<ByteReader> {
    const reader = await openFileReader(this.path);
    this.openedCount += 1;
    return {
      size: reader.size,
      read: async (offset, length, options) => {
        // Requesting more bytes than exist is allowed; the reader then returns the bytes that exist.
        const isRange = Number.isSafeInteger(offset) && Number.isSafeInteger(length) && offset >= 0 && length >= 0;
        assert.ok(isRange && offset <= reader.size, `read of ${length} bytes at ${offset} leaves the file`);
        return reader.read(offset, length, options);
      },
      close: async () => {
        this.closedCount += 1;
        await reader.close();
      },
    };
  }
}

function levelCount({ sizeX, sizeY, tileWidth, tileHeight }: ImageMetadata): number {
  return Math.max(1, Math.ceil(Math.log2(Math.max(sizeX / tileWidth, sizeY / tileHeight))) + 1);
}

/** The tiles at the corners and in the middle of every populated level of some frames, with the size that they must have. */
function sampleTiles(source: TileSource): { address: TileAddress; width: number; height: number }[] {
  const { sizeX, sizeY, tileWidth, tileHeight, levels, frames } = source.metadata;
  const count = frames?.length ?? 1;
  const frameIndices = [...new Set([0, Math.floor(count / 2), count - 1])].slice(0, maxTestedFrames);
  return frameIndices.flatMap((frame) =>
    source.populatedLevels.flatMap((level) => {
      const scale = 2 ** (levels - 1 - level);
      const [width, height] = [Math.ceil(sizeX / scale), Math.ceil(sizeY / scale)];
      const [lastX, lastY] = [Math.ceil(width / tileWidth) - 1, Math.ceil(height / tileHeight) - 1];
      const tiles = new Map(
        [
          [0, 0],
          [lastX, 0],
          [0, lastY],
          [lastX, lastY],
          [Math.floor(lastX / 2), Math.floor(lastY / 2)],
        ].map(([x = 0, y = 0]) => [`${x}/${y}`, { x, y }]),
      );
      return [...tiles.values()].map(({ x, y }) => ({
        address: { level, x, y, frame },
        width: Math.min(tileWidth, width - x * tileWidth),
        height: Math.min(tileHeight, height - y * tileHeight),
      }));
    }),
  );
}

/** Describes the first fault in the members of an opened image that every test needs; `null` if there is none. */
function findImageFault(source: unknown): string | null {
  if (typeof source !== 'object' || source === null) return `open must return a tile source, not ${String(source)}`;
  const { metadata, populatedLevels, readTile, close } = source as Record<string, unknown>;
  if (typeof metadata !== 'object' || metadata === null) return 'metadata is missing: sizes, levels, type and number of samples';
  const { frames } = metadata as Record<string, unknown>;
  const isFrame = (frame: unknown) => typeof (frame as { axes?: unknown } | null)?.axes === 'object';
  if (frames !== undefined && !(Array.isArray(frames) && frames.length > 0 && frames.every(isFrame))) {
    return 'metadata.frames must be a list of { axes: { C: 0, Z: 3 } }, one for each frame, or be left out';
  }
  if (!Array.isArray(populatedLevels)) return 'populatedLevels is missing: the numbers of the levels that the file contains';
  if (typeof readTile !== 'function') return 'readTile is missing';
  return typeof close === 'function' ? null : 'close is missing';
}

function checkImage(source: unknown): void {
  const fault = findImageFault(source);
  assert.equal(fault, null, fault ?? '');
}

/** Reads a tile, and checks that the result is a raster. */
async function readRaster(source: TileSource, address: TileAddress): Promise<Raster> {
  const raster: unknown = await source.readTile(address);
  const isRaster = typeof raster === 'object' && raster !== null && 'data' in raster && ArrayBuffer.isView(raster.data);
  assert.ok(isRaster, 'readTile must return a raster: { data, width, height, bands, dtype }');
  return raster as Raster;
}

async function withSource(
  definition: TileSourceDefinition,
  path: string,
  use: (source: TileSource) => Promise<void> | void,
): Promise<void> {
  const input = new WatchedInput(path);
  const source = await definition.open(input);
  checkImage(source);
  try {
    await use(source);
  } finally {
    await source.close();
  }
  assert.equal(input.closedCount, input.openedCount, 'close must close every reader that the source has opened');
}

/** Opens a broken file. Opening must either succeed, or fail with a TileSourceError that has a message and leaves nothing open. */
async function openBroken(definition: TileSourceDefinition, name: string, bytes: Uint8Array): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tile-source-'));
  try {
    const path = join(folder, name);
    await writeFile(path, bytes);
    const input = new WatchedInput(path);
    try {
      const source = await definition.open(input);
      checkImage(source);
      await source.close();
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      assert.ok(
        error instanceof TileSourceError,
        `a broken file must be refused with a TileSourceError, not with ${String(error)}`,
      );
      assert.ok(error.message.length > 10, 'the message of the error must say what is wrong');
    }
    assert.equal(input.closedCount, input.openedCount, 'a refused file must be closed');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function readFirstBytes(path: string, share: number): Promise<Uint8Array> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    const length = Math.min(Math.floor(size * share), 16 * 1024 * 1024);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

function describeDefinition(makeDefinition: () => TileSourceDefinition, sampleFile: string, { it }: TestFunctions): void {
  it('has a name, and priorities with a default', async () => {
    const fault = definitionFault(makeDefinition());
    assert.equal(fault, null, fault ?? '');
  });

  it('refuses broken files with a readable error and leaves nothing open', async () => {
    const definition = makeDefinition();
    const extension = extname(sampleFile);
    await openBroken(definition, `empty${extension}`, new Uint8Array(0));
    await openBroken(definition, `text${extension}`, Buffer.from('This is not a picture. '.repeat(50)));
    for (const share of [0.01, 0.5, 0.95])
      await openBroken(definition, `cut${extension}`, await readFirstBytes(sampleFile, share));
    const scrambledBytes = await readFirstBytes(sampleFile, 1);
    for (let i = 7; i < scrambledBytes.length; i += 61) scrambledBytes[i] = (scrambledBytes[i] ?? 0) ^ 0xff;
    await openBroken(definition, `scrambled${extension}`, scrambledBytes);
  });
}

function describeImage(makeDefinition: () => TileSourceDefinition, sampleFile: string, { it }: TestFunctions): void {
  const declareTest = (name: string, test: (source: TileSource) => Promise<void> | void): unknown =>
    it(name, () => withSource(makeDefinition(), sampleFile, test));

  declareTest('describes the image in whole pixels, with the right number of levels', ({ metadata }) => {
    for (const key of ['sizeX', 'sizeY', 'tileWidth', 'tileHeight', 'levels', 'bandCount'] as const) {
      assert.ok(Number.isSafeInteger(metadata[key]) && metadata[key] >= 1, `${key} is ${metadata[key]}`);
    }
    assert.equal(metadata.levels, levelCount(metadata));
    assert.ok(Object.hasOwn(arrayNames, metadata.dtype), `dtype is ${metadata.dtype}`);
    for (const value of [metadata.magnification, metadata.mmX, metadata.mmY]) assert.ok(value === null || value > 0, `${value}`);
    for (const { axes } of metadata.frames ?? []) {
      for (const [axis, value] of Object.entries(axes)) {
        assert.ok(Number.isSafeInteger(value) && value >= 0, `axis ${axis} is ${value}`);
        assert.ok(!axis.startsWith('Index'), 'axes are named without Index');
      }
    }
  });

  declareTest('lists the populated levels in ascending order, full resolution last', ({ metadata, populatedLevels }) => {
    assert.deepEqual(
      populatedLevels,
      [...new Set(populatedLevels)].toSorted((a, b) => a - b),
    );
    assert.equal(populatedLevels.at(-1), metadata.levels - 1);
    assert.ok((populatedLevels[0] ?? 0) >= 0);
  });

  declareTest('reads tiles of the declared type, cropped to the image', async (source) => {
    const { dtype, bandCount } = source.metadata;
    for (const { address, width, height } of sampleTiles(source)) {
      const raster = await readRaster(source, address);
      const shape = { width: raster.width, height: raster.height, bands: raster.bands, dtype: raster.dtype };
      assert.deepEqual(shape, { width, height, bands: bandCount, dtype }, JSON.stringify(address));
      assert.equal(raster.data.length, width * height * bandCount, 'one sample for each pixel and band');
      assert.ok(
        raster.data.constructor.name === arrayNames[dtype] || raster.data instanceof Uint8Array,
        'the array fits the type',
      );
    }
  });

  declareTest('returns the same pixels to simultaneous readers', async (source) => {
    const address = { level: source.metadata.levels - 1, x: 0, y: 0, frame: 0 };
    const rasters = await Promise.all([1, 2, 3, 4].map(() => readRaster(source, address)));
    for (const raster of rasters) assert.deepEqual(raster.data, rasters[0]?.data);
  });

  declareTest('returns only complete stored tiles, with their true size and encoding', async (source) => {
    const { tileWidth, tileHeight } = source.metadata;
    const signatures = { JPEG: 'ffd8', PNG: '89504e47', WEBP: '52494646' };
    for (const { address, width, height } of sampleTiles(source)) {
      const storedTile = (await source.readStoredTile?.(address)) ?? null;
      if (storedTile === null) continue;
      assert.deepEqual([width, height], [tileWidth, tileHeight], 'tiles that extend beyond the image must be decoded');
      assert.deepEqual([storedTile.width, storedTile.height], [tileWidth, tileHeight]);
      assert.ok(Buffer.from(storedTile.bytes).toString('hex').startsWith(signatures[storedTile.encoding]), storedTile.encoding);
    }
  });

  declareTest('returns stored tiles at the border, if any, with the full size of a tile', async (source) => {
    const { tileWidth, tileHeight } = source.metadata;
    for (const { address, width, height } of sampleTiles(source)) {
      const storedTile = (await source.readStoredTile?.(address, { partial: true })) ?? null;
      if (storedTile === null) continue;
      assert.deepEqual([storedTile.width, storedTile.height], [tileWidth, tileHeight]);
      const content = storedTile.content ?? { width, height };
      assert.ok(content.width >= 1 && content.width <= width && content.height >= 1 && content.height <= height, 'content');
    }
  });

  declareTest('reads every associated image that it lists, and returns null for others', async (source) => {
    const names = source.associatedImages ?? [];
    assert.deepEqual(names, names.toSorted());
    for (const name of names) {
      const image = await source.readAssociatedImage?.(name);
      assert.ok(image, name);
      const { width, height, bands, data } = image.raster;
      assert.equal(data.length, width * height * bands);
    }
    assert.equal((await source.readAssociatedImage?.('no such image')) ?? null, null);
  });

  declareTest('returns internal metadata that can be written as JSON, and ICC profiles as bytes', async (source) => {
    const internalMetadata = (await source.internalMetadata?.()) ?? {};
    assert.doesNotThrow(() => JSON.stringify(internalMetadata));
    const profile = source.iccProfile?.(0) ?? null;
    assert.ok(profile === null || profile.length > 128, 'an ICC profile has a header of 128 bytes');
    assert.ok((source.retainedBytes ?? 0) >= 0);
  });

  declareTest('ends a read whose signal has been aborted', async (source) => {
    const address = { level: source.metadata.levels - 1, x: 0, y: 0, frame: 0 };
    const outcome = await source.readTile(address, { signal: AbortSignal.abort() }).then(
      () => 'delivered',
      () => 'ended',
    );
    assert.ok(outcome === 'ended' || outcome === 'delivered', 'the read must end, and the source must still work');
    await source.readTile(address);
  });
}

/**
 * Declares the tests that every tile source has to pass, for `sampleFile`, a real image that the source reads.
 *
 * ```ts
 * import { describe, it } from 'vitest';
 * describeTileSource(() => mySource, 'test/files/sample.xyz', { describe, it });
 * ```
 */
export function describeTileSource(makeDefinition: () => TileSourceDefinition, sampleFile: string, runner: TestFunctions): void {
  runner.describe(`tile source: ${basename(sampleFile)}`, () => {
    describeDefinition(makeDefinition, sampleFile, runner);
    describeImage(makeDefinition, sampleFile, runner);
  });
}
