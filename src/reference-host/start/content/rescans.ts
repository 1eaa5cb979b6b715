import { watch, type FSWatcher } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { basename, dirname } from 'node:path';
import pLimit from 'p-limit';
import type { ScanCounts } from './served-files.js';

/** Delay after a change on disk until the files are checked, because programs that write files cause many events. */
const settleMs = 1000;
const everyMs = 60_000;
/** Checking the files takes at most this part of the time. */
const idleShare = 20;
/** Maximum number of folders to watch. Systems limit how many a user can watch; the others are checked every minute. */
const maxWatched = 4000;
/** Number of folders that are watched, or no longer watched, between two turns of the event loop. */
const watchedPerTurn = 100;

/** Checks the served files when the system reports changes, every minute, and on request. */
export class Rescans {
  readonly #inOrder = pLimit(1);
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #parentWatchers: FSWatcher[] = [];
  #waiting: Promise<ScanCounts> | null = null;
  #settling: NodeJS.Timeout | null = null;
  #next: NodeJS.Timeout | null = null;

  constructor(
    private readonly options: {
      scan(): Promise<ScanCounts>;
      /** Folders to watch, after a scan. */
      folders(): ReadonlySet<string>;
      /** The served paths. Their parent folders are watched, because watching a folder does not tell that the folder itself was moved. */
      paths: readonly string[];
      /** Called with the result of a scan that was not requested. */
      onScan(counts: ScanCounts): void;
      /** Called with the error of a scan that was not requested. */
      onFailure(error: unknown): void;
      signal: AbortSignal;
    },
  ) {}

  /** Scans the files, after a scan that is running. Requests that wait for the same scan share it. */
  rescan(): Promise<ScanCounts> {
    this.#waiting ??= this.#inOrder(() => {
      this.#waiting = null;
      return this.options.scan();
    });
    return this.#waiting;
  }

  /** Starts to watch, after the first scan. The signal ends it. */
  follow(): void {
    const { signal } = this.options;
    if (signal.aborted) return;
    signal.addEventListener('abort', () => this.#end(), { once: true });
    this.#watchParents();
    void this.#watch();
    this.#schedule(everyMs);
  }

  /** Watches the folders that contain the served paths, for changes of these paths only. */
  #watchParents(): void {
    for (const path of this.options.paths) {
      try {
        const watcher = watch(dirname(path), { persistent: false }, (_event, name) => {
          if (name === null || name === basename(path)) this.#changed();
        });
        watcher.on('error', () => watcher.close());
        this.#parentWatchers.push(watcher);
      } catch {
        // The files are checked every minute anyway.
      }
    }
  }

  async #scanAndWatch(): Promise<void> {
    const started = Date.now();
    try {
      this.options.onScan(await this.rescan());
    } catch (error) {
      if (!this.options.signal.aborted) this.options.onFailure(error);
    }
    await this.#watch();
    if (this.options.signal.aborted) return;
    this.#schedule(Math.max(everyMs, (Date.now() - started) * idleShare));
  }

  #schedule(delayMs: number): void {
    if (this.#next !== null) clearTimeout(this.#next);
    this.#next = setTimeout(() => void this.#scanAndWatch(), delayMs).unref();
  }

  /** Watches the folders of the last scan. Many are watched in several turns of the event loop. */
  async #watch(): Promise<void> {
    const folders = this.options.folders();
    let count = 0;
    const isTurnOver = () => ++count % watchedPerTurn === 0;
    for (const [folder, watcher] of this.#watchers) {
      if (folders.has(folder)) continue;
      watcher.close();
      this.#watchers.delete(folder);
      if (isTurnOver()) await nextTurn();
      if (this.options.signal.aborted) return;
    }
    for (const folder of folders) {
      if (this.#watchers.size >= maxWatched) return;
      if (this.#watchers.has(folder)) continue;
      try {
        const watcher = watch(folder, { persistent: false }, () => this.#changed());
        // A folder that was removed, or one that the system no longer watches, is checked every minute.
        watcher.on('error', () => this.#forget(folder));
        this.#watchers.set(folder, watcher);
      } catch {
        // The system watches no more folders, or this one was removed.
        return;
      }
      if (isTurnOver()) await nextTurn();
      if (this.options.signal.aborted) return;
    }
  }

  #forget(folder: string): void {
    this.#watchers.get(folder)?.close();
    this.#watchers.delete(folder);
    this.#changed();
  }

  #changed(): void {
    if (this.options.signal.aborted) return;
    // The scan starts when nothing has changed for a while.
    if (this.#settling !== null) this.#settling.refresh();
    else {
      this.#settling = setTimeout(() => {
        this.#settling = null;
        void this.#scanAndWatch();
      }, settleMs).unref();
    }
  }

  #end(): void {
    for (const timer of [this.#settling, this.#next]) if (timer !== null) clearTimeout(timer);
    for (const watcher of [...this.#watchers.values(), ...this.#parentWatchers]) watcher.close();
    this.#watchers.clear();
  }
}
