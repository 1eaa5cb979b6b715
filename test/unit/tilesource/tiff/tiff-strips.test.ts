import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { SourceOptions, TileSource } from '../../../../src/tilesource/tile-source.js';
import { createRaster, type Raster, type SampleType } from '../../../../src/tilesource/raster.js';
import { tiffSource } from '../../../../src/tilesource/sources/tiff/tiff-source.js';
import { memoryInput } from '../../../support/images/memory-input.js';
import { grayTags, writeTiff, type TagValue, type WriteOptions } from '../../../support/writers/tiff-writer.js';
import { wholeLevel, worstDifference } from '../../../support/images/whole-level.js';
import { sampleOf } from '../../../support/run/sample.js';

const temporaryDirectory = mkdtempSync(join(tmpdir(), 'large-image-strips-'));
afterAll(() => rmSync(temporaryDirectory, { recursive: true }));
/** No test leaves temporary files. */
afterEach(() => expect(readdirSync(temporaryDirectory)).toEqual([]));

const [width, height] = [300, 270];

function open(bytes: Uint8Array, options: SourceOptions = {}): Promise<TileSource> {
  return tiffSource.open(memoryInput(bytes), { maxSmallImageSize: 64, temporaryDirectory, ...options });
}

/** Samples over the whole range of their type, smooth enough for means. */
function samplesOf(dtype: SampleType, bands = 1, from = 0): Raster {
  const raster = createRaster({ width, height, bands, dtype });
  const bits = raster.data.BYTES_PER_ELEMENT * 8;
  const least = dtype.startsWith('float') ? -1 : dtype.startsWith('int') ? -(2 ** (bits - 1)) : 0;
  const range = dtype.startsWith('float') ? 2 : 2 ** bits - 1;
  for (let at = 0; at < raster.data.length; at += 1) {
    const pixel = Math.floor(at / bands);
    const share = ((pixel % width) + Math.floor(pixel / width) + (at % bands) * 7 + from) / (width + height + 50);
    raster.data[at] = dtype.startsWith('float') ? least + share * range : Math.floor(least + share * range);
  }
  return raster;
}

interface Stored {
  rows: number;
  deflate?: boolean;
  apart?: boolean;
  tags?: Record<number, TagValue>;
}

/** A directory of strips. */
function strips(raster: Raster, { rows, deflate = false, apart = false, tags = {} }: Stored) {
  const { data, bands, dtype } = raster;
  const planes = apart ? Array.from({ length: bands }, (_, band) => data.filter((_each, at) => at % bands === band)) : [data];
  const chunks = planes.flatMap((plane) => {
    const bytes = Buffer.from(plane.buffer, plane.byteOffset, plane.byteLength);
    const rowBytes = bytes.length / height;
    return Array.from({ length: Math.ceil(height / rows) }, (_, strip) => {
      const part = bytes.subarray(strip * rows * rowBytes, (strip + 1) * rows * rowBytes);
      return deflate ? deflateSync(part) : part;
    });
  });
  const { 322: _width, 323: _length, ...gray } = grayTags(width, height, 16);
  const each = (value: number) => ({ short: Array.from({ length: bands }, () => value) });
  return {
    tags: {
      ...gray,
      258: each(data.BYTES_PER_ELEMENT * 8),
      259: { short: [deflate ? 8 : 1] },
      262: { short: [bands === 3 ? 2 : 1] },
      277: { short: [bands] },
      278: { long: [rows] },
      284: { short: [apart ? 2 : 1] },
      339: each(dtype.startsWith('float') ? 3 : dtype.startsWith('int') ? 2 : 1),
      ...tags,
    },
    chunks,
  };
}

const file = (raster: Raster, stored: Stored, options?: WriteOptions) => writeTiff([strips(raster, stored)], options);

