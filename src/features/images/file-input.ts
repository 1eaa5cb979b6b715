import type { Readable } from 'node:stream';
import { TileSourceError } from '../../errors.js';
import type { HostFiles } from '../../host.js';
import type { FileRecord } from '../../core/host/host-records.js';
import { openFileReader } from '../../tilesource/byte-reader.js';
import type { ByteReader, SourceInput } from '../../tilesource/contract.js';
import { jpegQuality } from '../../tilesource/render/jpeg-quality.js';

/**
 * A file of the host as tile sources open it: by its path where it has one, else through ranged reads.
 *
 * @param companions the other files of its item, for formats of several files.
 */
export async function hostFileInput(
  file: FileRecord,
  files: HostFiles,
  companions?: () => Promise<readonly FileRecord[]>,
): Promise<SourceInput> {
  const path = await files.localPath(file.doc);
  return {
    name: file.name,
    mimeType: file.mimeType,
    path,
    open: async () => (path === null ? new RangedReader(file, files) : openFileReader(path)),
    ...(companions && {
      companions: async () => Promise.all((await companions()).map((companion) => hostFileInput(companion, files))),
    }),
  };
}

/** What a file is that browsers show as it is: its first bytes tell, whatever its name and type say. `null` for all others. */
export async function storedPicture(
  file: FileRecord,
  files: HostFiles,
): Promise<{ encoding: 'JPEG'; quality: number | null } | { encoding: 'PNG' } | null> {
  const reader = await (await hostFileInput(file, files)).open();
  try {
    const head = Buffer.from(await reader.read(0, 4)).toString('hex');
    if (head.startsWith('ffd8ff')) return { encoding: 'JPEG', quality: await jpegQuality(reader) };
    return head === '89504e47' ? { encoding: 'PNG' } : null;
  } finally {
    await reader.close();
  }
}

/** Reads a file through the host, a range at a time. */
class RangedReader implements ByteReader {
  readonly size: number;

  constructor(
    private readonly file: FileRecord,
    private readonly files: HostFiles,
  ) {
    this.size = file.size;
  }

  async read(offset: number, length: number, options: { signal?: AbortSignal } = {}): Promise<Uint8Array> {
    const start = Math.max(0, offset);
    const end = Math.min(this.size, offset + length);
    if (!(end > start)) return new Uint8Array(0);
    const stream = await this.files.read(this.file.doc, { start, end }, options);
    return collect(stream, end - start, this.file.name);
  }

  async close(): Promise<void> {
    // Nothing is held between reads.
  }
}

async function collect(stream: Readable, length: number, name: string): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let filled = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      const part = chunk.subarray(0, length - filled);
      bytes.set(part, filled);
      filled += part.length;
      if (filled === length) break;
    }
  } catch (cause) {
    throw new TileSourceError(`The bytes of ${name} could not be read.`, { cause });
  }
  return bytes.subarray(0, filled);
}
