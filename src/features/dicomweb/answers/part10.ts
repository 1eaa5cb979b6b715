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
  frameCount: number;
  /** Length of each frame in bytes if samples are native. */
  frameBytes: number;
  bitsAllocated: number;
  /** Length of an encoded frame in bytes; `null` if lengths are not known in advance. */
  frameLengthOf: ((frame: number) => number) | null;
  makeFrame: (frame: number) => Promise<Uint8Array>;
  signal: AbortSignal;
}

const itemTag = 0xe0_00_ff_fe;
const sequenceEndTag = 0xe0_dd_ff_fe;

/** The header of an element with a 32-bit length. A length of -1 means that an end marker follows the value. */
export function elementHeader(tag: string, vr: string, length: number): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16LE(Number.parseInt(tag.slice(0, 4), 16), 0);
  header.writeUInt16LE(Number.parseInt(tag.slice(4), 16), 2);
  header.write(vr, 4, 'latin1');
  header.writeUInt32LE(length < 0 ? 0xff_ff_ff_ff : length, 8);
  return header;
}

/** The header of an item, or an end marker: a tag and a length. A length of -1 means that an end marker follows the item. */
export function itemHeader(length: number, tag: 'item' | 'end of item' | 'end of sequence' = 'item'): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32LE({ item: itemTag, 'end of item': 0xe0_0d_ff_fe, 'end of sequence': sequenceEndTag }[tag], 0);
  header.writeUInt32LE(length < 0 ? 0xff_ff_ff_ff : length, 4);
  return header;
}

/** A DICOM file whose frames are made while it is sent. @throws LargeImageError `not-acceptable` for too many native samples. */
export async function createDicomFile(parts: FileParts): Promise<StreamedFile> {
  const attributeBytes = Buffer.concat([fileMeta(parts), toBytes(parts.attributes)]);
  return parts.syntax === transferSyntaxes.explicitLittle
    ? createNativeFile(attributeBytes, parts)
    : createEncapsulatedFile(attributeBytes, parts);
}

function createNativeFile(attributeBytes: Buffer, { frameCount, frameBytes, bitsAllocated, makeFrame }: FileParts): StreamedFile {
  const length = frameCount * frameBytes;
  if (length > maxNativeBytes) {
    throw new LargeImageError(
      'not-acceptable',
      `The samples are ${length} bytes; a native file can contain at most ${maxNativeBytes}.`,
    );
  }
  const paddingBytes = length % 2;
  return {
    head: Buffer.concat([attributeBytes, elementHeader('7FE00010', bitsAllocated === 8 ? 'OB' : 'OW', length + paddingBytes)]),
    pieceCount: frameCount,
    startOf: (frame) => frame * frameBytes,
    makePiece: makeFrame,
    tail: Buffer.alloc(paddingBytes),
  };
}

async function createEncapsulatedFile(attributeBytes: Buffer, parts: FileParts): Promise<StreamedFile> {
  const { frameCount, frameLengthOf, signal } = parts;
  const makePiece = async (frame: number) => fragmentOf(await parts.makeFrame(frame));
  const pixelDataHeader = elementHeader('7FE00010', 'OB', -1);
  const tail = itemHeader(0, 'end of sequence');
  if (frameLengthOf === null)
    return {
      head: Buffer.concat([attributeBytes, pixelDataHeader, itemHeader(0)]),
      pieceCount: frameCount,
      startOf: null,
      makePiece,
      tail,
    };
  // Offsets of the fragments after the head, in bytes. The last entry is the total length of the fragments.
  const frameStarts = new Float64Array(frameCount + 1);
  for (let frame = 0; frame < frameCount; frame++) {
    const length = frameLengthOf(frame);
    frameStarts[frame + 1] = frameStarts[frame]! + 8 + length + (length % 2);
    if (frame % 65_536 === 0 && isSliceOver()) await nextSlice(signal);
  }
  const tables =
    frameStarts[frameCount]! > 0xff_ff_ff_ff ? await extendedOffsetTables(frameStarts, frameLengthOf, signal) : Buffer.alloc(0);
  const offsets = tables.length > 0 ? Buffer.alloc(0) : Buffer.from(Uint32Array.from(frameStarts.subarray(0, frameCount)).buffer);
  return {
    head: Buffer.concat([attributeBytes, tables, pixelDataHeader, itemHeader(offsets.length), offsets]),
    pieceCount: frameCount,
    startOf: (frame) => frameStarts[frame]!,
    makePiece,
    tail,
  };
}

/** Tables of the offsets and lengths of frames in 64 bits (PS3.3 C.7.6.3.1.8). */
async function extendedOffsetTables(
  frameStarts: Float64Array,
  lengthOf: (frame: number) => number,
  signal: AbortSignal,
): Promise<Buffer> {
  const frameCount = frameStarts.length - 1;
  const [offsets, lengths] = [Buffer.alloc(frameCount * 8), Buffer.alloc(frameCount * 8)];
  for (let frame = 0; frame < frameCount; frame++) {
    offsets.writeBigUInt64LE(BigInt(frameStarts[frame]!), frame * 8);
    const length = lengthOf(frame);
    lengths.writeBigUInt64LE(BigInt(length + (length % 2)), frame * 8);
    if (frame % 8192 === 0 && isSliceOver()) await nextSlice(signal);
  }
  return Buffer.concat([
    elementHeader('7FE00001', 'OV', offsets.length),
    offsets,
    elementHeader('7FE00002', 'OV', lengths.length),
    lengths,
  ]);
}

/** A frame as a fragment: an item header, and the frame padded to an even length. */
function fragmentOf(frame: Uint8Array): Uint8Array {
  const paddedLength = frame.length + (frame.length % 2);
  const bytes = Buffer.alloc(8 + paddedLength);
  itemHeader(paddedLength).copy(bytes);
  bytes.set(frame, 8);
  return bytes;
}