describe('large images in strips', () => {
  const types = ['uint8', 'int8', 'uint16', 'int16', 'uint32', 'int32', 'float32', 'float64'] as const;
  it.each(sampleOf(types, 3))('keep samples of type %s, whatever the strips are', async (dtype) => {
    for (const rows of [1, 16, 100, height]) {
      for (const deflate of [false, true]) {
        const raster = samplesOf(dtype);
        const source = await open(file(raster, { rows, deflate }));
        expect(source.metadata).toMatchObject({ sizeX: width, sizeY: height, tileWidth: 256, levels: 2, dtype, bandCount: 1 });
        expect(source.populatedLevels).toEqual([0, 1]);
        expect(worstDifference(await wholeLevel(source), raster.data)).toBe(0);
        const [half] = await wholeLevel(source, 0);
        const [first = 0, second = 0] = raster.data;
        expect(half).toBeGreaterThanOrEqual(first);
        expect(half).toBeLessThanOrEqual(first + 2 * (second - first) + 1);
        await source.close();
      }
    }
  });

  it.each([3, 6])('keep %i bands, together and apart', async (bands) => {
    const raster = samplesOf('int16', bands);
    for (const apart of [false, true]) {
      const source = await open(file(raster, { rows: 16, apart, deflate: true }));
      expect(source.metadata.bandCount).toBe(bands);
      expect(worstDifference(await wholeLevel(source), raster.data)).toBe(0);
      await source.close();
    }
  });

  it.each([
    ['plain', false],
    ['compressed', true],
  ])('of single rows are read in as few reads as large ones: %s', async (_, deflate) => {
    const raster = samplesOf('uint8');
    const count = async (rows: number) => {
      const input = memoryInput(file(raster, { rows, deflate }), 'strips.tif');
      let reads = 0;
      const source = await tiffSource.open(
        {
          ...input,
          open: async () => {
            const reader = await input.open();
            return {
              size: reader.size,
              close: () => reader.close(),
              read: (...call: Parameters<typeof reader.read>) => {
                reads += 1;
                return reader.read(...call);
              },
            };
          },
        },
        { maxSmallImageSize: 64, temporaryDirectory },
      );
      expect(worstDifference(await wholeLevel(source), raster.data)).toBe(0);
      await source.close();
      return reads;
    };
    expect(await count(1)).toBeLessThanOrEqual(2 * (await count(256)));
  });

  it('keep all frames, and are shown upright', async () => {
    const frames = [0, 5, 10].map((from) => samplesOf('uint16', 1, from));
    const tags = { 274: { short: [6] } };
    const source = await open(writeTiff(frames.map((raster) => strips(raster, { rows: height, tags }))));
    expect(source.metadata).toMatchObject({ sizeX: height, sizeY: width });
    expect(source.metadata.frames).toHaveLength(3);
    for (const [frame, { data }] of frames.entries()) {
      const turned = Array.from({ length: data.length }, (_, at) => {
        const [x, y] = [at % height, Math.floor(at / height)];
        return data[(height - 1 - x) * width + y] ?? 0;
      });
      expect(worstDifference(await wholeLevel(source, 1, frame), turned)).toBe(0);
    }
    await source.close();
  });

  it('leave out values without data', async () => {
    const raster = createRaster({ width, height, bands: 1, dtype: 'float32' });
    raster.data.fill(7);
    raster.data[0] = Number.NaN;
    const source = await open(file(raster, { rows: 16 }));
    expect((await wholeLevel(source, 0))[0]).toBe(7);
    await source.close();
  });

  it('show the smaller versions that the file has', async () => {
    const { 322: _width, ...tags } = grayTags(150, 135, 160);
    const half = { tags: { ...tags, 254: { short: [1] }, 322: { short: [160] } }, chunks: [Buffer.alloc(160 * 160, 99)] };
    const samples = samplesOf('uint8');
    const source = await open(writeTiff([strips(samples, { rows: 16, deflate: true }), half]));
    expect([...new Set(await wholeLevel(source, 0))]).toEqual([99]);
    expect(worstDifference(await wholeLevel(source), samples.data)).toBe(0);
    await source.close();
  });

  it('are refused at once when they are damaged or would take too much', async () => {
    const raster = samplesOf('uint16');
    const damaged = {
      ...strips(raster, { rows: 16, deflate: true }),
      chunks: Array.from({ length: 17 }, () => Buffer.alloc(50, 7)),
    };
    await expect(open(writeTiff([damaged]))).rejects.toThrow(/cannot be decoded/);
    await expect(open(file(raster, { rows: 16 }), { maxDecodedPixels: 80_000 })).rejects.toThrow(/at most 80000 pixels/);
    const sizes = { 256: { long: [16_000] }, 257: { long: [16_000] } };
    const giant = strips(raster, { rows: 16_000, deflate: true, tags: sizes });
    await expect(open(writeTiff([giant]))).rejects.toThrow(/compressed strips of 16000 rows, which take 512000000 bytes/);
  });

  it('are not converted when nobody waits, and can be closed while they are converted', async () => {
    const source = await open(file(samplesOf('uint8'), { rows: 1, deflate: true }));
    const address = { level: 1, x: 0, y: 0, frame: 0 };
    const aborting = new AbortController();
    const reading = source.readTile(address, { signal: aborting.signal });
    aborting.abort(new Error('gone'));
    await expect(reading).rejects.toThrow('gone');
    const other = source.readTile(address);
    const refused = expect(other).rejects.toThrow(/closed|aborted/i);
    await source.close();
    await refused;
  });
});
