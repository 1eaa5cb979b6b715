import { stat } from 'node:fs/promises';
import { FreshCache } from '../../core/concurrency/fresh-cache.js';

/** A file that was replaced on disk without an event from the host is noticed after this time, in milliseconds. */
const lifetimeMs = 500;
/**
 * The stamp of a file in use is refreshed in the background after this time, because on a busy server reading it takes longer than a
 * tile should wait.
 */
const renewAfterMs = 50;

/** Maximum number of files to remember: a path and a line of text each. */
const maxFiles = 20_000;

/** Options of {@link FileStamps}. */
export interface FileStampsOptions {
  /** Path of a file on this machine; `null` if it is remote or no longer exists. */
  pathOf(fileId: string): Promise<string | null>;
  /** Called when a stamp has changed, before the new one is returned to anyone. */
  onChange(fileId: string): Promise<void>;
}

/** The stamp text of a missing file. */
const missingFileStamp = 'gone';

interface Stamp {
  path: string | null;
  text: string;
}

/** Detects by size and modification time whether a file has been replaced. */
export class FileStamps {
  readonly #stamps = new FreshCache<Stamp>({ max: maxFiles, lifetimeMs, renewAfterMs });

  constructor(private readonly options: FileStampsOptions) {}

  /**
   * A text that stays equal as long as the file is the same; empty for files that are not on this machine, whose changes the host
   * announces.
   */
  stampOf(fileId: string): string | Promise<string> {
    const stamp = this.#stamps.get(fileId, (previous) => this.#read(fileId, previous));
    return stamp instanceof Promise ? stamp.then(({ text }) => text) : stamp.text;
  }

  /** Drops a file from the cache, because its path may have changed. */
  forget(fileId: string): void {
    this.#stamps.delete(fileId);
  }

  async #read(fileId: string, previous: Stamp | undefined): Promise<Stamp> {
    // The path of a missing file is looked up again, because the file may have been moved.
    const isPathKnown = previous !== undefined && previous.text !== missingFileStamp;
    const path = isPathKnown ? previous.path : await this.options.pathOf(fileId);
    const text = path === null ? '' : await readStamp(path);
    if (previous !== undefined && previous.text !== text) await this.options.onChange(fileId);
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
