import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileInput } from '../../../../src/tilesource/byte-reader.js';
import { TileReader } from '../../../../src/tilesource/render/compose.js';
import type { TileAddress, TileSource } from '../../../../src/tilesource/tile-source.js';
import { openLargeImage } from '../../../../src/tilesource/large-image.js';
import type { RegionRequest } from '../../../../src/tilesource/requests.js';
import { tiffSource } from '../../../../src/tilesource/sources/tiff/tiff-source.js';
import { readJpegForm } from '../../../../src/tilesource/render/stored-mosaic.js';
import { paint, rasterSource } from '../../../support/images/raster-source.js';

const side = 64;
const box = { left: 10, top: 20, width: 300, height: 210 };

/** A source that stores its tiles as JPEG, and counts how often it decodes one itself. */
function jpegSource(
  bands: 1 | 3,
  chromaSubsampling: string,
  change: (bytes: Buffer, tile: TileAddress) => Buffer | null = (bytes) => bytes,
) {
  const raster = paint({ width: 330, height: 260, bands }, (x, y, band) => (x * (band + 1) + y * 2) % 256);
  const { source: plain } = rasterSource(raster, { tileWidth: side, tileHeight: side });
  const encode = async (tile: TileAddress) => {
    const { data } = await plain.readTile(tile);
    const image = sharp(Buffer.from(data.buffer), { raw: { width: side, height: side, channels: bands } });
    return (bands === 1 ? image.toColourspace('b-w') : image).jpeg({ quality: 90, chromaSubsampling }).toBuffer();
  };
  const inside = ({ x, y }: TileAddress) => (x + 1) * side <= 330 && (y + 1) * side <= 260;
  let decoded = 0;
  const source: TileSource = {
    ...plain,
    async readTile(tile) {
      decoded += 1;
      if (!inside(tile)) return plain.readTile(tile);
      const image = sharp(await encode(tile));
      const data = await (bands === 1 ? image.toColourspace('b-w') : image).raw().toBuffer();
      return { data, width: side, height: side, bands, dtype: 'uint8' };
    },
    async readStoredTile(tile) {
      if (!inside(tile)) return null;
      const bytes = change(await encode(tile), tile);
      return bytes && { encoding: 'JPEG', bytes, width: side, height: side };
    },
  };
  return { source, decoded: () => decoded };
}

async function bothWays(jpeg: ReturnType<typeof jpegSource>) {
  const level = jpeg.source.metadata.levels - 1;
  const together = await new TileReader(jpeg.source).readBox({ level, frame: 0, box });
  const decoded = jpeg.decoded();
  const { metadata, populatedLevels } = jpeg.source;
  const single: TileSource = {
    metadata,
    populatedLevels,
    readTile: (...call) => jpeg.source.readTile(...call),
    close: async () => {},
  };
  const apart = await new TileReader(single).readBox({ level, frame: 0, box });
  return { together, apart, decoded };
}

describe('stored tiles decoded together', () => {
  it.each([
    [3, '4:4:4'],
    [3, '4:2:0'],
    [1, '4:4:4'],
  ] as const)('give the pixels of tiles decoded one by one: %i bands, %s', async (bands, subsampling) => {
    const { together, apart, decoded } = await bothWays(jpegSource(bands, subsampling));
    expect(
      Buffer.compare(
        Buffer.from(together.data.buffer, together.data.byteOffset, together.data.length),
        Buffer.from(apart.data.buffer),
      ),
    ).toBe(0);
    // It decodes only tiles at the border, which are not stored completely.
    expect(decoded).toBeLessThanOrEqual(4);
  });

  it('are completed by decoded ones when some are not stored', async () => {
    const { together, apart } = await bothWays(jpegSource(3, '4:4:4', (bytes, { x, y }) => ((x + y) % 2 ? null : bytes)));
    expect([...together.data]).toEqual([...apart.data]);
  });

  it('are decoded one by one when one is damaged or has a different form', async () => {
    const damage = (bytes: Buffer, { x, y }: TileAddress) => (x === 1 && y === 1 ? bytes.subarray(0, 300) : bytes);
    const cut = await bothWays(jpegSource(3, '4:4:4', damage));
    expect([...cut.together.data]).toEqual([...cut.apart.data]);
    const odd = await bothWays(jpegSource(3, '4:4:4', (bytes, { x }) => (x === 1 ? Buffer.from('no picture') : bytes)));
    expect([...odd.together.data]).toEqual([...odd.apart.data]);
  });

  it('are refused when they are not baseline JPEG', async () => {
    const create = { width: 16, height: 16, channels: 3 as const, background: 'red' };
    expect(readJpegForm(await sharp({ create }).jpeg().toBuffer())).toMatchObject({
      width: 16,
      height: 16,
      components: 3,
      isRgb: false,
    });
    expect(readJpegForm(await sharp({ create }).jpeg({ progressive: true }).toBuffer())).toBeNull();
    expect(readJpegForm(Buffer.from([0xff, 0xd8, 0xff, 0xda, 0, 0]))).toBeNull();
    expect(readJpegForm(Buffer.alloc(0))).toBeNull();
  });
});

