import { createRequire } from 'node:module';
import { TileSourceRegistry } from '../../../src/tilesource/registry/registry.js';
import type { Raster, SampleType } from '../../../src/tilesource/raster.js';
import { cziSource } from '../../../src/tilesource/sources/czi/czi-source.js';
import { dicomSource } from '../../../src/tilesource/sources/dicom/dicom-source.js';
import { jpeg2000Source } from '../../../src/tilesource/sources/jpeg2000/jpeg2000-source.js';
import { multiSource } from '../../../src/tilesource/sources/multi/multi-source.js';
import { zarrSource } from '../../../src/tilesource/sources/zarr/zarr-source.js';
import type { TileSource, TileSourceDefinition } from '../../../src/tilesource/tile-source.js';
import { writeCzi } from '../writers/czi-writer.js';
import { writeDicom } from '../writers/dicom-writer.js';
import { writeZip } from '../writers/zip-writer.js';
import { memoryFolder } from './folder-input.js';
import { memoryInput } from './memory-input.js';
import { rasterSource } from './raster-source.js';

/** Side of the tiles, in pixels. */
export const tileSide = 64;

/** The bytes of tiles of 64 pixels a side, filled up with zeros at the border, row by row. */
export function paddedTiles({ data, width, height, bands }: Raster): { left: number; top: number; bytes: Buffer }[] {
  const pixelBytes = data.BYTES_PER_ELEMENT * bands;
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  const tiles: { left: number; top: number; bytes: Buffer }[] = [];
  for (let top = 0; top < height; top += tileSide) {
    for (let left = 0; left < width; left += tileSide) {
      const tile = Buffer.alloc(tileSide * tileSide * pixelBytes);
      const length = Math.min(tileSide, width - left) * pixelBytes;
      for (let y = 0; y < Math.min(tileSide, height - top); y += 1) {
        const from = ((top + y) * width + left) * pixelBytes;
        bytes.copy(tile, y * tileSide * pixelBytes, from, from + length);
      }
      tiles.push({ left, top, bytes: tile });
    }
  }
  return tiles;
}

/** Blue first, as CZI stores colors. */
function blueFirst({ data, bands, ...shape }: Raster): Raster {
  const turned = data.slice();
  for (let at = 0; at < data.length; at += bands)
    for (let band = 0; band < bands; band += 1) turned[at + band] = data[at + 2 - band]!;
  return { ...shape, bands, data: turned };
}

const cziTypes: Record<string, number> = {
  'uint8/1': 0,
  'uint16/1': 1,
  'float32/1': 2,
  'uint8/3': 3,
  'uint16/3': 4,
  'uint32/1': 12,
};

async function czi(raster: Raster): Promise<TileSource | null> {
  const pixelType = cziTypes[`${raster.dtype}/${raster.bands}`];
  if (pixelType === undefined) return null;
  const { width, height, bands } = raster;
  const pixelBytes = raster.data.BYTES_PER_ELEMENT * bands;
  const blocks = paddedTiles(bands === 3 ? blueFirst(raster) : raster).map(({ left, top, bytes }) => {
    const [storedWidth, storedHeight] = [Math.min(tileSide, width - left), Math.min(tileSide, height - top)];
    const rows = Array.from({ length: storedHeight }, (_, y) =>
      bytes.subarray(y * tileSide * pixelBytes, (y * tileSide + storedWidth) * pixelBytes),
    );
    return { axes: { C: 0 }, left, top, storedWidth, storedHeight, pixelType, compression: 0, data: Buffer.concat(rows) };
  });
  return cziSource.open(memoryInput(writeCzi({ blocks }).file, 'a.czi'));
}

async function dicom({ data, width, height, bands, dtype }: Raster): Promise<TileSource | null> {
  const bits = data.BYTES_PER_ELEMENT * 8;
  if (dtype.startsWith('float') || bits > 16 || (bands !== 1 && !(bands === 3 && dtype === 'uint8'))) return null;
  const { file } = writeDicom({
    rows: height,
    columns: width,
    frames: [new Uint8Array(data.buffer, data.byteOffset, data.byteLength)],
    transferSyntax: '1.2.840.10008.1.2.1',
    photometric: bands === 1 ? 'MONOCHROME2' : 'RGB',
    samples: bands,
    bits,
    isSigned: dtype.startsWith('int'),
  });
  return dicomSource.open(memoryInput(file, 'a.dcm'));
}

const zarrTypes: Record<SampleType, string> = {
  uint8: '|u1',
  int8: '|i1',
  uint16: '<u2',
  int16: '<i2',
  uint32: '<u4',
  int32: '<i4',
  float32: '<f4',
  float64: '<f8',
};

