import { stat } from 'node:fs/promises';
import { FreshCache } from '../../core/concurrency/fresh-cache.js';

/** How long a stamp is cached. If a file is replaced on disk without an event from the host, requests notice it after this time. */
const lifetimeMs = 500;
/**
 * The stamp of a file in use is read again in the background after this time. On a busy server, reading the stamp takes longer than
 * the request for a tile should wait.
 */
const renewAfterMs = 50;

/** Maximum number of files whose paths and stamps are cached. */
const maxFiles = 20_000;

/** Options of {@link FileStamps}. */
export interface FileStampsOptions {
  /** Path of a file on this machine; `null` if it is remote or no longer exists. */
  pathOf(fileId: string): Promise<string | null>;
  /** Called when a stamp has changed, before the new stamp is returned. */
  onChange(fileId: string): Promise<void>;
}

/** The stamp text of a missing file. */
const missingFileStamp = 'gone';

interface Stamp {
  /** `null` for a file that is not on this machine. */
  path: string | null;
  text: string;
}

/** Detects by size, modification time and inode whether a file has been replaced. */
export class FileStamps {
  readonly #stamps = new FreshCache<Stamp>({ max: maxFiles, lifetimeMs, renewAfterMs });

  constructor(private readonly options: FileStampsOptions) {}

  /**
   * A text that changes when the file is replaced or modified. It is always empty for files that are not on this machine, because
   * the host announces their changes.
   */
  stampOf(fileId: string): string | Promise<string> {
    const stamp = this.#stamps.get(fileId, (previousStamp) => this.#read(fileId, previousStamp));
    return stamp instanceof Promise ? stamp.then(({ text }) => text) : stamp.text;
  }

  /** Drops a file from the cache, because its path may have changed. */
  forget(fileId: string): void {
    this.#stamps.delete(fileId);
  }

  async #read(fileId: string, previousStamp: Stamp | undefined): Promise<Stamp> {
    // The path of a missing file is looked up again, because the file may have been moved.
    const isPathKnown = previousStamp !== undefined && previousStamp.text !== missingFileStamp;
    const path = isPathKnown ? previousStamp.path : await this.options.pathOf(fileId);
    const text = path === null ? '' : await readStamp(path);
    if (previousStamp !== undefined && previousStamp.text !== text) await this.options.onChange(fileId);
    return { path, text };
  }
}

async function readStamp(path: string): Promise<string> {
  try {
    const { size, mtimeMs, ino } = await stat(path);
    return `${size}-${mtimeMs}-${ino}`;
  } catch {
    // Opening the file will report the problem.
    return missingFileStamp;
  }
}
