import sharp from 'sharp';
import { forEachRange } from '../../../core/concurrency/slices.js';
import { TileSourceError } from '../../../errors.js';
import { priorities, type TileSourceDefinition } from '../../tile-source.js';
import { createRaster, type Raster } from '../../raster.js';
import { openDecodedPicture, readWholeFile } from './decoded-picture.js';

const headerBytes = 128;
/** The palette of 256 colors is at the end of the file, and is preceded by a byte of this value. */
const paletteMark = 12;
const maxPixels = 2 ** 26;
/** Maximum number of unpacked bytes of all rows and planes, with the padding of each row. */
const maxUnpackedBytes = 4 * maxPixels;
/** Number of rows that are unpacked before other work on the event loop can run. */
const rowsPerSlice = 64;

interface PcxHeader {
  width: number;
  height: number;
  bits: number;
  planes: number;
  /** Bytes of a row of one plane, with padding. */
  rowBytes: number;
  isPacked: boolean;
  /** Red, green and blue of each index; `null` if the samples are colors. */
  palette: Uint8Array | null;
}

function readHeader(bytes: Buffer): PcxHeader {
  const [left, top, right, bottom] = [4, 6, 8, 10].map((at) => bytes.readUInt16LE(at)) as [number, number, number, number];
  const [width, height, bits, planes] = [right - left + 1, bottom - top + 1, bytes[3]!, bytes[65]!];
  const rowBytes = bytes.readUInt16LE(66);
  if (width < 1 || height < 1 || rowBytes * 8 < width * bits) {
    throw new TileSourceError(`Corrupt PCX: rows of ${rowBytes} bytes for ${width} by ${height} pixels of ${bits} bits.`);
  }
  if (width * height > maxPixels)
    throw new TileSourceError(`The PCX has ${width} by ${height} pixels; at most ${maxPixels} are supported.`);
  if (rowBytes * planes * height > maxUnpackedBytes) {
    throw new TileSourceError(
      `The PCX has ${height} rows of ${planes} times ${rowBytes} bytes; at most ${maxUnpackedBytes} bytes in total are supported.`,
    );
  }
  const sampleLayout = `${bits} bits in ${planes} planes`;
  if (
    !['8 bits in 1 planes', '8 bits in 3 planes', '8 bits in 4 planes', '4 bits in 1 planes', '2 bits in 1 planes'].includes(
      sampleLayout,
    ) &&
    !(bits === 1 && planes >= 1 && planes <= 4)
  ) {
    throw new TileSourceError(`The PCX has ${sampleLayout}, which is not supported.`);
  }
  return { width, height, bits, planes, rowBytes, isPacked: bytes[2] === 1, palette: paletteOf(bytes, bits, planes) };
}

function paletteOf(bytes: Buffer, bits: number, planes: number): Uint8Array | null {
  if (bits === 8) {
    const at = bytes.length - 769;
    return planes === 1 && at >= headerBytes && bytes[at] === paletteMark ? bytes.subarray(at + 1) : null;
  }
  // Pictures of two colors are black and white. Their palette is not used.
  const palette = bytes.subarray(16, 64);
  return bits * planes > 1 ? palette : Buffer.from([0, 0, 0, 255, 255, 255]);
}

/**
 * Unpacks the rows of all planes. If the two upper bits of a packed byte are set, its other bits are the number of repetitions of
 * the next byte.
 */
async function unpackRows(bytes: Buffer, pcx: PcxHeader, signal: AbortSignal | undefined): Promise<Uint8Array> {
  const bytesPerRow = pcx.rowBytes * pcx.planes;
  const out = new Uint8Array(bytesPerRow * pcx.height);
  let [at, to] = [headerBytes, 0];
  await forEachRange(
    pcx.height,
    rowsPerSlice,
    (_from, until) => {
      for (const end = until * bytesPerRow; to < end;) {
        const head = bytes[at++];
        if (head === undefined) throw new TileSourceError('Truncated PCX: its rows end too early.');
        const isRun = pcx.isPacked && head >= 0xc0;
        const count = isRun ? head & 0x3f : 1;
        const value = isRun ? bytes[at++] : head;
        if (value === undefined) throw new TileSourceError('Truncated PCX: its rows end too early.');
        out.fill(value, to, Math.min(out.length, to + count));
        to += count;
      }
    },
    signal,
  );
  return out;
}

async function toRaster(rows: Uint8Array, pcx: PcxHeader, signal: AbortSignal | undefined): Promise<Raster> {
  const { width, height, bits, planes, rowBytes, palette } = pcx;
  const isGray = palette === null ? planes === 1 : palette.every((value, at) => value === palette[at - (at % 3)]);
  const bands = palette === null ? planes : isGray ? 1 : 3;
  const raster = createRaster({ width, height, bands, dtype: 'uint8' });
  const sampleAt = (plane: number, x: number, y: number): number => {
    const byte = rows[(y * planes + plane) * rowBytes + ((x * bits) >> 3)]!;
    return (byte >> (8 - bits - ((x * bits) & 7))) & (2 ** bits - 1);
  };
  await forEachRange(
    height,
    rowsPerSlice,
    (from, until) => {
      for (let y = from; y < until; y += 1) {
        for (let x = 0; x < width; x += 1) {
          const to = (y * width + x) * bands;
          if (palette === null) {
            for (let band = 0; band < bands; band += 1) raster.data[to + band] = sampleAt(band, x, y);
            continue;
          }
          let index = 0;
          for (let plane = 0; plane < planes; plane += 1) index += sampleAt(plane, x, y) << (plane * bits);
          for (let band = 0; band < bands; band += 1) raster.data[to + band] = palette[index * 3 + band] ?? 0;
        }
      }
    },
    signal,
  );
  return raster;
}

/** Reads PCX of 1 to 8 bits, with a palette or with planes of colors. */
export const pcxSource: TileSourceDefinition = {
  name: 'pcx',
  extensions: { default: priorities.manual, pcx: priorities.low },
  mimeTypes: { default: priorities.manual, 'image/x-pcx': priorities.low, 'image/vnd.zbrush.pcx': priorities.low },
  async open(input, options = {}) {
    const isPcx = (head: Buffer) => head.length === 64 && head[0] === 10 && head[1]! <= 5 && head[2]! <= 1;
    const bytes = await readWholeFile(input, isPcx, 'PCX', options.signal);
    if (bytes.length <= headerBytes) throw new TileSourceError('Truncated PCX: it ends in its header.');
    const pcx = readHeader(bytes);
    const { data, width, height, bands } = await toRaster(await unpackRows(bytes, pcx, options.signal), pcx, options.signal);
    const image = sharp(data, { raw: { width, height, channels: bands as 1 | 3 | 4 } });
    const png = await image
      .toColourspace(bands === 1 ? 'b-w' : 'srgb')
      .png({ compressionLevel: 1 })
      .toBuffer();
    const { bits, planes } = pcx;
    return openDecodedPicture('pcx', { png, icc: null, metadata: { bits, planes } }, options);
  },
};
