import { FailedReadError, LargeImageError } from '../../errors.js';
import type { HostFiles, HostLogger } from '../../host.js';
import { describeReturned } from '../../core/host/checked-access.js';
import type { FileRecord } from '../../core/host/records.js';
import type { BlockCache } from './block-cache.js';
import { openFileReader } from '../../tilesource/byte-reader.js';
import type { SourceInput } from '../../tilesource/tile-source.js';
import { readJpegQuality } from './jpeg-quality.js';

/** The host's files, the cache for blocks of remote files, and the log for failures of the host. */
export interface ReadableFiles {
  files: HostFiles;
  blocks: BlockCache;
  logger: HostLogger;
}

/**
 * A file of the host in the form that tile sources open: by its path if it has one, otherwise through ranged reads.
 *
 * @param companions lists the other files of the item, for formats that consist of several files.
 */
export async function hostFileInput(
  file: FileRecord,
  readableFiles: ReadableFiles,
  companions?: () => Promise<readonly FileRecord[]>,
): Promise<SourceInput> {
  const { files, blocks } = readableFiles;
  const path = await files.localPath(file.doc);
  if (typeof path !== 'string' && path !== null) {
    const problem = `files.localPath returned ${describeReturned(path)} instead of a path or null.`;
    throw failedRead(file, readableFiles, new TypeError(problem));
  }
  // All readers of this input share cached blocks, because several tile sources may try to open the file, and each reads its first bytes.
  const remoteFile =
    path === null
      ? blocks.openFile(file.name, file.size, (range, signal) => readRange(file, readableFiles, range, signal))
      : null;
  return {
    name: file.name,
    mimeType: file.mimeType,
    path,
    open: async () =>
      remoteFile === null
        ? openFileReader(path!)
        : { size: remoteFile.size, read: (...args) => remoteFile.read(...args), close: async () => undefined },
    ...(companions && {
      companions: async () => Promise.all((await companions()).map((companion) => hostFileInput(companion, readableFiles))),
    }),
  };
}

/**
 * Detects JPEG and PNG files, which browsers show directly, by their first bytes. The name and type of the file do not matter.
 *
 * @returns the encoding, for JPEG with the {@link readJpegQuality | quality}; `null` for other files.
 */
export async function detectWebPicture(
  file: FileRecord,
  files: ReadableFiles,
): Promise<{ encoding: 'JPEG'; quality: number | null } | { encoding: 'PNG' } | null> {
  const reader = await (await hostFileInput(file, files)).open();
  try {
    const head = Buffer.from(await reader.read(0, 4)).toString('hex');
    if (head.startsWith('ffd8ff')) return { encoding: 'JPEG', quality: await readJpegQuality(reader) };
    return head === '89504e47' ? { encoding: 'PNG' } : null;
  } finally {
    await reader.close();
  }
}

/** Reads a range of a file through the host. */
async function readRange(
  file: FileRecord,
  readableFiles: ReadableFiles,
  range: { start: number; end: number },
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  const length = range.end - range.start;
  const bytes = new Uint8Array(length);
  let filledBytes = 0;
  try {
    const stream: unknown = await readableFiles.files.read(file.doc, range, signal && { signal });
    if (!isStream(stream)) throw new TypeError(`It returned ${describeReturned(stream)} instead of a Readable.`);
    for await (const chunk of stream) {
      const part = chunk.subarray(0, length - filledBytes);
      bytes.set(part, filledBytes);
      filledBytes += part.length;
      if (filledBytes === length) break;
    }
  } catch (cause) {
    signal?.throwIfAborted();
    if (cause instanceof LargeImageError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw failedRead(file, readableFiles, new Error(`files.read failed. ${reason}`, { cause }));
  }
  return bytes.subarray(0, filledBytes);
}

function isStream(value: unknown): value is AsyncIterable<Buffer> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** Logs a failure of the host. @returns the error for clients, which does not show how the host works. */
function failedRead(file: FileRecord, { logger }: ReadableFiles, err: Error): FailedReadError {
  logger.error({ err, fileId: file.id }, 'Host:Files:Failed');
  return new FailedReadError(`The bytes of ${file.name} could not be read.`, { cause: err });
}
