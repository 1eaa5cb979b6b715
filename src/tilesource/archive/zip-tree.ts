import { promisify } from 'node:util';
import { inflateRaw } from 'node:zlib';
import { fromRandomAccessReader, RandomAccessReader, type Entry, type ZipFile } from 'yauzl';
import { TileSourceError } from '../../errors.js';
import type { ByteReader, SourceInput, FileTree } from '../tile-source.js';

/** Maximum number of files and folders in an archive. */
const maxEntries = 2 ** 19;
/** Approximate memory in bytes that the entry of a file takes while the archive is open. */
const bytesPerEntry = 250;
/** Maximum size of a compressed file in an archive, because such a file is inflated as a whole. */
const maxInflatedBytes = 2 ** 28;
/** Number of bytes of the directory that are read at a time. */
const windowBytes = 2 ** 20;
/** Length of the fixed part of a file's header. The file's name and further fields follow, and then the content. */
const headerBytes = 30;
const headerSignature = 0x04_03_4b_50;
/** Expected length of the further fields in bytes. Few files have more. */
const expectedExtraBytes = 64;
/** After reading this many entries, the reader lets other work use the event loop. */
const entriesAtOnce = 1000;

const inflate = promisify(inflateRaw);

/** Reads a file for the ZIP library: the directory in large pieces, everything else as requested. */
class ArchiveReader extends RandomAccessReader {
  #window: { start: number; bytes: Uint8Array } = { start: 0, bytes: new Uint8Array(0) };
  isReadingDirectory = true;

  constructor(readonly reader: ByteReader) {
    super();
  }

  override read(buffer: Buffer, offset: number, length: number, position: number, callback: (error: Error | null) => void): void {
    this.#readBytes(position, length).then(
      (bytes) => {
        buffer.set(bytes, offset);
        callback(null);
      },
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error))),
    );
  }

  async #readBytes(position: number, length: number): Promise<Uint8Array> {
    const { start, bytes } = this.#window;
    if (position >= start && position + length <= start + bytes.length) {
      return bytes.subarray(position - start, position - start + length);
    }
    if (position < 0 || position + length > this.reader.size) {
      throw new TileSourceError('Truncated or corrupt ZIP file: its directory is outside of the file.');
    }
    const byteCount = this.isReadingDirectory ? Math.max(length, Math.min(windowBytes, this.reader.size - position)) : length;
    const readBytes = await this.reader.read(position, byteCount);
    if (readBytes.length < length) throw new TileSourceError('Truncated or corrupt ZIP file: it ends within its directory.');
    if (this.isReadingDirectory) this.#window = { start: position, bytes: readBytes };
    return readBytes.subarray(0, length);
  }

  /** Frees the memory of the directory, after it has been read. */
  freeDirectory(): void {
    this.isReadingDirectory = false;
    this.#window = { start: 0, bytes: new Uint8Array(0) };
  }

  override close(callback: (error: Error | null) => void): void {
    callback(null);
  }
}

function openZip(reader: ArchiveReader): Promise<ZipFile> {
  return new Promise((resolve, reject) => {
    const options = { lazyEntries: true, autoClose: false };
    fromRandomAccessReader(reader, reader.reader.size, options, (error: Error | null, zip) => {
      if (error !== null) reject(error);
      else resolve(zip);
    });
  });
}

/** Reads the entries of all files, by path. */
function readEntries(zip: ZipFile): Promise<Map<string, Entry>> {
  return new Promise((resolve, reject) => {
    const entries = new Map<string, Entry>();
    let entryCount = 0;
    zip.on('entry', (entry: Entry) => {
      if (entryCount >= maxEntries) reject(new TileSourceError(`The ZIP file has more than ${maxEntries} files and folders.`));
      else {
        // Folders, and files with the same name, are entries too.
        entryCount += 1;
        if (!entry.fileName.endsWith('/')) entries.set(entry.fileName, entry);
        if (entryCount % entriesAtOnce === 0) setImmediate(() => zip.readEntry());
        else zip.readEntry();
      }
    });
    zip.on('error', reject);
    zip.on('end', () => resolve(entries));
    zip.readEntry();
  });
}

/** The files of an archive. */
export interface ArchiveTree extends FileTree {
  /** Paths of all files. */
  paths(): Iterable<string>;
}

class ZipTree implements ArchiveTree {
  readonly #reader: ByteReader;
  readonly #zip: ZipFile;
  readonly #entries: ReadonlyMap<string, Entry>;

  constructor(reader: ByteReader, zip: ZipFile, entries: ReadonlyMap<string, Entry>) {
    this.#reader = reader;
    this.#zip = zip;
    this.#entries = entries;
  }

