import { bufferOf } from '../../../../core/buffer-of.js';
import { halfToFloat, bitsOf, createRaster, type Raster, type Samples } from '../../../raster.js';
import type { ImageLayout } from '../tiff-layout.js';

/** Decompressed but otherwise unchanged bytes of consecutive rows of a plane, and their layout. */
export interface StoredRows {
  bytes: Uint8Array;
  width: number;
  rows: number;
  /** Number of interleaved samples per pixel: all its samples, or 1 if planes are stored separately. */
  samples: number;
  littleEndian: boolean;
}

type SampleLayout = Pick<ImageLayout, 'bits' | 'sampleFormat' | 'predictor' | 'dtype' | 'photometric'>;

function swapBytes(bytes: Uint8Array, sampleSize: number): void {
  const buffer = bufferOf(bytes);
  if (sampleSize === 2) buffer.swap16();
  else if (sampleSize === 4) buffer.swap32();
  else if (sampleSize === 8) buffer.swap64();
}

/** Undoes horizontal differencing in place. Sums wrap around at the depth of the samples because of the array's type. */
function undoDifferences(data: Uint8Array | Uint16Array | Uint32Array | BigUint64Array, rowLength: number, stride: number): void {
  if (data instanceof BigUint64Array) {
    for (let start = 0; start < data.length; start += rowLength) {
      for (let i = start + stride; i < start + rowLength; i++) data[i] = (data[i] ?? 0n) + (data[i - stride] ?? 0n);
    }
    return;
  }
  for (let start = 0; start < data.length; start += rowLength) {
    for (let i = start + stride; i < start + rowLength; i++) data[i] = (data[i] ?? 0) + (data[i - stride] ?? 0);
  }
}

/**
 * Undoes the floating-point predictor: bytes are differences, and each row has the highest bytes of all samples first, then all
 * next bytes.
 */
function undoFloatPredictor(storedRows: StoredRows, sampleSize: number): Uint8Array {
  const { bytes, rows, samples } = storedRows;
  const samplesPerRow = storedRows.width * samples;
  const rowBytes = samplesPerRow * sampleSize;
  undoDifferences(bytes, rowBytes, samples);
  const result = new Uint8Array(bytes.length);
  for (let y = 0; y < rows; y++) {
    const start = y * rowBytes;
    for (let plane = 0; plane < sampleSize; plane++) {
      const from = start + plane * samplesPerRow;
      // The first plane is the most significant byte, which is the last one of a little-endian number.
      const to = start + sampleSize - 1 - plane;
      for (let i = 0; i < samplesPerRow; i++) result[to + i * sampleSize] = bytes[from + i] ?? 0;
    }
  }
  return result;
}

/**
 * Unpacks samples of depths other than 8, 16, 32 and 64 bits. They follow each other without gaps, highest bit first. Byte order
 * matters only for samples of 24 bits.
 */
function unpackBits(storedRows: StoredRows, bits: number): Uint8Array | Uint16Array | Uint32Array {
  if (bits > 16) return unpackWide(storedRows, bits);
  const { bytes, rows } = storedRows;
  const samplesPerRow = storedRows.width * storedRows.samples;
  const rowBytes = Math.ceil((samplesPerRow * bits) / 8);
  const data = bits > 8 ? new Uint16Array(samplesPerRow * rows) : new Uint8Array(samplesPerRow * rows);
  const mask = 2 ** bits - 1;
  for (let y = 0, out = 0; y < rows; y++) {
    const start = y * rowBytes;
    for (let x = 0; x < samplesPerRow; x++) {
      const bit = x * bits;
      const at = start + (bit >> 3);
      // Any sample of up to 16 bits is contained in three bytes.
      const threeBytes = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
      data[out++] = (threeBytes >> (24 - bits - (bit & 7))) & mask;
    }
  }
  return data;
}

/** Unpacks samples of 17 to 31 bits. */
function unpackWide({ bytes, rows, width, samples, littleEndian }: StoredRows, bits: number): Uint32Array {
  const samplesPerRow = width * samples;
  const rowBytes = Math.ceil((samplesPerRow * bits) / 8);
  const data = new Uint32Array(samplesPerRow * rows);
  const isReversed = bits === 24 && littleEndian;
  for (let y = 0, out = 0; y < rows; y++) {
    for (let x = 0; x < samplesPerRow; x++) {
      const bit = x * bits;
      const at = y * rowBytes + (bit >> 3);
      let fiveBytes = 0;
      for (let i = 0; i < 5; i++) fiveBytes = fiveBytes * 256 + (bytes[isReversed && i < 3 ? at + 2 - i : at + i] ?? 0);
      data[out++] = Math.floor(fiveBytes / 2 ** (40 - bits - (bit & 7))) % 2 ** bits;
    }
  }
  return data;
}

