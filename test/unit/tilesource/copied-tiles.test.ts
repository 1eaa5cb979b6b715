import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileInput } from '../../../src/tilesource/byte-reader.js';
import { convert } from '../../../src/tilesource/convert/convert.js';
import { checkConversion, type ConversionRequest } from '../../../src/tilesource/convert/options.js';
import { packJpegTile, type JpegForm } from '../../../src/tilesource/convert/jpeg-form.js';
import { createRaster, type Raster } from '../../../src/tilesource/raster.js';
import { tiffSource } from '../../../src/tilesource/sources/tiff/tiff-source.js';
import type { TileSource } from '../../../src/tilesource/tile-source.js';
import { writeFixtures } from '../../support/images/fixtures.js';
import { writeTiff, type TagValue, type WrittenDirectory } from '../../support/writers/tiff-writer.js';
import { wholeLevel, worstDifference } from '../../support/images/whole-level.js';

let folder: string;
let runs = 0;
const opened: TileSource[] = [];
const fixtures = writeFixtures<{ name: string; powers: number[] }[]>('jpeg_tiles.py', ['tifffile', 'imagecodecs', 'numpy']);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'copied-tiles-'));
});
afterAll(async () => {
  await Promise.all(opened.map((source) => source.close()));
  fixtures?.remove();
  await rm(folder, { recursive: true });
});

async function open(path: string): Promise<TileSource> {
  const source = await tiffSource.open(fileInput(path));
  opened.push(source);
  return source;
}

/** Converts a file in this process. */
async function converted(path: string, request: ConversionRequest = {}) {
  const output = join(folder, `made-${(runs += 1)}.tiff`);
  const log: string[] = [];
  const progress: number[] = [];
  await convert(
    {
      input: { path, name: 'slide.tif', mimeType: '' },
      output,
      directory: folder,
      options: checkConversion(request),
      threads: 2,
      version: '0',
    },
    {
      onProgress: (part) => void progress.push(part),
      log: (text) => void log.push(text),
      runVipsPass: () => Promise.reject(new Error('libvips is not needed')),
    },
  );
  return { output, source: await open(output), report: log.join(''), progress };
}

/** A picture in which every tile is different. */
function picture(width: number, height: number, bands: 1 | 3): Raster {
  const raster = createRaster({ width, height, bands, dtype: 'uint8' });
  for (let at = 0; at < raster.data.length; at += 1) {
    const [pixel, band] = [Math.floor(at / bands), at % bands];
    const [x, y] = [pixel % width, Math.floor(pixel / width)];
    raster.data[at] = 128 + 90 * Math.sin(x / (40 + band * 9)) * Math.cos(y / (30 - band * 7));
  }
  return raster;
}

const side = 64;
const [width, height] = [150, 100];

interface Slide {
  form: JpegForm;
  /** How often each level is halved. */
  powers: number[];
  /** Tiles of the finest level that are missing in the file. */
  gaps?: number[];
}

/** Writes a TIFF of JPEG tiles. @returns its path. */
async function writeSlide({ form, powers, gaps = [] }: Slide): Promise<string> {
  const bands = form.color === 'gray' ? 1 : 3;
  const directories = await Promise.all(
    powers.map(async (power): Promise<WrittenDirectory> => {
      const [w, h] = [width >> power, height >> power];
      const padded = picture(Math.ceil(w / side) * side, Math.ceil(h / side) * side, bands);
      const chunks: (Uint8Array | null)[] = [];
      for (let top = 0; top < h; top += side) {
        for (let left = 0; left < w; left += side) {
          const tile = createRaster({ width: side, height: side, bands, dtype: 'uint8' });
          for (let y = 0; y < side; y += 1) {
            const from = ((top + y) * padded.width + left) * bands;
            tile.data.set(padded.data.subarray(from, from + side * bands), y * side * bands);
          }
          chunks.push(power === 0 && gaps.includes(chunks.length) ? null : await packJpegTile(tile, form, 75));
        }
      }
      const tags: Record<number, TagValue> = {
        254: { long: [power > 0 ? 1 : 0] },
        256: { long: [w] },
        257: { long: [h] },
        258: { short: Array.from({ length: bands }, () => 8) },
        259: { short: [7] },
        262: { short: [form.color === 'gray' ? 1 : form.color === 'rgb' ? 2 : 6] },
        277: { short: [bands] },
        322: { short: [side] },
        323: { short: [side] },
      };
      if (form.color === 'yCbCr') tags[530] = { short: [...form.sampling] };
      return { tags, chunks };
    }),
  );
  const path = join(folder, `slide-${(runs += 1)}.tif`);
  await writeFile(path, writeTiff(directories));
  return path;
}

const forms: Record<string, JpegForm> = {
  gray: { color: 'gray', sampling: [1, 1] },
  RGB: { color: 'rgb', sampling: [1, 1] },
  'YCbCr 4:4:4': { color: 'yCbCr', sampling: [1, 1] },
  'YCbCr 4:2:2': { color: 'yCbCr', sampling: [2, 1] },
  'YCbCr 4:2:0': { color: 'yCbCr', sampling: [2, 2] },
};

