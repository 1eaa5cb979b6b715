import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import { LargeImageError } from '../../../errors.js';
import { fileMeta, toBytes, transferSyntaxes, type Attributes } from '../format/dataset.js';
import { maxNativeBytes } from '../images/structure.js';
import type { StreamedFile } from './streamed-file.js';

/** The parts of a DICOM file with pixel data. */
export interface FileParts {
  classUid: string;
  instanceUid: string;
  syntax: string;
  attributes: Attributes;
  frames: number;
  /** Length of every frame in bytes if samples are native. */
  frameBytes: number;
  bitsAllocated: number;
  /** Lengths of encoded frames; `null` if they are not known in advance. */
  lengthOf: ((frame: number) => number) | null;
  frame: (number: number) => Promise<Uint8Array>;
  signal: AbortSignal;
}

const itemTag = 0xe0_00_ff_fe;
const endTag = 0xe0_dd_ff_fe;

/** The header of an element with a 32-bit length. A length of -1 means that an end marker follows the value. */
export function elementHeader(tag: string, vr: string, length: number): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16LE(Number.parseInt(tag.slice(0, 4), 16), 0);
  header.writeUInt16LE(Number.parseInt(tag.slice(4), 16), 2);
  header.write(vr, 4, 'latin1');
  header.writeUInt32LE(length < 0 ? 0xff_ff_ff_ff : length, 8);
  return header;
}

/** The header of an item, or an end mark: a tag, and a length. */
export function itemHeader(length: number, tag: 'item' | 'end of item' | 'end of sequence' = 'item'): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32LE({ item: itemTag, 'end of item': 0xe0_0d_ff_fe, 'end of sequence': endTag }[tag], 0);
  header.writeUInt32LE(length < 0 ? 0xff_ff_ff_ff : length, 4);
  return header;
}

/** @throws LargeImageError `not-acceptable` if there are too many native samples. */
export async function part10(parts: FileParts): Promise<StreamedFile> {
  const before = Buffer.concat([fileMeta(parts), toBytes(parts.attributes)]);
  return parts.syntax === transferSyntaxes.explicitLittle ? nativeFile(before, parts) : encapsulatedFile(before, parts);
}

function nativeFile(before: Buffer, { frames, frameBytes, bitsAllocated, frame }: FileParts): StreamedFile {
  const length = frames * frameBytes;
  if (length > maxNativeBytes) {
    throw new LargeImageError(
      'not-acceptable',
      `The samples are ${length} bytes; a native file can contain at most ${maxNativeBytes}.`,
    );
  }
  const padding = length % 2;
  return {
    head: Buffer.concat([before, elementHeader('7FE00010', bitsAllocated === 8 ? 'OB' : 'OW', length + padding)]),
    count: frames,
    startOf: (number) => number * frameBytes,
    piece: frame,
    tail: Buffer.alloc(padding),
  };
}

async function encapsulatedFile(before: Buffer, parts: FileParts): Promise<StreamedFile> {
  const { frames, lengthOf, signal } = parts;
  const piece = async (number: number) => fragment(await parts.frame(number));
  const pixels = elementHeader('7FE00010', 'OB', -1);
  const tail = itemHeader(0, 'end of sequence');
  if (lengthOf === null)
    return { head: Buffer.concat([before, pixels, itemHeader(0)]), count: frames, startOf: null, piece, tail };
  const starts = new Float64Array(frames + 1);
  for (let number = 0; number < frames; number++) {
    const length = lengthOf(number);
    starts[number + 1] = starts[number]! + 8 + length + (length % 2);
    if (number % 65_536 === 0 && isSliceOver()) await nextSlice(signal);
  }
  const tables = starts[frames]! > 0xff_ff_ff_ff ? await extendedTables(starts, lengthOf, signal) : Buffer.alloc(0);
  const offsets = tables.length > 0 ? Buffer.alloc(0) : Buffer.from(Uint32Array.from(starts.subarray(0, frames)).buffer);
  return {
    head: Buffer.concat([before, tables, pixels, itemHeader(offsets.length), offsets]),
    count: frames,
    startOf: (number) => starts[number]!,
    piece,
    tail,
  };
}

/** Offsets of 64 bits, with lengths of frames (PS3.3 C.7.6.3.1.8). */
async function extendedTables(starts: Float64Array, lengthOf: (frame: number) => number, signal: AbortSignal): Promise<Buffer> {
  const frames = starts.length - 1;
  const [offsets, lengths] = [Buffer.alloc(frames * 8), Buffer.alloc(frames * 8)];
  for (let number = 0; number < frames; number++) {
    offsets.writeBigUInt64LE(BigInt(starts[number]!), number * 8);
    const length = lengthOf(number);
    lengths.writeBigUInt64LE(BigInt(length + (length % 2)), number * 8);
    if (number % 8192 === 0 && isSliceOver()) await nextSlice(signal);
  }
  return Buffer.concat([
    elementHeader('7FE00001', 'OV', offsets.length),
    offsets,
    elementHeader('7FE00002', 'OV', lengths.length),
    lengths,
  ]);
}

/** A frame as a fragment of an even length. */
function fragment(frame: Uint8Array): Uint8Array {
  const padded = frame.length + (frame.length % 2);
  const bytes = Buffer.alloc(8 + padded);
  itemHeader(padded).copy(bytes);
  bytes.set(frame, 8);
  return bytes;
}
