import { LRUCache } from 'lru-cache';
import type { CachedTile, CacheReport, TileCache } from './tile-cache.js';

/** Memory of an entry in addition to its bytes: key, headers, list nodes. Rounded up from heap snapshots. */
const entryOverheadBytes = 512;

/** Tiles in the memory of this process. The least recently used tiles are removed first. */
export class MemoryTileCache implements TileCache {
  readonly #tiles: LRUCache<string, CachedTile> | null;
  readonly #maxBytes: number;

  /** @param maxBytes limit of all entries together; 0 disables the cache. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#tiles =
      maxBytes > 0
        ? new LRUCache({
            maxSize: maxBytes,
            sizeCalculation: (tile, key) => tile.bytes.byteLength + key.length + entryOverheadBytes,
          })
        : null;
  }

  get(key: string): CachedTile | undefined {
    return this.#tiles?.get(key);
  }

  set(key: string, tile: CachedTile): void {
    this.#tiles?.set(key, tile);
  }

  async clear(): Promise<void> {
    this.#tiles?.clear();
  }

  async report(): Promise<CacheReport> {
    return { maxsize: this.#maxBytes, used: this.#tiles?.calculatedSize ?? 0, items: this.#tiles?.size ?? 0 };
  }

  async close(): Promise<void> {
    this.#tiles?.clear();
  }
}