/** Converts unpacked bits to signed numbers, and scales samples of fewer than 8 bits to the range of a byte. */
function toSigned(data: ArrayLike<number>, bits: number): Samples {
  const shift = 32 - bits;
  const factor = 127 / Math.max(1, 2 ** (bits - 1) - 1);
  const extendSign = (value: number): number => (value << shift) >> shift;
  if (bits < 8) return Int8Array.from(data, (value) => Math.max(-128, Math.round(extendSign(value) * factor)));
  return bits < 16 ? Int16Array.from(data, extendSign) : Int32Array.from(data, extendSign);
}

/** The samples in little-endian bytes, for depths of 8, 16, 32 and 64 bits. */
function viewSamples(bytes: Uint8Array, layout: SampleLayout): Samples {
  const { sampleFormat, bits } = layout;
  const length = bytes.byteLength / (bits / 8);
  if (bits === 64) {
    if (sampleFormat === 3) return new Float64Array(bytes.buffer, 0, length);
    const integers =
      sampleFormat === 2 ? new BigInt64Array(bytes.buffer, 0, length) : new BigUint64Array(bytes.buffer, 0, length);
    return Float64Array.from(integers, Number);
  }
  if (bits === 32) {
    if (sampleFormat === 3) return new Float32Array(bytes.buffer, 0, length);
    return sampleFormat === 2 ? new Int32Array(bytes.buffer, 0, length) : new Uint32Array(bytes.buffer, 0, length);
  }
  if (bits === 16) {
    if (sampleFormat === 3) return Float32Array.from(new Uint16Array(bytes.buffer, 0, length), halfToFloat);
    return sampleFormat === 2 ? new Int16Array(bytes.buffer, 0, length) : new Uint16Array(bytes.buffer, 0, length);
  }
  return sampleFormat === 2 ? new Int8Array(bytes.buffer, 0, length) : new Uint8Array(bytes.buffer, 0, length);
}

/**
 * Converts decompressed bytes to samples: predictor, byte order and depth. Depths below 8 are scaled to 8 bits, except palette
 * indexes. Machines are assumed to be little-endian, like every platform of Node for which libvips is built.
 */
export function interpretSamples(storedRows: StoredRows, layout: SampleLayout): Samples {
  const { bits, predictor } = layout;
  if (![8, 16, 32, 64].includes(bits)) {
    const data = unpackBits(storedRows, bits);
    if (layout.sampleFormat === 2) return toSigned(data, bits);
    // Photometric 3 is a palette, whose indexes are not intensities.
    if (bits < 8 && layout.photometric !== 3) {
      const factor = 255 / (2 ** bits - 1);
      for (let i = 0; i < data.length; i++) data[i] = Math.round((data[i] ?? 0) * factor);
    }
    return data;
  }
  const sampleSize = bits / 8;
  const rowLength = storedRows.width * storedRows.samples;
  // The bytes are copied to a new buffer, because typed arrays need alignment and predictors work in place.
  const bytes = new Uint8Array(storedRows.bytes);
  if (predictor === 3) return viewSamples(undoFloatPredictor({ ...storedRows, bytes }, sampleSize), layout);
  if (!storedRows.littleEndian) swapBytes(bytes, sampleSize);
  if (predictor === 2) {
    const length = bytes.length / sampleSize;
    if (sampleSize === 1) undoDifferences(bytes, rowLength, storedRows.samples);
    else if (sampleSize === 2) undoDifferences(new Uint16Array(bytes.buffer, 0, length), rowLength, storedRows.samples);
    else if (sampleSize === 4) undoDifferences(new Uint32Array(bytes.buffer, 0, length), rowLength, storedRows.samples);
    else undoDifferences(new BigUint64Array(bytes.buffer, 0, length), rowLength, storedRows.samples);
  }
  return viewSamples(bytes, layout);
}

/** Interleaves separately stored planes of equal size. */
export function interleave(planes: readonly Samples[], shape: { width: number; height: number; dtype: Raster['dtype'] }): Raster {
  const raster = createRaster({ ...shape, bands: planes.length });
  const data = bitsOf(raster.data);
  for (const [band, samples] of planes.entries()) {
    const plane = bitsOf(samples);
    for (let i = 0, out = band; i < plane.length; i++, out += planes.length) data[out] = plane[i] ?? 0;
  }
  return raster;
}

/** Joins the bytes of consecutive strips. A single strip is not copied. */
export function joinStrips(strips: readonly Uint8Array[]): Uint8Array {
  const [onlyStrip] = strips;
  return strips.length === 1 && onlyStrip !== undefined ? onlyStrip : Buffer.concat(strips);
}
