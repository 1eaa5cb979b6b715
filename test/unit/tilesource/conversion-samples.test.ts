import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileInput } from '../../../src/tilesource/byte-reader.js';
import { convert } from '../../../src/tilesource/convert/convert.js';
import { checkConversion, type ConversionRequest } from '../../../src/tilesource/convert/options.js';
import { isLossyTiff } from '../../../src/tilesource/convert/lossy-tiff.js';
import { runVipsPass, type VipsPass } from '../../../src/tilesource/convert/child/vips-pass.js';
import { openLargeImage } from '../../../src/tilesource/large-image.js';
import type { EncodedPicture } from '../../../src/tilesource/requests.js';
import { tiffSource } from '../../../src/tilesource/sources/tiff/tiff-source.js';
import type { TileSource } from '../../../src/tilesource/tile-source.js';
import { wholeLevel, worstDifference } from '../../support/images/whole-level.js';
import { sampleOf } from '../../support/run/sample.js';
import { grayTags, writeTiff } from '../../support/writers/tiff-writer.js';

/** Wider than pictures that are decoded as a whole, so that libvips makes the tiles; few rows, so that it is quick. */
const [width, height] = [4200, 4];
let folder: string;
let runs = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'conversion-samples-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Converts a file in this process, and opens the result. Also returns the passes that libvips made. */
async function converted(
  path: string,
  request: ConversionRequest,
): Promise<{ source: TileSource; passes: VipsPass['kind'][]; output: string }> {
  const output = join(folder, `made-${(runs += 1)}.tiff`);
  const passes: VipsPass['kind'][] = [];
  const input = { path, name: 'picture', mimeType: '' };
  await convert(
    { input, output, directory: folder, options: checkConversion(request), threads: 1, version: '0' },
    {
      onProgress: () => {},
      log: () => {},
      runVipsPass: async (pass) => {
        passes.push(pass.kind);
        await runVipsPass(pass);
      },
    },
  );
  return { source: await tiffSource.open(fileInput(output)), passes, output };
}

type Samples = Uint8Array | Uint16Array;

function picture(bands: 1 | 2 | 3 | 4, bits: 8 | 16): { samples: Samples; image: Sharp } {
  const length = width * height * bands;
  const samples =
    bits === 8 ? Uint8Array.from({ length }, (_, at) => at * 7) : Uint16Array.from({ length }, (_, at) => at * 1237);
  const image = sharp(samples, { raw: { width, height, channels: bands } });
  const gray = bits === 8 ? 'b-w' : 'grey16';
  return { samples, image: image.toColourspace(bands <= 2 ? gray : bits === 8 ? 'srgb' : 'rgb16') };
}

describe('files that libvips alone reads keep their samples when they are converted', () => {
  const shapes = [
    [1, 8],
    [1, 16],
    [2, 8],
    [2, 16],
    [3, 16],
    [4, 8],
  ] as const;
  it.each(sampleOf(shapes, 2))('%i bands of %i bits, in one pass and in two', async (bands, bits) => {
    const { samples, image } = picture(bands, bits);
    const path = join(folder, `${bands}-${bits}.png`);
    await image.png({ compressionLevel: 1 }).toFile(path);
    for (const [request, kind] of [
      [{ compression: 'lzw', reduction: 'mean' }, 'pyramid'],
      [{ compression: 'zstd' }, 'base'],
    ] as const) {
      const { source, passes } = await converted(path, request);
      expect(passes).toEqual([kind]);
      expect(source.metadata).toMatchObject({ bandCount: bands, dtype: `uint${bits}` });
      expect(worstDifference(await wholeLevel(source), samples)).toBe(0);
      await source.close();
    }
  });

  it('colors of a profile, with the profile and the right way up', async () => {
    const { samples, image } = picture(3, 8);
    const profiled = await image.withIccProfile('p3').withMetadata({ icc: 'p3', orientation: 3 }).png().toBuffer();
    const path = join(folder, 'p3.png');
    await sharp(profiled).keepMetadata().toFile(path);
    const { icc, orientation } = await sharp(path).metadata();
    expect([icc?.length, orientation]).toEqual([expect.any(Number), 3]);
    const stored = await sharp(path, { ignoreIcc: true }).raw().toBuffer();
    expect(stored).toHaveLength(samples.length);
    const turned = await sharp(stored, { raw: { width, height, channels: 3 } })
      .rotate(180)
      .raw()
      .toBuffer();
    const { source } = await converted(path, { compression: 'deflate' });
    expect(worstDifference(await wholeLevel(source), turned)).toBe(0);
    expect(Buffer.from(source.iccProfile?.(0) ?? []).equals(icc ?? Buffer.alloc(0))).toBe(true);
    await source.close();
  });

  it.each([90, 0])('gray ones become color in WebP, which has no gray, at quality %i', async (quality) => {
    for (const bands of [1, 2] as const) {
      const path = join(folder, `webp-${bands}.png`);
      await picture(bands, 8).image.png({ compressionLevel: 1 }).toFile(path);
      const { source } = await converted(path, { compression: 'webp', quality });
      expect(source.metadata.bandCount).toBe(bands + 2);
      await source.close();
    }
  });
});