async function zarr(raster: Raster): Promise<TileSource | null> {
  const { width, height, bands, dtype } = raster;
  if (bands !== 1) return null;
  const axes = ['y', 'x'].map((name) => ({ name, type: 'space' }));
  const files: Record<string, Uint8Array | string> = {
    '.zattrs': JSON.stringify({ multiscales: [{ axes, datasets: [{ path: '0' }] }] }),
    '0/.zarray': JSON.stringify({
      zarr_format: 2,
      shape: [height, width],
      chunks: [tileSide, tileSide],
      dtype: zarrTypes[dtype],
      fill_value: 0,
      order: 'C',
      filters: null,
      compressor: null,
    }),
  };
  for (const { left, top, bytes } of paddedTiles(raster)) files[`0/${top / tileSide}.${left / tileSide}`] = bytes;
  return zarrSource.open(memoryInput(writeZip(files).file, 'a.zarr.zip'));
}

interface Encoder {
  getDecodedBuffer(info: {
    width: number;
    height: number;
    bitsPerSample: number;
    componentCount: number;
    isSigned: boolean;
  }): Uint8Array;
  setQuality(isLossless: boolean, rate: number): void;
  setDecompositions(count: number): void;
  encode(): void;
  getEncodedBuffer(): Uint8Array;
  delete(): void;
}
const openjpeg = createRequire(import.meta.url)('@cornerstonejs/codec-openjpeg') as () => Promise<{
  J2KEncoder: new () => Encoder;
}>;

/** Few kinds of samples, because the encoder makes no tiles, so the whole image is decoded for each tile. */
const jpeg2000Kinds = ['uint8/3', 'uint16/1', 'int16/1'];

/** A codestream without smaller sizes. */
async function jpeg2000({ data, width, height, bands, dtype }: Raster): Promise<TileSource | null> {
  if (!jpeg2000Kinds.includes(`${dtype}/${bands}`)) return null;
  const bitsPerSample = data.BYTES_PER_ELEMENT * 8;
  const encoder = new (await openjpeg()).J2KEncoder();
  const input = { width, height, bitsPerSample, componentCount: bands, isSigned: dtype.startsWith('int') };
  encoder.getDecodedBuffer(input).set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
  encoder.setQuality(true, 0);
  encoder.setDecompositions(0);
  encoder.encode();
  const file = Buffer.from(encoder.getEncodedBuffer());
  encoder.delete();
  return jpeg2000Source.open(memoryInput(file, 'a.j2k'));
}

/** The left and the right part as two images, next to each other. */
async function multi(raster: Raster): Promise<TileSource> {
  const split = 4 * tileSide;
  const part = (left: number, width: number): Raster => {
    const data = raster.data.slice(0, width * raster.height * raster.bands);
    for (let y = 0; y < raster.height; y += 1) {
      const from = (y * raster.width + left) * raster.bands;
      data.set(raster.data.subarray(from, from + width * raster.bands), y * width * raster.bands);
    }
    return { ...raster, width, data };
  };
  const parts = { 'a.raster': part(0, split), 'b.raster': part(split, raster.width - split) };
  const rasters: TileSourceDefinition = {
    name: 'rasters',
    extensions: { raster: 0, default: 12 },
    mimeTypes: { default: 12 },
    open: async ({ name }) =>
      rasterSource(parts[name as keyof typeof parts], { tileWidth: tileSide, tileHeight: tileSide }).source,
  };
  const description = {
    tileWidth: tileSide,
    tileHeight: tileSide,
    sources: [
      { path: 'a.raster', position: { x: 0, y: 0 }, z: 0 },
      { path: 'b.raster', position: { x: split, y: 0 }, z: 0 },
    ],
  };
  const files = { 'multi.yaml': Buffer.from(JSON.stringify(description)), 'a.raster': Buffer.of(1), 'b.raster': Buffer.of(1) };
  const registry = new TileSourceRegistry().register(rasters, multiSource);
  return multiSource.open(memoryFolder(files, registry).input('multi.yaml'));
}

/** A raster as CZI, DICOM, JPEG 2000 and Zarr, if these formats support it, and as an image made of two others. */
export async function otherSources(raster: Raster): Promise<[string, TileSource][]> {
  const sources: [string, TileSource | null][] = [
    ['CZI', await czi(raster)],
    ['DICOM', await dicom(raster)],
    ['JPEG 2000', await jpeg2000(raster)],
    ['Zarr', await zarr(raster)],
    ['two images', await multi(raster)],
  ];
  return sources.filter((each): each is [string, TileSource] => each[1] !== null);
}
