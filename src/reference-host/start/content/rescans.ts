import { watch, type FSWatcher } from 'node:fs';
import pLimit from 'p-limit';
import type { ScanCounts } from './served-files.js';

/** How long after a change on disk the files are looked at: programs that write files announce many changes. */
const settleMs = 1000;
const everyMs = 60_000;
/** The files are looked at for at most this part of the time. */
const idleShare = 20;
/** Folders that are watched. Systems limit how many a user may watch; the others are looked at every minute. */
const maxWatched = 4000;

/** Looks at the served files again when the system says that they have changed, every minute, and when somebody asks for it. */
export class Rescans {
  readonly #inOrder = pLimit(1);
  readonly #watchers = new Map<string, FSWatcher>();
  #waiting: Promise<ScanCounts> | null = null;
  #settling: NodeJS.Timeout | null = null;
  #next: NodeJS.Timeout | null = null;

  constructor(
    private readonly options: {
      scan(): Promise<ScanCounts>;
      /** Folders to watch, after a scan. */
      folders(): ReadonlySet<string>;
      /** Is told what a scan by itself has found. */
      found(counts: ScanCounts): void;
      /** Is told of a scan by itself that failed. */
      failed(error: unknown): void;
      signal: AbortSignal;
    },
  ) {}

  /** Looks at the files, after a look that is under way. Requests that wait for the same look share it. */
  rescan(): Promise<ScanCounts> {
    this.#waiting ??= this.#inOrder(() => {
      this.#waiting = null;
      return this.options.scan();
    });
    return this.#waiting;
  }

  /** Begins to watch, after the first scan. It ends with the signal. */
  follow(): void {
    const { signal } = this.options;
    if (signal.aborted) return;
    signal.addEventListener('abort', () => this.#end(), { once: true });
    this.#watch();
    this.#schedule(everyMs);
  }

  async #look(): Promise<void> {
    const begun = Date.now();
    try {
      this.options.found(await this.rescan());
    } catch (error) {
      if (!this.options.signal.aborted) this.options.failed(error);
    }
    if (this.options.signal.aborted) return;
    this.#watch();
    this.#schedule(Math.max(everyMs, (Date.now() - begun) * idleShare));
  }

  #schedule(delayMs: number): void {
    if (this.#next !== null) clearTimeout(this.#next);
    this.#next = setTimeout(() => void this.#look(), delayMs).unref();
  }

  #watch(): void {
    const folders = this.options.folders();
    for (const [folder, watcher] of this.#watchers) {
      if (folders.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
    }
    for (const folder of folders) {
      if (this.#watchers.size >= maxWatched) return;
      if (this.#watchers.has(folder)) continue;
      try {
        const watcher = watch(folder, { persistent: false }, () => this.#changed());
        // A folder that has gone, or one that the system does not watch any more, is looked at every minute.
        watcher.on('error', () => this.#forget(folder));
        this.#watchers.set(folder, watcher);
      } catch {
        // The system watches no more folders, or this one has gone.
        return;
      }
    }
  }

  #forget(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
    this.#changed();
  }

  #changed(): void {
    if (this.options.signal.aborted) return;
    // The look begins when nothing has changed for a while.
    if (this.#settling !== null) this.#settling.refresh();
    else {
      this.#settling = setTimeout(() => {
        this.#settling = null;
        void this.#look();
      }, settleMs).unref();
    }
  }

  #end(): void {
    for (const timer of [this.#settling, this.#next]) if (timer !== null) clearTimeout(timer);
    for (const watcher of this.#watchers.values()) watcher.close();
    this.#watchers.clear();
  }
}