it.each([
  ['in one pass', {}, 'pyramid', undefined],
  ['whose levels have the nearest pixels', { reduction: 'nearest' }, 'base', undefined],
  ['that is not upright', {}, 'base', 3],
] as const)('a lossy TIFF %s is converted to JPEG by default', async (_name, request, kind, orientation) => {
  const path = join(folder, 'lossy.tif');
  await picture(3, 8).image.withMetadata({ orientation }).tiff({ compression: 'jpeg' }).toFile(path);
  const { passes, output } = await converted(path, request);
  expect(passes).toEqual([kind]);
  expect(await isLossyTiff(output)).toBe(true);
});

it('a sample without a value is left out of means, and is kept in a lossless copy', async () => {
  const [side, noValue] = [512, 201];
  const samples = Buffer.from(
    Array.from({ length: side * side }, (_, at) => ((at + Math.floor(at / side)) % 2 === 0 ? noValue : 100)),
  );
  const path = join(folder, 'without-value.tif');
  await writeFile(path, writeTiff([{ tags: { ...grayTags(side, side, side), 42_113: { ascii: '201' } }, chunks: [samples] }]));
  const grays = async (source: TileSource) => {
    const { bytes } = (await openLargeImage(source).region({ width: 100, encoding: 'PNG' })) as EncodedPicture;
    return [...new Set(await sharp(bytes).extractChannel(0).raw().toBuffer())];
  };
  const original = await tiffSource.open(fileInput(path));
  expect(await grays(original)).toEqual([100]);
  await original.close();
  for (const [compression, nodata] of [
    ['deflate', noValue],
    ['jpeg', undefined],
  ] as const) {
    const { source } = await converted(path, { compression, reduction: 'mean' });
    expect(source.metadata.nodata).toBe(nodata);
    if (nodata !== undefined) expect(await grays(source)).toEqual([100]);
    await source.close();
  }
});

describe('the resolution of a picture', () => {
  it.each(['jpeg', 'png'] as const)('is kept in every pass from %s, unless it is that of a screen', async (format) => {
    for (const [name, long, density] of [
      ['small', 40, 2000],
      ['long', width, 2000],
      ['screen', 40, 72],
    ] as const) {
      const path = join(folder, `${name}.${format}`);
      const create = { width: long, height: 4, channels: 3, background: '#456' } as const;
      await sharp({ create }).withMetadata({ density }).toFormat(format).toFile(path);
      for (const request of [{ compression: 'jpeg' }, { compression: 'zstd' }] as const) {
        const { source, output } = await converted(path, request);
        const mm = density === 72 ? null : expect.closeTo(25.4 / density, 6);
        expect(source.metadata).toMatchObject({ mmX: mm, mmY: mm });
        await source.close();
        // Other programs read it from the tags, which libvips does not do for unknown compressions.
        if (request.compression === 'jpeg' && density !== 72) expect((await sharp(output).metadata()).density).toBe(density);
      }
    }
  });
});
