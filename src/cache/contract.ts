/** An encoded tile, ready to be sent. */
export interface CachedTile {
  bytes: Uint8Array;
  /** Mime type. */
  type: string;
}

/** What GET large_image/cache says of a cache: `used` of `maxsize`, in the unit of the cache (bytes for tiles). */
export interface CacheReport {
  maxsize: number;
  used: number;
  items?: number;
}

/**
 * Keeps encoded tiles. It may lose anything at any time; it never fails a request: an implementation that meets an error counts
 * it and answers as if the tile were not there.
 */
export interface TileCache {
  get(key: string): CachedTile | undefined | Promise<CachedTile | undefined>;
  set(key: string, tile: CachedTile): void | Promise<void>;
  /** Forgets everything, in every process that shares the cache. */
  clear(): Promise<void>;
  report(): Promise<CacheReport>;
  close(): Promise<void>;
}
