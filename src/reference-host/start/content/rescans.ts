import { watch, type FSWatcher } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { basename, dirname } from 'node:path';
import pLimit from 'p-limit';
import type { ScanCounts } from './served-files.js';

/** Delay after a change on disk until the files are checked, because programs that write files cause many events. */
const settleMs = 1000;
const scanIntervalMs = 60_000;
/** Pause after a scan, as a multiple of its duration. */
const idleFactor = 20;
/** Maximum number of folders to watch, because systems limit how many a user can watch. All folders are checked every minute anyway. */
const maxWatchedFolders = 4000;
/** Number of folders whose watching begins or ends in one turn of the event loop. */
const foldersPerTurn = 100;

/** Checks the served files when the system reports changes, every minute, and on request. */
export class Rescans {
  readonly #runInOrder = pLimit(1);
  readonly #watchersByFolder = new Map<string, FSWatcher>();
  readonly #parentWatchers: FSWatcher[] = [];
  #waitingScan: Promise<ScanCounts> | null = null;
  #settleTimer: NodeJS.Timeout | null = null;
  #nextScanTimer: NodeJS.Timeout | null = null;

  constructor(
    private readonly options: {
      scan(): Promise<ScanCounts>;
      /** The folders that the last scan found, which are watched. */
      listFolders(): ReadonlySet<string>;
      /** The served paths. Their parent folders are watched, because watching a folder does not report that the folder itself was moved. */
      paths: readonly string[];
      /** Called with the result of a scan that was not requested. */
      onScan(counts: ScanCounts): void;
      /** Called with the error of a scan that was not requested. */
      onFailure(error: unknown): void;
      signal: AbortSignal;
    },
  ) {}

  /** Scans the files when the running scan, if any, has ended. Calls that wait for the same scan share its result. */
  rescan(): Promise<ScanCounts> {
    this.#waitingScan ??= this.#runInOrder(() => {
      this.#waitingScan = null;
      return this.options.scan();
    });
    return this.#waitingScan;
  }

  /** Starts to watch for changes, until the signal aborts. Called after the first scan. */
  startWatching(): void {
    const { signal } = this.options;
    if (signal.aborted) return;
    signal.addEventListener('abort', () => this.#stopWatching(), { once: true });
    this.#watchParents();
    void this.#watchFolders();
    this.#scheduleScan(scanIntervalMs);
  }

  /** Watches the folders that contain the served paths, for changes of these paths only. */
  #watchParents(): void {
    for (const path of this.options.paths) {
      try {
        const watcher = watch(dirname(path), { persistent: false }, (_event, name) => {
          if (name === null || name === basename(path)) this.#scanWhenSettled();
        });
        watcher.on('error', () => watcher.close());
        this.#parentWatchers.push(watcher);
      } catch {
        // The files are checked every minute anyway.
      }
    }
  }

  async #scanAndWatch(): Promise<void> {
    const startedMs = Date.now();
    try {
      this.options.onScan(await this.rescan());
    } catch (error) {
      if (!this.options.signal.aborted) this.options.onFailure(error);
    }
    await this.#watchFolders();
    if (this.options.signal.aborted) return;
    this.#scheduleScan(Math.max(scanIntervalMs, (Date.now() - startedMs) * idleFactor));
  }

  #scheduleScan(delayMs: number): void {
    if (this.#nextScanTimer !== null) clearTimeout(this.#nextScanTimer);
    this.#nextScanTimer = setTimeout(() => void this.#scanAndWatch(), delayMs).unref();
  }

  /** Watches the folders of the last scan. If there are many, the calls are spread over several turns of the event loop. */
  async #watchFolders(): Promise<void> {
    const folders = this.options.listFolders();
    let handledCount = 0;
    const endTurnIfFull = async () => {
      handledCount += 1;
      if (handledCount % foldersPerTurn === 0) await nextTurn();
    };
    for (const [folder, watcher] of this.#watchersByFolder) {
      if (folders.has(folder)) continue;
      watcher.close();
      this.#watchersByFolder.delete(folder);
      await endTurnIfFull();
      if (this.options.signal.aborted) return;
    }
    for (const folder of folders) {
      if (this.#watchersByFolder.size >= maxWatchedFolders) return;
      if (this.#watchersByFolder.has(folder)) continue;
      try {
        const watcher = watch(folder, { persistent: false }, () => this.#scanWhenSettled());
        // A folder that was removed, or that the system no longer watches, is checked every minute.
        watcher.on('error', () => this.#unwatch(folder));
        this.#watchersByFolder.set(folder, watcher);
      } catch {
        // The system watches no more folders, or this folder was removed.
        return;
      }
      await endTurnIfFull();
      if (this.options.signal.aborted) return;
    }
  }

  #unwatch(folder: string): void {
    this.#watchersByFolder.get(folder)?.close();
    this.#watchersByFolder.delete(folder);
    this.#scanWhenSettled();
  }

  #scanWhenSettled(): void {
    if (this.options.signal.aborted) return;
    // The scan starts when nothing has changed for a while.
    if (this.#settleTimer !== null) this.#settleTimer.refresh();
    else {
      this.#settleTimer = setTimeout(() => {
        this.#settleTimer = null;
        void this.#scanAndWatch();
      }, settleMs).unref();
    }
  }

  #stopWatching(): void {
    for (const timer of [this.#settleTimer, this.#nextScanTimer]) if (timer !== null) clearTimeout(timer);
    for (const watcher of [...this.#watchersByFolder.values(), ...this.#parentWatchers]) watcher.close();
    this.#watchersByFolder.clear();
  }
}
