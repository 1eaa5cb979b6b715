import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLargeImage } from '../../../src/tilesource/large-image.js';
import { tileGrid } from '../../../src/tilesource/geometry.js';
import { fullValue, minValue, sampleArrays, type Raster, type SampleType } from '../../../src/tilesource/raster.js';
import type { EncodedPicture, LargeImage } from '../../../src/tilesource/requests.js';
import { scanlinesSource } from '../../../src/tilesource/sources/scanlines/scanlines-source.js';
import { createByteConverter } from '../../../src/tilesource/render/pixels.js';
import { sharpSource } from '../../../src/tilesource/sources/sharp/sharp-source.js';
import { tiffSource } from '../../../src/tilesource/sources/tiff/tiff-source.js';
import type { TileSource } from '../../../src/tilesource/tile-source.js';
import { memoryInput } from '../../support/images/memory-input.js';
import { otherSources, paddedTiles, tileSide } from '../../support/images/other-sources.js';
import { paint, rasterSource } from '../../support/images/raster-source.js';
import { writeTiff, type TagValue } from '../../support/writers/tiff-writer.js';

const [width, height] = [400, 272];
const types = Object.keys(sampleArrays) as SampleType[];

/** Fine structure, noise and an edge, over the whole range; opaque if there is alpha. */
function picture(dtype: SampleType, bands: number): Raster {
  const isFloat = dtype.startsWith('float');
  const [least, full] = isFloat ? [0, 255] : [minValue(dtype), fullValue(dtype)];
  return paint({ width, height, bands, dtype }, (x, y, band) => {
    if ((bands === 2 || bands === 4) && band === bands - 1) return full;
    const part = x < 100 ? (x + y) % 2 : x < 200 ? ((x * 7919 + y * 104_729 + band * 31) % 997) / 996 : x > 301 ? 1 : 0.25;
    return isFloat ? least + part * (full - least) : Math.round(least + part * (full - least));
  });
}

/** An uncompressed TIFF, in tiles or as one strip. */
function tiffOf(raster: Raster, isTiled: boolean): Buffer {
  const { data, bands, dtype } = raster;
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const colors = bands === 3 || bands === 4 ? 3 : 1;
  const each = (value: number) => ({ short: Array.from({ length: bands }, () => value) });
  const extra = Array.from({ length: bands - colors }, () => (bands === 2 || bands === 4 ? 2 : 0));
  const tags: Record<number, TagValue> = {
    256: { long: [width] },
    257: { long: [height] },
    258: each(data.BYTES_PER_ELEMENT * 8),
    259: { short: [1] },
    262: { short: [colors === 3 ? 2 : 1] },
    277: { short: [bands] },
    339: each(dtype.startsWith('float') ? 3 : dtype.startsWith('int') ? 2 : 1),
  };
  if (extra.length > 0) tags[338] = { short: extra };
  if (!isTiled) return writeTiff([{ tags: { ...tags, 278: { long: [height] } }, chunks: [bytes] }]);
  const chunks = paddedTiles(raster).map(({ bytes: tile }) => tile);
  return writeTiff([{ tags: { ...tags, 322: { long: [tileSide] }, 323: { long: [tileSide] } }, chunks }]);
}

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'same-reduction-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The same samples in every source that can hold them. */
async function sourcesOf(raster: Raster): Promise<[string, TileSource][]> {
  const { bands, dtype, data } = raster;
  const options = { temporaryDirectory: folder };
  const sources: [string, TileSource][] = [
    ['tiles in memory', rasterSource(raster, { tileWidth: tileSide, tileHeight: tileSide }).source],
    ['tiles of odd sides', rasterSource(raster, { tileWidth: 50, tileHeight: 37 }).source],
    ['TIFF in tiles', await tiffSource.open(memoryInput(tiffOf(raster, true), 'a.tif'), options)],
    ['TIFF in a strip', await tiffSource.open(memoryInput(tiffOf(raster, false), 'a.tif'), options)],
  ];
  if (dtype === 'uint8' && bands <= 4) {
    const channels = bands as 1 | 2 | 3 | 4;
    const image = sharp(data as Uint8Array, { raw: { width, height, channels } });
    const png = await (bands <= 2 ? image.toColourspace('b-w') : image).png().toBuffer();
    sources.push(['PNG', await sharpSource.open(memoryInput(png, 'a.png'), options)]);
  }
  if ((dtype === 'uint8' || dtype === 'uint16') && bands <= 4) {
    const type = ['GRAYSCALE', 'GRAYSCALE_ALPHA', 'RGB', 'RGB_ALPHA'][bands - 1];
    const head = `P7\nWIDTH ${width}\nHEIGHT ${height}\nDEPTH ${bands}\nMAXVAL ${fullValue(dtype)}\nTUPLTYPE ${type}\nENDHDR\n`;
    const body = Buffer.from(Uint8Array.from(new Uint8Array(data.buffer, data.byteOffset, data.byteLength)));
    if (dtype === 'uint16') body.swap16();
    sources.push([
      'PAM',
      await scanlinesSource.open(memoryInput(Buffer.concat([Buffer.from(head, 'latin1'), body]), 'a.pam'), options),
    ]);
  }
  for (const each of await otherSources(raster)) sources.push(each);
  return sources;
}

