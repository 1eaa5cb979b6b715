import type { FileHandle } from 'node:fs/promises';

/** A tag of a TIFF directory and its value. Rationals are given as decimal numbers. */
export interface Tag {
  tag: number;
  value:
    | { kind: 'short' | 'long' | 'rational'; values: readonly number[] }
    | { kind: 'offset'; values: Float64Array }
    | { kind: 'ascii'; text: string }
    | { kind: 'bytes'; bytes: Uint8Array };
}

/** A directory to be written: its tags, the positions of its tiles or strips in the file, and the SubIFDs of its reduced images. */
export interface DirectoryPlan {
  tags: readonly Tag[];
  chunks: { kind: 'tiles' | 'strips'; offsets: Float64Array; lengths: Float64Array };
  subDirectories?: readonly DirectoryPlan[];
}

/** Maximum length in bytes of a classic TIFF, whose offsets have 32 bits, minus a margin. */
const maxClassicBytes = 2 ** 32 - 2 ** 26;
const headerBytes = 16;
const subIfdsTag = 330;

/**
 * A little-endian TIFF that is written from front to back: first the data of tiles, at the end the directories. The container
 * decides only then whether the file becomes a classic TIFF or a BigTIFF.
 */
export class TiffContainer {
  readonly #file: FileHandle;
  #end = headerBytes;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Appends bytes. Calls may overlap, because each reserves its range at once. @returns the offset of the bytes. */
  async append(bytes: Uint8Array): Promise<number> {
    const at = this.#end;
    this.#end += bytes.length;
    let writtenCount = 0;
    while (writtenCount < bytes.length) {
      const write = await this.#file.write(bytes, writtenCount, bytes.length - writtenCount, at + writtenCount);
      writtenCount += write.bytesWritten;
    }
    return at;
  }

  /** Writes the directories in this order, and the header. @returns the length of the file in bytes. */
  async writeDirectories(directories: readonly DirectoryPlan[], options: { bigTiff: boolean | 'when needed' }): Promise<number> {
    const directoriesBytes = directories.reduce((sum, plan) => sum + maxDirectoryBytes(plan), 0);
    const isBig = options.bigTiff === 'when needed' ? this.#end + directoriesBytes > maxClassicBytes : options.bigTiff;
    let nextOffset = 0;
    for (const plan of directories.toReversed()) nextOffset = await this.#writeDirectory(plan, nextOffset, isBig);
    const header = Buffer.alloc(headerBytes);
    header.write('II', 0, 'latin1');
    if (isBig) {
      header.writeUInt16LE(43, 2); // BigTIFF
      header.writeUInt16LE(8, 4); // bytes of an offset
      header.writeBigUInt64LE(BigInt(nextOffset), 8);
    } else {
      header.writeUInt16LE(42, 2); // classic TIFF
      header.writeUInt32LE(nextOffset, 4);
    }
    await this.#file.write(header, 0, header.length, 0);
    return this.#end;
  }

  /** Writes a directory after its values and SubIFDs. @returns its offset. */
  async #writeDirectory(plan: DirectoryPlan, nextOffset: number, isBig: boolean): Promise<number> {
    // TileOffsets and TileByteCounts, or StripOffsets and StripByteCounts.
    const [offsetsTag, lengthsTag] = plan.chunks.kind === 'tiles' ? [324, 325] : [273, 279];
    const tags: Tag[] = [
      ...plan.tags,
      { tag: offsetsTag, value: { kind: 'offset', values: plan.chunks.offsets } },
      { tag: lengthsTag, value: { kind: 'offset', values: plan.chunks.lengths } },
    ];
    if (plan.subDirectories !== undefined && plan.subDirectories.length > 0) {
      const subOffsets = new Float64Array(plan.subDirectories.length);
      for (const [index, subDirectory] of plan.subDirectories.entries())
        subOffsets[index] = await this.#writeDirectory(subDirectory, 0, isBig);
      tags.push({ tag: subIfdsTag, value: { kind: 'offset', values: subOffsets } });
    }
    const sortedTags = tags.toSorted((a, b) => a.tag - b.tag);
    const entryBytes = isBig ? 20 : 12;
    const countBytes = isBig ? 8 : 2;
    /** Maximum length of a value that is stored in its entry. An offset has the same length. */
    const inlineBytes = isBig ? 8 : 4;
    const out = Buffer.alloc(countBytes + sortedTags.length * entryBytes + inlineBytes);
    if (isBig) out.writeBigUInt64LE(BigInt(sortedTags.length), 0);
    else out.writeUInt16LE(sortedTags.length, 0);
    for (const [index, { tag, value }] of sortedTags.entries()) {
      const { type, count, bytes } = encodeValue(value, isBig);
      const at = countBytes + index * entryBytes;
      out.writeUInt16LE(tag, at);
      out.writeUInt16LE(type, at + 2);
      writeOffset(out, count, at + 4, isBig);
      const valueOffset = at + 4 + inlineBytes;
      if (bytes.length <= inlineBytes) bytes.copy(out, valueOffset);
      else writeOffset(out, await this.#appendEven(bytes), valueOffset, isBig);
    }
    writeOffset(out, nextOffset, out.length - inlineBytes, isBig);
    return this.#appendEven(out);
  }