/** Samples as libvips reads them. Without a color space, it would return gray as colors. */
async function libvips(file: string | Uint8Array, page: number, bands: number): Promise<Buffer> {
  return sharp(file, { page })
    .toColourspace(bands === 1 ? 'b-w' : 'srgb')
    .raw()
    .toBuffer();
}

describe.each(Object.entries(forms))('a pyramid of JPEG tiles, %s,', (_name, form) => {
  const bands = form.color === 'gray' ? 1 : 3;

  it('is copied: every level has the samples that it had, for this package and for libvips', async () => {
    const path = await writeSlide({ form, powers: [0, 1, 2] });
    const { source, output, report, progress } = await converted(path);
    expect(report).toContain('Copied the tiles of 3 of 3 levels of frame 0');
    expect(source.metadata).toMatchObject({ sizeX: width, sizeY: height, tileWidth: side, bandCount: bands });
    const from = await open(path);
    for (const level of source.populatedLevels) {
      expect(worstDifference(await wholeLevel(source, level), await wholeLevel(from, level))).toBe(0);
      const page = source.metadata.levels - 1 - level;
      expect((await libvips(output, page, bands)).equals(await libvips(path, page, bands))).toBe(true);
    }
    expect(progress.toSorted((a, b) => a - b)).toEqual(progress);
    expect(progress.at(-1)).toBeCloseTo(1, 5);
  });

  it('is like the picture that its tiles were encoded from', async () => {
    const tile = picture(side, side, bands);
    const data = await libvips(await packJpegTile(tile, form, 95), 0, bands);
    expect(worstDifference(data, tile.data)).toBeLessThan(form.sampling[0] === 1 ? 8 : 16);
  });

  it('has its gaps filled in the form of its neighbors, and missing levels made', async () => {
    const path = await writeSlide({ form, powers: [0, 2], gaps: [1, 5] });
    const { source, output, report, progress } = await converted(path);
    expect(report).toContain('Copied the tiles of 2 of 3 levels');
    expect(source.populatedLevels).toEqual([0, 1, 2]);
    const from = await open(path);
    const [finest, expected] = await Promise.all([wholeLevel(source, 2), wholeLevel(from, 2)]);
    expect(worstDifference(finest, expected)).toBeLessThan(4);
    expect(worstDifference(await wholeLevel(source, 0), await wholeLevel(from, 0))).toBe(0);
    const half = await wholeLevel(source, 1);
    const mean = (x: number, y: number, band: number) =>
      [0, 1]
        .flatMap((j) => [0, 1].map((i) => expected[((y * 2 + j) * width + x * 2 + i) * bands + band]!))
        .reduce((a, b) => a + b) / 4;
    for (const [x, y] of [
      [3, 4],
      [30, 40],
      [74, 49],
    ] as const) {
      for (let band = 0; band < bands; band += 1) {
        expect(Math.abs(half[(y * (width / 2) + x) * bands + band]! - mean(x, y, band))).toBeLessThan(16);
      }
    }
    expect((await libvips(output, 0, bands)).length).toBe(width * height * bands);
    expect(progress.toSorted((a, b) => a - b)).toEqual(progress);
  });
});

describe('re-encodes tiles', () => {
  const threeLevels = { form: forms['YCbCr 4:2:0']!, powers: [0, 1, 2] };
  it.each<[string, ConversionRequest]>([
    ['of a different size', { tileSize: 128 }],
    ['of another quality', { quality: 50 }],
    ['of another compression', { compression: 'deflate' }],
  ])('when they are requested %s', async (_name, request) => {
    const { report, source } = await converted(await writeSlide(threeLevels), request);
    expect(report).not.toContain('Copied');
    expect(source.metadata.tileWidth).toBe(request.tileSize ?? 256);
  });

  it('when levels are reduced by picking pixels, except for tiles of the finest level', async () => {
    expect((await converted(await writeSlide(threeLevels), { reduction: 'nearest' })).report).toContain(
      'Copied the tiles of 1 of 3 levels',
    );
  });
});

describe.skipIf(fixtures === null)('pyramids that tifffile wrote', () => {
  it.each((fixtures?.manifest ?? []).map(({ name, powers }) => [name, powers] as const))(
    'are copied: %s',
    async (name, powers) => {
      const path = join(fixtures!.folder, name);
      const { source, output, report } = await converted(path);
      expect(report).toContain(`Copied the tiles of ${powers.length} of 4 levels`);
      const from = await open(path);
      const bands = from.metadata.bandCount;
      for (const [page, power] of powers.entries()) {
        const level = 3 - power;
        expect(worstDifference(await wholeLevel(source, level), await wholeLevel(from, level))).toBe(0);
        expect((await libvips(output, power, bands)).equals(await libvips(path, page, bands))).toBe(true);
      }
    },
  );
});
