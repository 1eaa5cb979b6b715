import type { CachedTile, TileCache } from './tile-cache.js';

/** A tile cache that counts hits and misses. */
export class CountingTileCache implements TileCache {
  hits = 0;
  misses = 0;
  readonly #tiles: TileCache;

  constructor(tiles: TileCache) {
    this.#tiles = tiles;
  }

  get shared(): boolean {
    return this.#tiles.shared === true;
  }

  get(key: string): CachedTile | undefined | Promise<CachedTile | undefined> {
    const tileOrPromise = this.#tiles.get(key);
    return tileOrPromise instanceof Promise ? tileOrPromise.then((tile) => this.#count(tile)) : this.#count(tileOrPromise);
  }

  #count(tile: CachedTile | undefined): CachedTile | undefined {
    if (tile === undefined) this.misses += 1;
    else this.hits += 1;
    return tile;
  }

  set(key: string, tile: CachedTile): void | Promise<void> {
    return this.#tiles.set(key, tile);
  }

  clear() {
    return this.#tiles.clear();
  }

  report() {
    return this.#tiles.report();
  }

  close() {
    return this.#tiles.close();
  }
}
