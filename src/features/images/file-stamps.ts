import { stat } from 'node:fs/promises';
import { FreshCache } from '../../core/concurrency/fresh-cache.js';

/** A file that was replaced on disk without a word to the host is noticed after this time, in milliseconds. */
const lifetimeMs = 500;
/** The stamp of a file in use is renewed in the background after this: on a busy server that takes longer than a tile may wait. */
const renewAfterMs = 50;

/** Files remembered: a path and a line of text each. */
const maxFiles = 20_000;

/** Options of {@link FileStamps}. */
export interface FileStampsOptions {
  /** Path of a file on this machine; `null` if it is remote or no longer exists. */
  pathOf(fileId: string): Promise<string | null>;
  /** Called when a stamp has changed, before anyone gets the new one. */
  changed(fileId: string): Promise<void>;
}

/** The stamp of a file that is not there. */
const goneText = 'gone';

interface Stamp {
  path: string | null;
  text: string;
}

/** Tells by size and time of change whether a file is still the one that it was. */
export class FileStamps {
  readonly #stamps = new FreshCache<Stamp>({ max: maxFiles, lifetimeMs, renewAfterMs });

  constructor(private readonly options: FileStampsOptions) {}

  /** Equal as long as the file is the same; empty for files that are not on this machine, whose changes the host announces. */
  of(fileId: string): string | Promise<string> {
    const stamp = this.#stamps.get(fileId, (former) => this.#take(fileId, former));
    return stamp instanceof Promise ? stamp.then(({ text }) => text) : stamp.text;
  }

  /** Forgets a file, whose path may be another one now. */
  forget(fileId: string): void {
    this.#stamps.delete(fileId);
  }

  async #take(fileId: string, former: Stamp | undefined): Promise<Stamp> {
    // A file that is gone may have been moved.
    const isKnown = former !== undefined && former.text !== goneText;
    const path = isKnown ? former.path : await this.options.pathOf(fileId);
    const text = path === null ? '' : await stampOf(path);
    if (former !== undefined && former.text !== text) await this.options.changed(fileId);
    return { path, text };
  }
}

async function stampOf(path: string): Promise<string> {
  try {
    const { size, mtimeMs, ino } = await stat(path);
    return `${size}-${mtimeMs}-${ino}`;
  } catch {
    // Opening the file will report the problem.
    return goneText;
  }
}
