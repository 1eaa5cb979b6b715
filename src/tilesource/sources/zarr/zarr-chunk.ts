import { promisify } from 'node:util';
import { gunzip, gunzipSync, inflate, inflateSync } from 'node:zlib';
import { bufferOf } from '../../../core/buffer-of.js';
import { halfToFloat } from '../../raster.js';
import { decodeLz4 } from '../../codecs/lz4.js';
import { zstdContentSize } from '../../codecs/zstd-header.js';
import { removeChecksum } from './checksum.js';

/** A codec that converts the bytes of a chunk to other bytes. */
export interface ByteCodec {
  name: 'blosc' | 'gzip' | 'zlib' | 'zstd' | 'lz4' | 'crc32c';
}

/** Sample types of arrays. */
export type ZarrType =
  | 'bool'
  | 'int8'
  | 'uint8'
  | 'int16'
  | 'uint16'
  | 'int32'
  | 'uint32'
  | 'int64'
  | 'uint64'
  | 'float16'
  | 'float32'
  | 'float64';

/** An encoded chunk of an array. */
export interface ZarrChunk {
  bytes: Uint8Array;
  type: ZarrType;
  isBigEndian: boolean;
  /** Size along each axis. */
  shape: readonly number[];
  /** The codecs in the order in which the writer applied them. */
  codecs: readonly ByteCodec[];
  /** The axes in the order in which samples are stored, the slowest axis first. `null` if this is the order of the array's axes. */
  order: readonly number[] | null;
}

/** Size of a stored sample in bytes. */
export const zarrTypeBytes: Readonly<Record<ZarrType, number>> = {
  bool: 1,
  int8: 1,
  uint8: 1,
  int16: 2,
  uint16: 2,
  int32: 4,
  uint32: 4,
  int64: 8,
  uint64: 8,
  float16: 2,
  float32: 4,
  float64: 8,
};

/** Decoders from libraries that are loaded when they are first needed. */
export interface ZarrLibraries {
  blosc(bytes: Uint8Array): Promise<Uint8Array>;
  zstd(bytes: Uint8Array, size: number): Promise<Uint8Array>;
}

/** Checks the size in bytes that the header declares at `at`. @throws Error if it is larger than `max`, or if the header is cut off. */
function checkDeclaredSize(bytes: Uint8Array, at: number, max: number): void {
  if (bytes.length < at + 4) throw new Error('the header of the chunk is incomplete');
  const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(at, true);
  if (size > max) throw new Error(tooLargeText(size, max));
}

const tooLargeText = (size: number, max: number) => `${size} bytes are declared where at most ${max} are expected`;

async function undoCodec(
  bytes: Uint8Array,
  { name }: ByteCodec,
  maxBytes: number,
  libraries: ZarrLibraries,
): Promise<Uint8Array> {
  switch (name) {
    case 'crc32c': {
      const data = removeChecksum(bytes);
      if (data === null) throw new Error('the checksum of the chunk does not match');
      return data;
    }
    case 'gzip':
      return gunzipSync(bytes, { maxOutputLength: maxBytes });
    case 'zlib':
      return inflateSync(bytes, { maxOutputLength: maxBytes });
    case 'blosc':
      checkDeclaredSize(bytes, 4, maxBytes);
      // The header contains the length of the encoded bytes.
      checkDeclaredSize(bytes, 12, bytes.length);
      return libraries.blosc(bytes);
    case 'lz4':
      checkDeclaredSize(bytes, 0, maxBytes);
      return decodeLz4(bytes);
    case 'zstd': {
      const size = zstdContentSize(bytes);
      if (size !== null && size > maxBytes) throw new Error(tooLargeText(size, maxBytes));
      return libraries.zstd(bytes, size ?? maxBytes);
    }
  }
}

function swapBytes(bytes: Uint8Array, size: number): void {
  const buffer = bufferOf(bytes);
  if (size === 2) buffer.swap16();
  else if (size === 4) buffer.swap32();
  else if (size === 8) buffer.swap64();
}

/** Converts samples to types of rasters: 64-bit integers become doubles, and half floats become single floats. */
function widenSamples(bytes: Uint8Array<ArrayBuffer>, type: ZarrType): Uint8Array<ArrayBuffer> {
  if (type === 'float16') return new Uint8Array(Float32Array.from(new Uint16Array(bytes.buffer), halfToFloat).buffer);
  if (type === 'int64') return new Uint8Array(Float64Array.from(new BigInt64Array(bytes.buffer), Number).buffer);
  if (type === 'uint64') return new Uint8Array(Float64Array.from(new BigUint64Array(bytes.buffer), Number).buffer);
  return bytes;
}

