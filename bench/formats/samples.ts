/** Large files of each format. Each file repeats one picture of tissue-like noise. */
import { createRequire } from 'node:module';
import { open, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import sharp from 'sharp';
import type { TileSourceDefinition } from '../../src/tilesource/tile-source.js';
import { TiffContainer } from '../../src/tilesource/pyramid/container.js';
import { jpegFormTags } from '../../src/tilesource/convert/jpeg-form.js';
import { levelDirectories, createLevel } from '../../src/tilesource/pyramid/levels.js';
import { cziSource } from '../../src/tilesource/sources/czi/czi-source.js';
import { deepZoomSource } from '../../src/tilesource/sources/deepzoom/deepzoom-source.js';
import { dicomSource } from '../../src/tilesource/sources/dicom/dicom-source.js';
import { jpeg2000Source } from '../../src/tilesource/sources/jpeg2000/jpeg2000-source.js';
import { scanlinesSource } from '../../src/tilesource/sources/scanlines/scanlines-source.js';
import { tiffSource } from '../../src/tilesource/sources/tiff/tiff-source.js';
import { zarrSource } from '../../src/tilesource/sources/zarr/zarr-source.js';
import { writeCzi } from '../../test/support/writers/czi-writer.js';
import { writeDicom } from '../../test/support/writers/dicom-writer.js';
import { writeZip } from '../../test/support/writers/zip-writer.js';

/** A file of a format, and the work of the format's library for one tile. */
export interface Sample {
  name: string;
  source: TileSourceDefinition;
  path: string;
  /** Decodes the stored bytes of one tile of the finest level. */
  library: () => unknown;
  /** Whether another sample already covers the source, for measurements in which the pixels do not matter. */
  isVariant?: boolean;
}

const side = 512;

/** Pixels that look like tissue, so that their JPEG has a usual length. */
function noise(bands: 1 | 3): Buffer {
  const data = Buffer.alloc(side * side * bands);
  for (let at = 0; at < data.length; at += 1) {
    const pixel = Math.floor(at / bands);
    data[at] = 160 + 60 * Math.sin((pixel % side) / 11) * Math.cos(Math.floor(pixel / side) / 17) + Math.random() * 24;
  }
  return data;
}

const color = noise(3);
const gray = noise(1);
const jpeg = await sharp(color, { raw: { width: side, height: side, channels: 3 } })
  .jpeg({ quality: 90 })
  .toBuffer();
const decodeJpeg = () => sharp(jpeg).raw().toBuffer();

/** Number of tiles across a square image with at least this number of tiles. */
const tilesAcross = (tiles: number) => Math.max(2, Math.ceil(Math.sqrt(tiles)));

async function writeTiff(path: string, bytes: number): Promise<void> {
  const columns = tilesAcross(bytes / jpeg.length);
  const file = await open(path, 'wx+');
  const container = new TiffContainer(file);
  const level = createLevel({ width: columns * side, height: columns * side }, side);
  for (let index = 0; index < columns ** 2; index += 1) {
    level.offsets[index] = await container.append(jpeg);
    level.lengths[index] = jpeg.length;
  }
  const [plan] = levelDirectories([level], side);
  await container.writeDirectories([{ ...plan!, tags: [...plan!.tags, ...jpegFormTags({ color: 'yCbCr', sampling: [2, 2] })] }], {
    bigTiff: 'when needed',
  });
  await file.close();
}

async function writeDicomFile(path: string, bytes: number): Promise<void> {
  const columns = tilesAcross(bytes / jpeg.length);
  const frames = Array.from({ length: columns ** 2 }, () => jpeg);
  const form = { transferSyntax: '1.2.840.10008.1.2.4.50', photometric: 'YBR_FULL_422', samples: 3, bits: 8 };
  const matrix = { columns: columns * side, rows: columns * side };
  await writeFile(path, writeDicom({ ...form, rows: side, columns: side, frames, matrix }).file);
}

async function writeCziFile(path: string, bytes: number): Promise<void> {
  const columns = tilesAcross(bytes / jpeg.length);
  const blocks = Array.from({ length: columns ** 2 }, (_, M) => ({
    axes: { C: 0, M },
    left: (M % columns) * side,
    top: Math.floor(M / columns) * side,
    storedWidth: side,
    storedHeight: side,
    pixelType: 3,
    compression: 1,
    data: jpeg,
  }));
  await writeFile(path, writeCzi({ blocks }).file);
}

const chunk = gzipSync(gray, { level: 5 });

async function writeZarr(path: string, bytes: number): Promise<void> {
  const columns = tilesAcross(bytes / chunk.length);
  const axes = ['y', 'x'].map((name) => ({ name, type: 'space' }));
  const datasets = [{ path: '0', coordinateTransformations: [{ type: 'scale', scale: [1, 1] }] }];
  const shape = { shape: [columns * side, columns * side], chunks: [side, side], dtype: '|u1', order: 'C', fill_value: 0 };
  const files: Record<string, Uint8Array | string> = {
    '.zgroup': JSON.stringify({ zarr_format: 2 }),
    '.zattrs': JSON.stringify({ multiscales: [{ version: '0.4', axes, datasets }] }),
    '0/.zarray': JSON.stringify({
      zarr_format: 2,
      ...shape,
      compressor: { id: 'gzip', level: 5 },
      filters: null,
      dimension_separator: '/',
    }),
  };
  for (let index = 0; index < columns ** 2; index += 1) files[`0/${Math.floor(index / columns)}/${index % columns}`] = chunk;
  await writeFile(path, writeZip(files).file);
}

async function writeDeepZoom(path: string, bytes: number): Promise<void> {
  const columns = tilesAcross(bytes / jpeg.length);
  const width = columns * side;
  const size = `<Size Width="${width}" Height="${width}"/>`;
  const files: Record<string, Uint8Array | string> = {
    'a.dzi': `<?xml version="1.0"?><Image xmlns="http://schemas.microsoft.com/deepzoom/2008" TileSize="${side}" Overlap="0" Format="jpg">${size}</Image>`,
  };
  const level = Math.ceil(Math.log2(width));
  for (let index = 0; index < columns ** 2; index += 1) {
    files[`a_files/${level}/${index % columns}_${Math.floor(index / columns)}.jpg`] = jpeg;
  }
  await writeFile(path, writeZip(files).file);
}

/** The headers of formats whose pixels are rows. The rows are zeros, which take no space on the disk. */
const rowHeaders: Readonly<Record<string, (width: number) => Buffer>> = {
  ppm: (width) => Buffer.from(`P6\n${width} ${width}\n255\n`),
  bmp(width) {
    const head = Buffer.alloc(54);
    head.write('BM', 'latin1');
    const fields = [
      [2, head.length + width * width * 3],
      [10, head.length],
      [14, 40],
      [18, width],
      [22, width],
      [26, 1 + 24 * 2 ** 16],
    ] as const;
    for (const [at, value] of fields) head.writeUInt32LE(value, at);
    return head;
  },
  tga(width) {
    const head = Buffer.alloc(18);
    head[2] = 2;
    head.writeUInt16LE(width, 12);
    head.writeUInt16LE(width, 14);
    head.set([24, 0x20], 16);
    return head;
  },
  // Stored as planes: red, green and blue are frames.
  fits(width) {
    const values = { SIMPLE: 'T', BITPIX: 8, NAXIS: 3, NAXIS1: width, NAXIS2: width, NAXIS3: 3 };
    const cards = Object.entries(values).map(([key, value]) => `${key.padEnd(8)}= ${String(value).padStart(20)}`.padEnd(80));
    return Buffer.from([...cards, 'END'].join('').padEnd(2880), 'latin1');
  },
};

async function writeRows(path: string, bytes: number, head: (width: number) => Buffer): Promise<void> {
  const width = Math.ceil(Math.sqrt(bytes / 3) / 4) * 4;
  await writeFile(path, head(width));
  await truncate(path, Math.ceil((head(width).length + width * width * 3) / 2880) * 2880);
}

interface J2kCodec {
  getDecodedBuffer(info: object): Uint8Array;
  getEncodedBuffer(length?: number): Uint8Array;
  setQuality(lossless: boolean, ratio: number): void;
  encode(): void;
  decode(): void;
  delete(): void;
}

const require = createRequire(import.meta.url);
const loadEncoder = require('@cornerstonejs/codec-openjpeg') as (options: object) => Promise<{ J2KEncoder: new () => J2kCodec }>;
/** This build of the decoder is ten times as fast as the decoder in the full package. */
const loadDecoder = require('@cornerstonejs/codec-openjpeg/decodewasmjs') as (
  options: object,
) => Promise<{ J2KDecoder: new () => J2kCodec }>;

/**
 * Writes a code stream of many tiles, which are copies of one tile that the library made, with different tile numbers. @returns a function
 * that decodes one tile.
 */
async function writeJpeg2000(path: string, fileBytes: number): Promise<() => void> {
  const { J2KEncoder } = await loadEncoder({ print() {}, printErr() {} });
  const wasmBinary = await readFile(require.resolve('@cornerstonejs/codec-openjpeg/decodewasm'));
  const { J2KDecoder } = await loadDecoder({ wasmBinary, print() {}, printErr() {} });
  const encoder = new J2KEncoder();
  encoder.getDecodedBuffer({ width: side, height: side, bitsPerSample: 8, componentCount: 1, isSigned: false }).set(gray);
  encoder.setQuality(true, 0);
  encoder.encode();
  const bytes = Buffer.from(Uint8Array.from(encoder.getEncodedBuffer()));
  let start = 2;
  while (bytes.readUInt16BE(start) !== 0xff_90) start += 2 + bytes.readUInt16BE(start + 2);
  const length = bytes.readUInt32BE(start + 6) || bytes.length - 2 - start;
  const columns = tilesAcross(fileBytes / length);
  const head = Buffer.from(bytes.subarray(0, start));
  const size = head.indexOf(Buffer.of(0xff, 0x51));
  for (const at of [6, 10]) head.writeUInt32BE(columns * side, size + at);
  for (const at of [22, 26]) head.writeUInt32BE(side, size + at);
  const file = await open(path, 'w');
  await file.write(head);
  for (let tile = 0; tile < columns ** 2; tile += 1) {
    const part = Buffer.from(bytes.subarray(start, start + length));
    part.writeUInt16BE(tile, 4);
    part.writeUInt32BE(length, 6);
    await file.write(part);
  }
  await file.write(Buffer.of(0xff, 0xd9));
  await file.close();
  return () => {
    const decoder = new J2KDecoder();
    decoder.getEncodedBuffer(bytes.length).set(bytes);
    decoder.decode();
    decoder.delete();
  };
}

/**
 * Writes a file of each format, one after the other. Each file is removed before the next file is written.
 *
 * @param only a part of the names of the samples to write.
 */
export async function* samples(folder: string, bytes: number, only = ''): AsyncGenerator<Sample> {
  const openRowReader = async (path: string) => {
    const file = await open(path);
    const row = Buffer.alloc(side * 3);
    // Reads as many rows as a tile has, each at its position.
    const read = async () => {
      const start = Math.floor(Math.random() * (bytes / 4));
      for (let y = 0; y < side; y += 1) await file.read(row, 0, row.length, start + y * Math.ceil(Math.sqrt(bytes * 3)));
    };
    return { read, close: () => file.close() };
  };
  const kinds: [
    name: string,
    source: TileSourceDefinition,
    file: string,
    write: (path: string, bytes: number) => Promise<void>,
    library: () => unknown,
  ][] = [
    ['TIFF, JPEG tiles', tiffSource, 'a.tif', writeTiff, decodeJpeg],
    ['DICOM, JPEG frames', dicomSource, 'a.dcm', writeDicomFile, decodeJpeg],
    ['CZI, JPEG blocks', cziSource, 'a.czi', writeCziFile, decodeJpeg],
    ['OME-Zarr, gzip chunks', zarrSource, 'a.zarr.zip', writeZarr, () => gunzipSync(chunk)],
    ['Deep Zoom, JPEG tiles', deepZoomSource, 'a.zip', writeDeepZoom, decodeJpeg],
  ];
  for (const [name, source, file, write, library] of kinds) {
    if (!name.includes(only)) continue;
    const path = join(folder, file);
    await write(path, bytes);
    yield { name, source, path, library };
    await rm(path);
  }
  for (const [extension, head] of Object.entries(rowHeaders)) {
    const name = `${extension === 'ppm' ? 'Netpbm' : extension.toUpperCase()}, rows`;
    if (!name.includes(only)) continue;
    const path = join(folder, `a.${extension}`);
    await writeRows(path, bytes, head);
    const rowReader = await openRowReader(path);
    yield { name, source: scanlinesSource, path, library: rowReader.read, isVariant: extension !== 'ppm' };
    await rowReader.close();
    await rm(path);
  }
  const name = 'JPEG 2000, tiles';
  if (!name.includes(only)) return;
  const path = join(folder, 'a.j2k');
  const library = await writeJpeg2000(path, bytes);
  yield { name, source: jpeg2000Source, path, library };
  await rm(path);
}
