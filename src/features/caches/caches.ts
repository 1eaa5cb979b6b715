import { setTimeout as wait } from 'node:timers/promises';
import type { CacheReport, TileCache } from './tile-cache.js';
import type { PeerRequestHandlers, CachePeers } from './cache-peers.js';
import type { SourceCache } from './source-cache.js';
import type { OpenImage } from './open-image.js';

/** Reports by the name of the cache, as GET large_image/cache returns them. */
export type CacheReports = Record<string, CacheReport>;

/** How long clearing waits for readers to close their files, and how often it checks, in milliseconds. */
const clearTimeoutMs = 5000;
const clearPollMs = 100;

/** Options of {@link Caches}. */
export interface CachesOptions {
  tiles: TileCache;
  sources: SourceCache<OpenImage>;
  /** Drops cached items and callers. */
  dropItemsAndCallers: () => void;
  /** Connects this process with the other processes that share the caches. Returns `null` if no other process shares them. */
  connectPeers: (handlers: PeerRequestHandlers) => CachePeers | null;
}

/** All caches of an installation, including those of other processes that share a Redis with it. */
export class Caches {
  readonly #peers: CachePeers | null;

  constructor(private readonly options: CachesOptions) {
    this.#peers = options.connectPeers(this.#makePeerRequestHandlers());
  }

  /** Disconnects from the other processes. */
  close(): void {
    this.#peers?.close();
  }

  /** A report on each cache, added up over all processes. */
  async report(): Promise<CacheReports> {
    const [ownReports, tileCache, otherReports] = await Promise.all([
      this.#reportOwn(),
      this.options.tiles.report(),
      this.#peers?.fetchReports() ?? [],
    ]);
    const totals: CacheReports = { ...ownReports, tileCache };
    for (const report of otherReports) {
      for (const [name, { maxsize, used, items }] of Object.entries(report)) {
        const sum = totals[name];
        if (sum === undefined) continue;
        sum.maxsize += maxsize;
        sum.used += used;
        if (items !== undefined) sum.items = (sum.items ?? 0) + items;
      }
    }
    if (this.#peers !== null) totals.tilesource!.processes = 1 + otherReports.length;
    return totals;
  }

  /** Clears every cache in every process, and waits until all caches are empty, but at most 5 s. */
  async clear(): Promise<{ cacheCleared: Date; before: CacheReports; after: CacheReports }> {
    const before = await this.report();
    await Promise.all([this.clearOwn(), this.#peers?.clear()]);
    const cacheCleared = new Date();
    const deadline = performance.now() + clearTimeoutMs;
    for (;;) {
      const after = await this.report();
      const isEmpty = Object.values(after).every(({ used }) => used === 0);
      if (isEmpty || performance.now() + clearPollMs > deadline) return { cacheCleared, before, after };
      await wait(clearPollMs);
    }
  }

  /** Clears the caches of this process, and the tile cache. */
  async clearOwn(): Promise<void> {
    const { tiles, sources, dropItemsAndCallers } = this.options;
    dropItemsAndCallers();
    // A file that is being read is closed later, without waiting for it here.
    await Promise.all([tiles.clear(), sources.clear()]);
  }

  /** Closes a file in this process and in the other processes, and drops everything cached from the file. */
  forgetFile(fileId: string): void {
    this.#closeFile(fileId);
    this.#peers?.forgetFile(fileId);
  }

  #closeFile(fileId: string): void {
    this.options.sources.evict((key) => key.startsWith(`${fileId}:`));
  }

  /** Reports on the caches that belong to this process alone. */
  async #reportOwn(): Promise<CacheReports> {
    return { tilesource: this.options.sources.report() };
  }

  /** The requests that other processes can make to this process. */
  #makePeerRequestHandlers(): PeerRequestHandlers {
    return {
      clear: async () => {
        const { tiles, sources, dropItemsAndCallers } = this.options;
        dropItemsAndCallers();
        await Promise.all([tiles.shared === true ? null : tiles.clear(), sources.clear()]);
      },
      report: async () => {
        const ownReports = await this.#reportOwn();
        return this.options.tiles.shared === true ? ownReports : { ...ownReports, tileCache: await this.options.tiles.report() };
      },
      forgetFile: (fileId: string) => {
        this.options.dropItemsAndCallers();
        this.#closeFile(fileId);
      },
    };
  }
}
