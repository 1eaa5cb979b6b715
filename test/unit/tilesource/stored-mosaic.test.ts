import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { TileReader } from '../../../src/tilesource/compose.js';
import type { TileAddress, TileSource } from '../../../src/tilesource/contract.js';
import { jpegForm } from '../../../src/tilesource/stored-mosaic.js';
import { paint, rasterSource } from '../../support/raster-source.js';

const side = 64;
const box = { left: 10, top: 20, width: 300, height: 210 };

/** A source that holds its tiles as JPEG, and counts how often it decodes one itself. */
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

async function bothWays(made: ReturnType<typeof jpegSource>) {
  const level = made.source.metadata.levels - 1;
  const together = await new TileReader(made.source).readBox({ level, frame: 0, box });
  const decoded = made.decoded();
  const { metadata, populatedLevels } = made.source;
  const single: TileSource = {
    metadata,
    populatedLevels,
    readTile: (...call) => made.source.readTile(...call),
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
    // Only those at the border, which are not stored whole.
    expect(decoded).toBeLessThanOrEqual(4);
  });

  it('are completed by decoded ones where some are not stored', async () => {
    const { together, apart } = await bothWays(jpegSource(3, '4:4:4', (bytes, { x, y }) => ((x + y) % 2 ? null : bytes)));
    expect([...together.data]).toEqual([...apart.data]);
  });

  it('are decoded one by one where one is damaged or of another form', async () => {
    const damage = (bytes: Buffer, { x, y }: TileAddress) => (x === 1 && y === 1 ? bytes.subarray(0, 300) : bytes);
    const cut = await bothWays(jpegSource(3, '4:4:4', damage));
    expect([...cut.together.data]).toEqual([...cut.apart.data]);
    const odd = await bothWays(jpegSource(3, '4:4:4', (bytes, { x }) => (x === 1 ? Buffer.from('no picture') : bytes)));
    expect([...odd.together.data]).toEqual([...odd.apart.data]);
  });

  it('are refused where they are no baseline JPEG', async () => {
    const create = { width: 16, height: 16, channels: 3 as const, background: 'red' };
    expect(jpegForm(await sharp({ create }).jpeg().toBuffer())).toMatchObject({
      width: 16,
      height: 16,
      components: 3,
      plainColor: false,
    });
    expect(jpegForm(await sharp({ create }).jpeg({ progressive: true }).toBuffer())).toBeNull();
    expect(jpegForm(Buffer.from([0xff, 0xd8, 0xff, 0xda, 0, 0]))).toBeNull();
    expect(jpegForm(Buffer.alloc(0))).toBeNull();
  });
});