describe('regions of stored tiles, decoded and encoded in one pass', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'stored-mosaic-'));
  });
  afterAll(() => rm(directory, { recursive: true, force: true }));

  /** A pyramid with odd sides that are not multiples of the tile size, so that its levels are rounded. */
  async function openSlide(bands: 1 | 3, quality: number) {
    const [width, height] = [517, 387];
    const samples = Buffer.from(
      Array.from({ length: width * height * bands }, (_, at) => {
        const [x, y] = [Math.floor(at / bands) % width, Math.floor(at / bands / width)];
        return 128 + 100 * Math.sin((x * (1 + (at % bands))) / 23) * Math.cos(y / 31);
      }),
    );
    const path = join(directory, `${bands}-${quality}.tif`);
    const image = sharp(samples, { raw: { width, height, channels: bands } });
    const shown = bands === 1 ? image.toColourspace('b-w') : image;
    const tiles = { tile: true, tileWidth: 64, tileHeight: 64, pyramid: true };
    await writeFile(path, await shown.tiff({ ...tiles, compression: 'jpeg', quality }).toBuffer());
    return tiffSource.open(fileInput(path));
  }

  const requests: RegionRequest[] = [
    { width: 100, height: 100 },
    { left: 350, top: 250 },
    { left: 325, top: 200, width: 150 },
    { left: 5, top: 5, right: 45, bottom: 50 },
    { left: 66, top: 66, right: 125, bottom: 125, width: 240, encoding: 'PNG' },
    { left: 500, width: 15, encoding: 'WEBP' },
    { width: 150, height: 150, fill: 'gray', encoding: 'PNG' },
    { width: 150, height: 150, fill: '#12ab34' },
    { width: 150, resample: 0, encoding: 'PPM' },
  ];

  it.each([
    [3, 80],
    [3, 95],
    [1, 80],
  ] as const)('have the bytes of those drawn tile by tile: %i bands, quality %i', async (bands, quality) => {
    const source = await openSlide(bands, quality);
    const { metadata, populatedLevels } = source;
    expect(populatedLevels.length).toBeGreaterThan(2);
    let decoded = 0;
    const readTile: TileSource['readTile'] = (...call) => {
      decoded += 1;
      return source.readTile(...call);
    };
    const stored = { metadata, populatedLevels, readTile, readStoredTile: source.readStoredTile!.bind(source) };
    const together = openLargeImage({ ...stored, close: async () => {} });
    const apart = openLargeImage({ metadata, populatedLevels, readTile, close: async () => {} });
    for (const request of requests) {
      decoded = 0;
      const picture = await together.region(request);
      const decodedTogether = decoded;
      const other = await apart.region(request);
      if (picture.kind !== 'bytes' || other.kind !== 'bytes') throw new Error('not TILED');
      expect(Buffer.compare(picture.bytes, other.bytes), JSON.stringify(request)).toBe(0);
      // A color that gray pictures do not have is painted on what was drawn.
      if (bands === 3 || request.fill !== '#12ab34') expect(decodedTogether, JSON.stringify(request)).toBeLessThanOrEqual(1);
      expect(decoded).toBeGreaterThan(decodedTogether);
    }
    await source.close();
  });

  it('are drawn tile by tile when a tile is damaged, which the error names', async () => {
    const source = await openSlide(3, 80);
    const { metadata, populatedLevels } = source;
    const broken = openLargeImage({
      metadata,
      populatedLevels,
      readTile: (tile) => (tile.x === 1 && tile.y === 1 ? Promise.reject(new Error('tile 1, 1')) : source.readTile(tile)),
      async readStoredTile(tile, options) {
        const stored = await source.readStoredTile!(tile, options);
        return stored && tile.x === 1 && tile.y === 1 ? { ...stored, bytes: stored.bytes.subarray(0, 250) } : stored;
      },
      close: async () => {},
    });
    await expect(broken.region({ left: 0, top: 0, right: 125, bottom: 125 })).rejects.toThrow('tile 1, 1');
    expect(await broken.region({ left: 0, top: 0, right: 60, bottom: 125 })).toMatchObject({ kind: 'bytes' });
    await source.close();
  });
});

it('at most 32 stored tiles of an image are read at the same time, for any number of regions', async () => {
  const raster = paint({ width: 16 * 16, height: 16 * 10, bands: 1 }, (x) => x);
  const { source: plain } = rasterSource(raster, { tileWidth: 16, tileHeight: 16 });
  const gray = sharp(Buffer.alloc(256, 99), { raw: { width: 16, height: 16, channels: 1 } }).toColourspace('b-w');
  const bytes = await gray.jpeg().toBuffer();
  let [reading, most] = [0, 0];
  const source: TileSource = {
    ...plain,
    async readStoredTile() {
      reading += 1;
      most = Math.max(most, reading);
      await new Promise((resolve) => setImmediate(resolve));
      reading -= 1;
      return { encoding: 'JPEG', bytes, width: 16, height: 16 };
    },
  };
  const reader = new TileReader(source);
  const request = { level: source.metadata.levels - 1, frame: 0, box: { left: 0, top: 0, width: 256, height: 160 } };
  await Promise.all([reader.readBox(request), reader.readBox(request)]);
  expect(most).toBe(32);
});
