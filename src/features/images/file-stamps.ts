import { stat } from 'node:fs/promises';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../core/concurrency/at-most.js';

/**
 * How long a look at a file on disk is believed, in milliseconds. Whoever replaces a file in its place without telling the host is
 * noticed after this.
 */
const stampLifetimeMs = 500;
/** A file that is in use is looked at again after this, while its tiles go on: on a busy server a look takes longer than a tile may. */
const renewalMs = 50;

/** Files remembered: a path and a line of text each. */
const maxFiles = 20_000;

interface Known {
  path: string | null;
  stamp: string;
  /** Clock of this process. */
  checkedAt: number;
  checking: Promise<string> | null;
}

/** What {@link FileStamps} works with. */
export interface FileStampsOptions {
  /** Where a file lies on this machine; `null` where it does not, or is gone. */
  pathOf(fileId: string): Promise<string | null>;
  /** Called before a changed stamp is told to anybody. */
  changed(fileId: string): Promise<void>;
}

/** Tells by size and time of change whether a file is still the one that it was. */
export class FileStamps {
  readonly #known = new LRUCache<string, Known>(atMost(maxFiles));

  constructor(private readonly options: FileStampsOptions) {}

  /** Equal as long as the file is the same; empty for files that are not on this machine, whose changes the host announces. */
  of(fileId: string): string | Promise<string> {
    const known = this.#known.get(fileId);
    if (known === undefined) return this.#remember(fileId);
    const age = performance.now() - known.checkedAt;
    if (known.path === null || age < renewalMs) return known.stamp;
    known.checking ??= this.#check(fileId, known, known.path).finally(() => (known.checking = null));
    // Of a file that is much in use, somebody has looked again before its stamp is too old.
    if (age >= stampLifetimeMs) return known.checking;
    known.checking.catch(() => undefined);
    return known.stamp;
  }

  /** Its path may be another one now. */
  forget(fileId: string): void {
    this.#known.delete(fileId);
  }

  async #remember(fileId: string): Promise<string> {
    const path = await this.options.pathOf(fileId);
    const stamp = path === null ? '' : await stampOf(path);
    this.#known.set(fileId, { path, stamp, checkedAt: performance.now(), checking: null });
    return stamp;
  }

  async #check(fileId: string, known: Known, path: string): Promise<string> {
    const checkedAt = performance.now();
    const stamp = await stampOf(path);
    if (stamp !== known.stamp) await this.options.changed(fileId);
    known.stamp = stamp;
    known.checkedAt = checkedAt;
    return stamp;
  }
}

async function stampOf(path: string): Promise<string> {
  try {
    const { size, mtimeMs, ino } = await stat(path);
    return `${size}-${mtimeMs}-${ino}`;
  } catch {
    // Whoever opens it says what is wrong.
    return 'gone';
  }
}
