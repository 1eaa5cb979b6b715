import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { OtherFormatError, TileSourceError } from '../../../../errors.js';
import type { ByteReader } from '../../../tile-source.js';
import { Directory } from './directory.js';
import { tags } from './tags.js';

/** Maximum number of main directories, more than any program writes. It limits the time for opening a file. */
const maxDirectories = 100_000;
/** Maximum number of entries of a directory, more than there are tags. */
const maxEntries = 4096;
/**
 * Number of bytes that are read at once, as one window. Directories and their arrays are next to each other, so a window usually
 * contains several.
 */
const windowBytes = 32 * 1024;
/**
 * Maximum number of cached windows. The values of tags are read after all directories have been found, and then often from the same
 * windows.
 */
const maxCachedWindows = 8;

/**
 * The bytes of a TIFF or BigTIFF file and their byte order.
 *
 * Directories are read by this code instead of a library, because libraries follow a loop of directories forever, allocate as much
 * memory as a corrupt file claims, or do not read SubIFDs.
 */
export class TiffBytes {
  readonly littleEndian: boolean;
  /** Whether offsets have 64 bits. */
  readonly isBigTiff: boolean;
  readonly size: number;
  readonly #reader: ByteReader;
  readonly #firstDirectoryOffset: number;
  /** The cached windows of the file, the newest first. */
  #windows: readonly { offset: number; bytes: Uint8Array }[] = [];

  private constructor(reader: ByteReader, header: DataView) {
    this.#reader = reader;
    this.size = reader.size;
    this.littleEndian = header.getUint16(0) === 0x49_49;
    this.isBigTiff = header.getUint16(2, this.littleEndian) === 43;
    this.#firstDirectoryOffset = this.isBigTiff
      ? this.uint64(header, 8, 'the offset of the first directory')
      : header.getUint32(4, this.littleEndian);
  }

  /** Reads the header of a file. @throws TileSourceError if the file does not begin like a TIFF file. */
  static async open(reader: ByteReader): Promise<TiffBytes> {
    const bytes = await reader.read(0, Math.min(16, reader.size));
    const header = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const byteOrder = bytes.length >= 8 ? header.getUint16(0) : 0;
    if (byteOrder !== 0x49_49 && byteOrder !== 0x4d_4d) {
      throw new OtherFormatError('Not a TIFF file: it starts with neither II nor MM.');
    }
    const version = header.getUint16(2, byteOrder === 0x49_49);
    if (version !== 42 && (version !== 43 || bytes.length < 16 || header.getUint16(4, byteOrder === 0x49_49) !== 8)) {
      throw new OtherFormatError(`Not a TIFF file: version ${version} where 42 (TIFF) or 43 (BigTIFF) is expected.`);
    }
    return new TiffBytes(reader, header);
  }

  /** Reads a 64-bit number at `at` in `view`. @throws TileSourceError beyond 2^53, the limit of JavaScript numbers. */
  uint64(view: DataView, at: number, what: string): number {
    const value = view.getBigUint64(at, this.littleEndian);
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new TileSourceError(`Corrupt TIFF: ${what} is ${value}, past any file.`);
    return Number(value);
  }

  /**
   * Reads exactly `length` bytes from `offset`. `what` names them in errors.
   *
   * @throws TileSourceError if the file ends too early.
   */
  async readExactly(offset: number, length: number, what: string, signal?: AbortSignal): Promise<Uint8Array> {
    if (offset + length > this.size) {
      throw new TileSourceError(
        `Truncated or corrupt TIFF: ${what} should be at byte ${offset}, ${length} bytes long, but the file has ${this.size}.`,
      );
    }
    const window = this.#windowWith(offset, length);
    if (window !== undefined) return window.bytes.subarray(offset - window.offset, offset - window.offset + length);
    const bytes = await this.#reader.read(offset, length, signal === undefined ? {} : { signal });
    if (bytes.length < length) throw new TileSourceError(`The file has become shorter while ${what} was read.`);
    return bytes;
  }