/** Reorders samples that are stored in the axis order `order` to the order of the array's axes. */
function transposeSamples(
  bytes: Uint8Array<ArrayBuffer>,
  { type, shape }: ZarrChunk,
  order: readonly number[],
): Uint8Array<ArrayBuffer> {
  const sampleSize = zarrTypeBytes[type];
  const strides = Array.from({ length: shape.length }, () => 0);
  let stride = sampleSize;
  for (const axis of order.toReversed()) {
    strides[axis] = stride;
    stride *= shape[axis]!;
  }
  const out = new Uint8Array(bytes.length);
  const position = shape.map(() => 0);
  let from = 0;
  for (let to = 0; to < out.length; to += sampleSize) {
    for (let i = 0; i < sampleSize; i++) out[to + i] = bytes[from + i]!;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      from += strides[axis]!;
      if (++position[axis]! < shape[axis]!) break;
      from -= strides[axis]! * shape[axis]!;
      position[axis] = 0;
    }
  }
  return out;
}

/** Size in bytes of all stored samples of a chunk. */
function storedLength({ shape, type }: Pick<ZarrChunk, 'shape' | 'type'>): number {
  return shape.reduce((product, size) => product * size, zarrTypeBytes[type]);
}

const inflaters = { gzip: promisify(gunzip), zlib: promisify(inflate) };

/** Number of extra bytes that a decoder may produce before the length is checked. */
const spareBytes = 64;

function requireLength(bytes: Uint8Array, length: number): void {
  if (bytes.length !== length) throw new Error(`a chunk of ${bytes.length} bytes where ${length} are expected`);
}

/**
 * The decoder of chunks whose samples are only deflated; `null` if the chunks are encoded in a different way or need conversion.
 */
function inflaterOf({ codecs, type, order, isBigEndian }: Omit<ZarrChunk, 'bytes'>): (typeof inflaters)['gzip' | 'zlib'] | null {
  const [codec, ...otherCodecs] = codecs;
  if (otherCodecs.length > 0 || (codec?.name !== 'gzip' && codec?.name !== 'zlib')) return null;
  const isWidened = type === 'float16' || type === 'int64' || type === 'uint64';
  return order !== null || isBigEndian || isWidened ? null : inflaters[codec.name];
}

/**
 * Returns a function that decodes chunks like {@link decodeZarrChunk}; `null` unless the chunks are only deflated. Node.js inflates
 * in its own threads, so that bytes need not be copied to a codec thread and back.
 */
export function createZarrInflater(
  encoding: Omit<ZarrChunk, 'bytes'>,
): ((encodedBytes: Uint8Array) => Promise<Uint8Array<ArrayBuffer>>) | null {
  const inflater = inflaterOf(encoding);
  if (inflater === null) return null;
  const length = storedLength(encoding);
  const maxBytes = length + spareBytes;
  return async (encodedBytes) => {
    const bytes = await inflater(encodedBytes, { maxOutputLength: maxBytes, chunkSize: Math.max(maxBytes, 64) });
    requireLength(bytes, length);
    return new Uint8Array(bytes.buffer, bytes.byteOffset, length);
  };
}

/**
 * Decodes a chunk to little-endian samples in the order of the axes. @throws Error if the chunk is corrupt, or its size differs
 * from its shape.
 */
export async function decodeZarrChunk(chunk: ZarrChunk, libraries: ZarrLibraries): Promise<Uint8Array<ArrayBuffer>> {
  const length = storedLength(chunk);
  let { bytes } = chunk;
  for (const codec of chunk.codecs.toReversed()) bytes = await undoCodec(bytes, codec, length + spareBytes, libraries);
  requireLength(bytes, length);
  // The bytes are copied to a new buffer, in which typed arrays are aligned.
  const copy = new Uint8Array(bytes);
  if (chunk.isBigEndian) swapBytes(copy, zarrTypeBytes[chunk.type]);
  return widenSamples(chunk.order === null ? copy : transposeSamples(copy, chunk, chunk.order), chunk.type);
}
