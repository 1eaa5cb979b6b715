/** One tag: numbers of SHORT, LONG or LONG8, text, bytes, or pairs of a RATIONAL. */
export type TagValue =
  | { short: number[] }
  | { long: number[] }
  | { long8: number[] }
  | { ascii: string }
  | { bytes: Uint8Array }
  | { rational: [number, number][] };

/** A directory to be written. Offsets and lengths of chunks are filled in from `chunks`. */
export interface WrittenDirectory {
  tags: Record<number, TagValue>;
  /** Encoded tiles (with tags 322 and 323) or strips; `null` is one that was never written. */
  chunks: (Uint8Array | null)[];
  sub?: WrittenDirectory[];
}

export interface WriteOptions {
  bigEndian?: boolean;
  big?: boolean;
  /** Index of the main directory to which the last one points back, which makes a loop. */
  loopTo?: number;
}

/** Writes TIFF files byte by byte, including invalid ones. */
export function writeTiff(directories: WrittenDirectory[], options: WriteOptions = {}): Buffer {
  const { bigEndian = false, big = false } = options;
  const offsetSize = big ? 8 : 4;
  const parts: Buffer[] = [];
  let size = 0;
  const number = (value: number, bytes: number): Buffer => {
    const buffer = Buffer.alloc(bytes);
    if (bytes === 8) {
      if (bigEndian) buffer.writeBigUInt64BE(BigInt(value));
      else buffer.writeBigUInt64LE(BigInt(value));
    } else if (bigEndian) buffer.writeUIntBE(value, 0, bytes);
    else buffer.writeUIntLE(value, 0, bytes);
    return buffer;
  };
  const append = (bytes: Uint8Array): number => {
    const padding = size % 8 === 0 ? 0 : 8 - (size % 8);
    parts.push(Buffer.alloc(padding), Buffer.from(bytes));
    size += padding + bytes.length;
    return size - bytes.length;
  };
  const encode = (value: TagValue): { type: number; count: number; bytes: Buffer } => {
    if ('short' in value)
      return { type: 3, count: value.short.length, bytes: Buffer.concat(value.short.map((n) => number(n, 2))) };
    if ('long' in value) return { type: 4, count: value.long.length, bytes: Buffer.concat(value.long.map((n) => number(n, 4))) };
    if ('long8' in value)
      return { type: 16, count: value.long8.length, bytes: Buffer.concat(value.long8.map((n) => number(n, 8))) };
    if ('ascii' in value) return { type: 2, count: Buffer.byteLength(value.ascii) + 1, bytes: Buffer.from(`${value.ascii}\0`) };
    if ('bytes' in value) return { type: 7, count: value.bytes.length, bytes: Buffer.from(value.bytes) };
    const flat = value.rational.flatMap((pair) => pair.map((n) => number(n, 4)));
    return { type: 5, count: value.rational.length, bytes: Buffer.concat(flat) };
  };
  append(Buffer.alloc(big ? 16 : 8));
  /**
   * Writes a directory with everything that belongs to it. Returns its offset, and the position of its pointer to the next one.
   */
  const write = (directory: WrittenDirectory): { offset: number; next: number } => {
    const tags: Record<number, TagValue> = { ...directory.tags };
    if (directory.chunks.length > 0) {
      const tiled = 322 in tags;
      const offsets = directory.chunks.map((chunk) => (chunk === null ? 0 : append(chunk)));
      const lengths = directory.chunks.map((chunk) => chunk?.length ?? 0);
      tags[tiled ? 324 : 273] ??= big ? { long8: offsets } : { long: offsets };
      tags[tiled ? 325 : 279] ??= { long: lengths };
    }
    if (directory.sub !== undefined) tags[330] = { long: directory.sub.map((sub) => write(sub).offset) };
    const entries = Object.entries(tags).map(([tag, value]) => {
      const { type, count, bytes } = encode(value);
      const field = Buffer.alloc(offsetSize);
      if (bytes.length <= offsetSize) bytes.copy(field);
      else number(append(bytes), offsetSize).copy(field);
      return Buffer.concat([number(Number(tag), 2), number(type, 2), number(count, offsetSize), field]);
    });
    const body = Buffer.concat([number(entries.length, big ? 8 : 2), ...entries, Buffer.alloc(offsetSize)]);
    const offset = append(body);
    return { offset, next: offset + body.length - offsetSize };
  };
  const written = directories.map(write);
  const file = Buffer.concat(parts);
  const order = bigEndian ? 'MM' : 'II';
  const first = written[0]?.offset ?? 0;
  const header = big
    ? [Buffer.from(order), number(43, 2), number(8, 2), number(0, 2), number(first, 8)]
    : [Buffer.from(order), number(42, 2), number(first, 4)];
  Buffer.concat(header).copy(file);
  for (const [index, { next }] of written.entries()) {
    const target = written[index + 1]?.offset ?? (options.loopTo === undefined ? 0 : (written[options.loopTo]?.offset ?? 0));
    number(target, offsetSize).copy(file, next);
  }
  return file;
}

/** Tags of an uncompressed 8-bit gray image of these sizes, stored in tiles. */
export function grayTags(width: number, height: number, tile: number): Record<number, TagValue> {
  return {
    256: { long: [width] },
    257: { long: [height] },
    258: { short: [8] },
    259: { short: [1] },
    262: { short: [1] },
    277: { short: [1] },
    322: { short: [tile] },
    323: { short: [tile] },
  };
}