  get retainedBytes(): number {
    return this.#entries.size * bytesPerEntry;
  }

  paths(): Iterable<string> {
    return this.#entries.keys();
  }

  async file(path: string): Promise<Pick<ByteReader, 'size' | 'read'> | null> {
    const entry = this.#entries.get(path);
    if (entry === undefined) return null;
    if (entry.isEncrypted()) throw new TileSourceError(`${path} of the ZIP file is encrypted, which is not supported.`);
    const { compressionMethod, compressedSize, uncompressedSize } = entry;
    const readStored = this.#createStoredReader(path, entry);
    if (compressionMethod === 0) return { size: compressedSize, read: readStored };
    if (compressionMethod !== 8)
      throw new TileSourceError(`${path} of the ZIP file is compressed by method ${compressionMethod}.`);
    if (Math.max(uncompressedSize, compressedSize) > maxInflatedBytes) {
      throw new TileSourceError(
        `${path} of the ZIP file has ${uncompressedSize} bytes; a compressed file can have at most ${maxInflatedBytes}.`,
      );
    }
    let content: Promise<Uint8Array> | null = null;
    return {
      size: uncompressedSize,
      read: async (offset, length, options) => {
        const { signal } = options ?? {};
        content ??= readStored(0, compressedSize, signal && { signal }).then((packed) =>
          inflateFile(path, packed, uncompressedSize),
        );
        return (await content).slice(offset, offset + length);
      },
    };
  }

  /**
   * Returns a function that reads the content of a file as it is stored, without inflating it. Only the header says where the
   * content begins, so the header is read together with the first bytes, which are often the whole content.
   */
  #createStoredReader(path: string, entry: Entry): ByteReader['read'] {
    const { relativeOffsetOfLocalHeader: headerOffset, compressedSize: size, fileNameLength } = entry;
    let contentOffset: number | null = null;
    return async (offset, length, options) => {
      const from = Math.min(offset, size);
      const byteCount = Math.max(0, Math.min(length, size - from));
      if (contentOffset === null) {
        if (headerOffset + headerBytes + size > this.#reader.size) throw truncatedError(path);
        const readLength = headerBytes + fileNameLength + expectedExtraBytes + (from === 0 ? byteCount : 0);
        const bytes = await this.#reader.read(headerOffset, Math.min(readLength, this.#reader.size - headerOffset), options);
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        if (bytes.length < headerBytes || view.getUint32(0, true) !== headerSignature)
          throw new TileSourceError(`Corrupt ZIP file: ${path} cannot be found.`);
        const headerLength = headerBytes + view.getUint16(26, true) + view.getUint16(28, true);
        if (headerOffset + headerLength + size > this.#reader.size) throw truncatedError(path);
        contentOffset = headerOffset + headerLength;
        if (from === 0 && bytes.length >= headerLength + byteCount) return bytes.subarray(headerLength, headerLength + byteCount);
      }
      return this.#reader.read(contentOffset + from, byteCount, options);
    };
  }

  async close(): Promise<void> {
    this.#zip.close();
    await this.#reader.close();
  }
}

function truncatedError(path: string): TileSourceError {
  return new TileSourceError(`Truncated or corrupt ZIP file: ${path} extends beyond its end.`);
}

async function inflateFile(path: string, packed: Uint8Array, size: number): Promise<Uint8Array> {
  try {
    return await inflate(packed, { maxOutputLength: Math.max(1, size) });
  } catch (cause) {
    throw new TileSourceError(`Corrupt ZIP file: ${path} cannot be inflated to ${size} bytes.`, { cause });
  }
}

/**
 * Opens a ZIP file, and calls `open` with its tree. Closing the tree closes the file. If `open` fails, the file is closed.
 *
 * @throws TileSourceError if the file is not a valid ZIP file. Also throws the errors of `open`.
 */
export async function openInZip<Result>(
  input: Pick<SourceInput, 'open'>,
  open: (tree: ArchiveTree) => Promise<Result>,
): Promise<Result> {
  const reader = await input.open();
  let tree: ArchiveTree | null = null;
  try {
    tree = await openTree(reader);
    return await open(tree);
  } catch (error) {
    await (tree ?? reader).close();
    throw error;
  }
}

async function openTree(reader: ByteReader): Promise<ArchiveTree> {
  const archive = new ArchiveReader(reader);
  try {
    const zip = await openZip(archive);
    const entries = await readEntries(zip);
    archive.freeDirectory();
    return new ZipTree(reader, zip, entries);
  } catch (cause) {
    if (cause instanceof TileSourceError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new TileSourceError(`Not a ZIP file, or a corrupt one (${reason}).`, { cause });
  }
}