  /** Appends bytes at an even offset, as the specification requires for directories and long values. */
  async #appendEven(bytes: Uint8Array): Promise<number> {
    this.#end += this.#end % 2;
    return this.append(bytes);
  }
}

/** Maximum length in bytes of a directory with its values and its SubIFDs. */
function maxDirectoryBytes(plan: DirectoryPlan): number {
  const directoryBytes = plan.chunks.offsets.length * 16 + 2048;
  return directoryBytes + (plan.subDirectories ?? []).reduce((sum, subDirectory) => sum + maxDirectoryBytes(subDirectory), 0);
}

function writeOffset(out: Buffer, value: number, at: number, isBig: boolean): void {
  if (isBig) out.writeBigUInt64LE(BigInt(value), at);
  else out.writeUInt32LE(value, at);
}

function encodeValue(value: Tag['value'], isBig: boolean): { type: number; count: number; bytes: Buffer } {
  switch (value.kind) {
    case 'ascii': {
      const bytes = Buffer.from(`${value.text}\0`, 'utf8');
      return { type: 2, count: bytes.length, bytes };
    }
    case 'bytes':
      return { type: 7, count: value.bytes.length, bytes: Buffer.from(value.bytes) };
    case 'short':
      return { type: 3, count: value.values.length, bytes: Buffer.from(Uint16Array.from(value.values).buffer) };
    case 'long':
      return { type: 4, count: value.values.length, bytes: Buffer.from(Uint32Array.from(value.values).buffer) };
    case 'rational':
      return { type: 5, count: value.values.length, bytes: Buffer.concat(value.values.map(encodeRational)) };
    case 'offset': {
      if (!isBig) return { type: 4, count: value.values.length, bytes: Buffer.from(Uint32Array.from(value.values).buffer) };
      const bytes = Buffer.alloc(value.values.length * 8);
      value.values.forEach((offset, index) => bytes.writeBigUInt64LE(BigInt(offset), index * 8));
      return { type: 16, count: value.values.length, bytes };
    }
  }
}

/** Encodes a number as a rational of TIFF: a numerator and a denominator of 32 bits each, chosen for the best precision. */
export function encodeRational(value: number): Buffer {
  const max = 2 ** 32 - 1;
  const denominator = value > 0 ? Math.max(1, Math.min(max, Math.floor(Math.min(max / value, 1e6 / Math.min(1, value))))) : 1;
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(Math.min(max, Math.round(value * denominator)), 0);
  bytes.writeUInt32LE(denominator, 4);
  return bytes;
}

/** Functions that create a tag, by the type of its values. */
export const tagOf = {
  short: (tag: number, ...values: number[]): Tag => ({ tag, value: { kind: 'short', values } }),
  long: (tag: number, ...values: number[]): Tag => ({ tag, value: { kind: 'long', values } }),
  rational: (tag: number, ...values: number[]): Tag => ({ tag, value: { kind: 'rational', values } }),
  ascii: (tag: number, text: string): Tag => ({ tag, value: { kind: 'ascii', text } }),
  bytes: (tag: number, bytes: Uint8Array): Tag => ({ tag, value: { kind: 'bytes', bytes } }),
};
