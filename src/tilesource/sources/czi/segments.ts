import { OtherFormatError, TileSourceError } from '../../../errors.js';
import type { ByteReader } from '../../tile-source.js';

/** Bytes of the header of every segment, which contains its name and two lengths. */
const segmentHeaderBytes = 32;
/** Bytes of the file header that are read. */
const fileHeaderBytes = 80;

/** A segment: a named part of the file. */
export interface Segment {
  /** Position of the segment's data in the file. */
  start: number;
  /** Number of bytes of the segment's data. */
  length: number;
}

export interface CziHeader {
  version: string;
  guid: string;
  directoryPosition: number;
  metadataPosition: number;
  attachmentsPosition: number;
}

/** Reads the segments of a CZI file. Their positions are in the header of the file and in its directories. */
export class CziBytes {
  readonly #reader: ByteReader;

  constructor(reader: ByteReader) {
    this.#reader = reader;
  }

  /** Length of the file. */
  get size(): number {
    return this.#reader.size;
  }

  /**
   * Reads exactly `length` bytes from `offset`. `what` names them in errors.
   *
   * @throws TileSourceError if the file ends too early.
   */
  async readExactly(offset: number, length: number, what: string, signal?: AbortSignal): Promise<DataView> {
    if (offset + length > this.size) {
      throw new TileSourceError(
        `Truncated or corrupt CZI: ${what} should be at byte ${offset}, ${length} bytes long, but the file has ${this.size}.`,
      );
    }
    const bytes = await this.#reader.read(offset, length, signal === undefined ? {} : { signal });
    if (bytes.length < length) throw new TileSourceError(`The file has become shorter while ${what} was read.`);
    return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /**
   * Finds the data of the segment at a position.
   *
   * @throws TileSourceError if there is no segment of that name, or the segment exceeds the file.
   */
  async readSegment(position: number, name: string, signal?: AbortSignal): Promise<Segment> {
    const header = await this.readExactly(position, segmentHeaderBytes, `the segment ${name}`, signal);
    return checkSegment({ header, position, name, size: this.size });
  }

  /** Reads the header of the file. @throws TileSourceError if the file is not a CZI file. */
  async readHeader(): Promise<CziHeader> {
    const length = Math.min(segmentHeaderBytes + fileHeaderBytes, this.size);
    const view = await this.readExactly(0, length, 'the file header');
    if (segmentName(view) !== 'ZISRAWFILE' || length < segmentHeaderBytes + fileHeaderBytes) {
      throw new OtherFormatError('Not a CZI file: it does not start with the segment ZISRAWFILE.');
    }
    const at = segmentHeaderBytes;
    return {
      version: `${view.getInt32(at, true)}.${view.getInt32(at + 4, true)}`,
      guid: guidText(view, at + 32),
      directoryPosition: uint64At(view, at + 52, 'the directory of sub-blocks'),
      metadataPosition: uint64At(view, at + 60, 'the metadata'),
      attachmentsPosition: uint64At(view, at + 72, 'the directory of attachments'),
    };
  }
}

/** Checks the header of a segment. @throws TileSourceError if the segment has a different name, or exceeds the file. */
export function checkSegment(expected: { header: DataView; position: number; name: string; size: number }): Segment {
  const { header, position, name, size } = expected;
  const actualName = segmentName(header);
  if (actualName !== name)
    throw new TileSourceError(`Corrupt CZI: expected segment ${name} at byte ${position}, found "${actualName}".`);
  const allocatedBytes = uint64At(header, 16, `the length of ${name}`);
  const usedBytes = uint64At(header, 24, `the length of ${name}`);
  const length = usedBytes > 0 ? usedBytes : allocatedBytes;
  if (position + segmentHeaderBytes + length > size) {
    throw new TileSourceError(
      `Truncated or corrupt CZI: the segment ${name} at byte ${position} claims ${length} bytes, but the file has ${size}.`,
    );
  }
  return { start: position + segmentHeaderBytes, length };
}

/** Reads a length or position of 64 bits. @throws TileSourceError if it is negative or larger than any file. */
export function uint64At(view: DataView, at: number, what: string): number {
  const value = view.getBigInt64(at, true);
  if (value < 0n || value > BigInt(Number.MAX_SAFE_INTEGER)) throw new TileSourceError(`Corrupt CZI: ${what} is ${value}.`);
  return Number(value);
}

/** Reads a text that ends before a zero byte, or after `length` bytes. */
export function textAt(view: DataView, at: number, length: number): string {
  const bytes = Buffer.from(view.buffer, view.byteOffset + at, length);
  const end = bytes.indexOf(0);
  return bytes.toString('utf8', 0, end < 0 ? length : end);
}

function segmentName(view: DataView): string {
  return textAt(view, 0, Math.min(16, view.byteLength));
}

/** A GUID in the form of Windows: the first three groups are little-endian numbers. */
function guidText(view: DataView, at: number): string {
  const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
  const bytes = Array.from({ length: 8 }, (_, i) => hex(view.getUint8(at + 8 + i), 2));
  const head = [hex(view.getUint32(at, true), 8), hex(view.getUint16(at + 4, true), 4), hex(view.getUint16(at + 6, true), 4)];
  return [...head, bytes.slice(0, 2).join(''), bytes.slice(2).join('')].join('-');
}