async function pixelsOf(picture: unknown): Promise<{ data: Buffer; width: number; height: number; channels: number }> {
  const { bytes } = picture as EncodedPicture;
  const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
  return { data, width: info.width, height: info.height, channels: info.channels };
}

/** The tiles of a level in one picture. */
async function tilesOf(image: LargeImage, source: TileSource, scale: number) {
  const level = source.metadata.levels - 1 - Math.log2(scale);
  if (level < 0) return null;
  const { tileWidth, tileHeight } = source.metadata;
  const { columns, rows } = tileGrid(source.metadata, level);
  const parts: { input: Buffer; left: number; top: number }[] = [];
  for (let y = 0; y < rows; y += 1) {
    for (let x = 0; x < columns; x += 1) {
      const { bytes } = await image.tile({ level, x, y, encoding: 'PNG', edge: 'crop' });
      parts.push({ input: Buffer.from(bytes), left: x * tileWidth, top: y * tileHeight });
    }
  }
  const { channels } = await sharp(parts[0]!.input).metadata();
  const create = {
    width: width / scale,
    height: height / scale,
    channels: 4 as const,
    background: { r: 0, g: 0, b: 0, alpha: 0 },
  };
  const joined = await sharp({ create }).composite(parts).png().toBuffer();
  const gray = channels <= 2 ? sharp(joined).toColourspace('b-w') : sharp(joined);
  return (channels % 2 === 1 ? gray.removeAlpha() : gray).png().toBuffer();
}

/** The averages of blocks of displayed pixels, computed in the simplest way. */
function blockMeans({ data, bands, dtype }: Raster, scale: number): Awaited<ReturnType<typeof pixelsOf>> {
  const shown = createByteConverter(dtype);
  const channels = bands > 4 ? 3 : bands;
  const size = { width: width / scale, height: height / scale };
  const out = Buffer.alloc(size.width * size.height * channels);
  for (let at = 0; at < out.length; at += 1) {
    const [band, pixel] = [at % channels, Math.floor(at / channels)];
    const [left, top] = [(pixel % size.width) * scale, Math.floor(pixel / size.width) * scale];
    let sum = 0;
    for (let y = top; y < top + scale; y += 1) {
      for (let x = left; x < left + scale; x += 1) sum += data[(y * width + x) * bands + band]!;
    }
    out[at] = shown(sum / scale ** 2);
  }
  return { data: out, ...size, channels };
}

/** The largest difference of two pictures outside two pixels of the border. */
function difference(a: Awaited<ReturnType<typeof pixelsOf>>, b: typeof a): number {
  if (a.width !== b.width || a.height !== b.height) return Infinity;
  const shown = Math.min(a.channels, b.channels, 3) === 2 ? 1 : Math.min(a.channels, b.channels, 3);
  let most = 0;
  for (let y = 2; y < a.height - 2; y += 1) {
    for (let x = 2; x < a.width - 2; x += 1) {
      for (let band = 0; band < shown; band += 1) {
        const one = a.data[(y * a.width + x) * a.channels + band]!;
        const other = b.data[(y * b.width + x) * b.channels + band]!;
        most = Math.max(most, Math.abs(one - other));
      }
    }
  }
  return most;
}

const sizes = [
  [2, 200, 136],
  [4, 100, 68],
  [8, 50, 34],
  [null, 150, 102],
  [null, 25, 17],
] as const;

describe('reduced pictures', () => {
  for (const dtype of types) {
    it.each([1, 2, 3, 4, 5])(`of ${dtype} with %i bands are the same by every path and source`, async (bands) => {
      const raster = picture(dtype, bands);
      const sources = await sourcesOf(raster);
      for (const [scale, wide, high] of sizes) {
        let first = scale === null ? null : blockMeans(raster, scale);
        const differing: string[] = [];
        for (const [name, source] of sources) {
          const image = openLargeImage(source);
          const size = { width: wide, height: high, encoding: 'PNG' };
          const plan = () => image.iiifPlan({ region: 'full', size: `${wide},${high}`, rotation: '0', file: 'default.png' }, 0);
          const paths: [string, () => Promise<unknown>][] = [
            ['region', () => image.region(size)],
            ['thumbnail', () => image.thumbnail(size)],
            ['iiif', () => image.iiifPicture(plan(), { frame: 0 })],
          ];
          if (scale !== null) paths.push(['tiles', async () => ({ bytes: await tilesOf(image, source, scale) })]);
          for (const [path, make] of paths) {
            const encoded = (await make()) as EncodedPicture;
            if (encoded.bytes === null) continue;
            const pixels = await pixelsOf(encoded);
            first ??= pixels;
            const worst = difference(first, pixels);
            if (worst > 2) differing.push(`${name}, ${path} at ${wide} x ${high}: ${worst}`);
          }
        }
        expect(differing).toEqual([]);
      }
      for (const [, source] of sources) await source.close();
    });
  }

  it('are gray when samples alternate', async () => {
    const raster = paint({ width, height, bands: 1, dtype: 'uint16' }, (x, y) => ((x + y) % 2) * 60_000);
    const { data } = await pixelsOf(
      await openLargeImage(rasterSource(raster).source).thumbnail({ width: 50, height: 34, encoding: 'PNG' }),
    );
    expect([...new Set(data)]).toEqual([117]);
  });
});