  #windowWith(offset: number, length: number): { offset: number; bytes: Uint8Array } | undefined {
    return this.#windows.find((each) => offset >= each.offset && offset + length <= each.offset + each.bytes.length);
  }

  /** Memory of the cached windows in bytes. */
  get retainedBytes(): number {
    return this.#windows.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  async #readDirectoryBytes(offset: number, length: number): Promise<Uint8Array> {
    if (this.#windowWith(offset, length) === undefined && offset + length <= this.size) {
      const byteCount = Math.min(Math.max(windowBytes, length), this.size - offset);
      const window = { offset, bytes: await this.#reader.read(offset, byteCount) };
      this.#windows = [window, ...this.#windows].slice(0, maxCachedWindows);
    }
    return this.readExactly(offset, length, 'a directory');
  }

  async #readDirectory(offset: number): Promise<{ directory: Directory; next: number }> {
    const countBytes = this.isBigTiff ? 8 : 2;
    const head = await this.#readDirectoryBytes(offset, countBytes);
    const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
    const count = this.isBigTiff ? this.uint64(view, 0, 'a directory size') : view.getUint16(0, this.littleEndian);
    if (count === 0 || count > maxEntries) {
      throw new TileSourceError(`Corrupt TIFF: the directory at byte ${offset} claims ${count} entries.`);
    }
    const entryBytes = count * (this.isBigTiff ? 20 : 12);
    const body = await this.#readDirectoryBytes(offset + countBytes, entryBytes + (this.isBigTiff ? 8 : 4));
    const entriesView = new DataView(body.buffer, body.byteOffset, body.byteLength);
    const next = this.isBigTiff
      ? this.uint64(entriesView, entryBytes, 'a directory offset')
      : entriesView.getUint32(entryBytes, this.littleEndian);
    return { directory: new Directory(this, offset, offset + countBytes, new Uint8Array(body.subarray(0, entryBytes))), next };
  }

  /** The first main directory. @throws TileSourceError if it cannot be read. */
  async readFirstDirectory(): Promise<Directory> {
    if (this.#firstDirectoryOffset === 0) throw new TileSourceError('The TIFF file contains no directory.');
    return (await this.#readDirectory(this.#firstDirectoryOffset)).directory;
  }

  /**
   * The chain of main directories, in file order.
   *
   * @throws TileSourceError for a loop, a directory outside the file, or more than 100,000 directories.
   */
  async readDirectories(signal?: AbortSignal): Promise<Directory[]> {
    const chain: Directory[] = [];
    const seenOffsets = new Set<number>();
    for (let offset = this.#firstDirectoryOffset; offset !== 0;) {
      signal?.throwIfAborted();
      if (seenOffsets.has(offset)) {
        throw new TileSourceError(
          `Corrupt TIFF: directory ${chain.length} is at byte ${offset}, where an earlier directory is (a loop).`,
        );
      }
      if (chain.length >= maxDirectories) throw new TileSourceError(`The TIFF has more than ${maxDirectories} directories.`);
      seenOffsets.add(offset);
      const { directory, next } = await this.#readDirectory(offset);
      chain.push(directory);
      offset = next;
      if (isSliceOver()) await nextSlice(signal);
    }
    if (chain.length === 0) throw new TileSourceError('The TIFF file contains no directory.');
    return chain;
  }

  /** The directories listed by the SubIFDs tag of a directory; their own successors are not followed. */
  async readSubDirectories(parent: Directory): Promise<Directory[]> {
    const offsets = await parent.numbers(tags.subIfds, 256);
    const subDirectories: Directory[] = [];
    const seenOffsets = new Set([parent.offset]);
    for (const offset of offsets ?? []) {
      if (seenOffsets.has(offset))
        throw new TileSourceError(`Corrupt TIFF: the SubIFD at byte ${offset} is listed twice (a loop).`);
      seenOffsets.add(offset);
      subDirectories.push((await this.#readDirectory(offset)).directory);
    }
    return subDirectories;
  }
}
