import { createHash, webcrypto } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { Types } from 'mongoose';
import { batches } from '../../../larger-host.js';
import type { HostContext } from '../../context.js';
import type { FileInPlace } from '../../files/in-place.js';
import { announceReplaced } from '../../files/replaced-files.js';

/** Number of bytes that are read and hashed together. */
const pieceBytes = 4 * 2 ** 20;
/** Pause after reading a piece, as a multiple of the reading time, because other work needs the disk and the processors too. */
const idleFactor = 3;
const recordsPerQuery = 100;

/** Dependencies of {@link ContentHashes}. */
export interface ContentHashesOptions {
  /** Calls `work` with the context of the host that is running then. */
  useContext: <T>(work: (context: HostContext) => Promise<T>) => Promise<T>;
  /** Called with the number of files that were found to be changed. */
  onChanged: (changedCount: number) => void;
  /** Called if files could not be compared. They are compared after a later scan. */
  onFailure: (error: unknown) => void;
  signal: AbortSignal;
}

/**
 * Reads whole files in the background: each file once, and again when its time has changed although its length, start and end have not.
 * This distinguishes a file that was only touched from a file whose middle has changed.
 */
export class ContentHashes {
  #waitingIds: readonly Types.ObjectId[] = [];
  #comparison: Promise<void> | null = null;

  constructor(private readonly options: ContentHashesOptions) {}

  /**
   * Compares these files after the files that are being compared now. Files of an earlier call that are still waiting are no longer
   * compared.
   */
  compare(ids: readonly Types.ObjectId[]): void {
    this.#waitingIds = ids;
    this.#comparison ??= this.#compareAll().finally(() => {
      this.#comparison = null;
    });
  }

  /** Waits until all files have been compared. */
  async waitUntilIdle(): Promise<void> {
    while (this.#comparison !== null) await this.#comparison;
  }

  async #compareAll(): Promise<void> {
    const { signal, useContext, onChanged, onFailure } = this.options;
    let changedCount = 0;
    try {
      while (this.#waitingIds.length > 0) {
        const ids = this.#waitingIds;
        this.#waitingIds = [];
        for (const batch of batches(ids, recordsPerQuery)) {
          const query = { _id: { $in: [...batch] }, 'storage.kind': 'in-place' as const };
          const files = await useContext(({ models }) => models.file.find(query).lean<FileInPlace[]>());
          for (const file of files) {
            signal.throwIfAborted();
            const hash = await computeHash(file, signal);
            if (hash !== null && (await useContext((context) => storeHash(context, file, hash)))) changedCount += 1;
          }
        }
      }
    } catch (error) {
      if (!signal.aborted) onFailure(error);
    }
    if (changedCount > 0) onChanged(changedCount);
  }
}

/** A hash of all bytes of a file; `null` if the file no longer matches its record, or cannot be read. The next scan handles such a file. */
async function computeHash({ size, storage: { path, modified } }: FileInPlace, signal: AbortSignal): Promise<string | null> {
  try {
    const handle = await open(path, 'r');
    try {
      const matchesRecord = async () => {
        const stats = await handle.stat();
        return stats.size === size && stats.mtime.getTime() === modified?.getTime();
      };
      if (!(await matchesRecord())) return null;
      const hash = createHash('sha256');
      const buffer = Buffer.allocUnsafeSlow(Math.max(1, Math.min(pieceBytes, size ?? 0)));
      for (let position = 0; ;) {
        const startedMs = performance.now();
        const byteCount = await readFully(handle, buffer, position);
        if (byteCount === 0) break;
        position += byteCount;
        // The piece is hashed in a thread, so the event loop is not occupied.
        hash.update(new Uint8Array(await webcrypto.subtle.digest('SHA-256', buffer.subarray(0, byteCount))));
        await pause(idleFactor * (performance.now() - startedMs), undefined, { ref: false, signal });
      }
      return (await matchesRecord()) ? hash.digest('base64url') : null;
    } finally {
      await handle.close();
    }
  } catch {
    signal.throwIfAborted();
    return null;
  }
}

/** Reads until the buffer is full or the file ends, so that files are always hashed in the same pieces. @returns the number of bytes. */
async function readFully(handle: FileHandle, buffer: Buffer, position: number): Promise<number> {
  let filledLength = 0;
  for (let count = -1; count !== 0 && filledLength < buffer.length; filledLength += count) {
    count = (await handle.read(buffer, filledLength, buffer.length - filledLength, position + filledLength)).bytesRead;
  }
  return filledLength;
}

/** Stores the hash of a file. If the hash has changed, announces that the file has changed. @returns whether it has changed */
async function storeHash(context: HostContext, file: FileInPlace, hash: string): Promise<boolean> {
  const { contents: formerHash, touched, modified } = file.storage;
  const isChanged = formerHash !== undefined && formerHash !== hash;
  const changedAt = touched ?? new Date();
  const updatedFile = await context.models.file
    .findOneAndUpdate(
      { _id: file._id, size: file.size, 'storage.modified': modified },
      { $set: { 'storage.contents': hash, ...(isChanged && { updated: changedAt }) }, $unset: { 'storage.touched': 1 } },
      { returnDocument: 'after' },
    )
    .lean<FileInPlace>();
  if (!isChanged || updatedFile === null) return false;
  await announceReplaced(context, updatedFile, { formerSize: file.size ?? 0, replacedAt: changedAt });
  return true;
}
