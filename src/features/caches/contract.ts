/** An encoded tile, ready to be sent. */
export interface CachedTile {
  bytes: Uint8Array;
  /** Mime type, at most 255 bytes. */
  type: string;
}

/** What GET large_image/cache says of a cache: `used` of `maxsize`, in the unit of the cache (bytes for tiles, files for tile sources). */
export interface CacheReport {
  maxsize: number;
  used: number;
  /** Entries, where `used` counts something else. */
  items?: number;
  /** Processes whose numbers were added up; only where several can share a cache. */
  processes?: number;
  /** False while the cache cannot be reached; requests are then answered without it. */
  available?: boolean;
  /** Commands that failed since the start of this process; only for caches that can fail. */
  errors?: number;
  /** The last failure, while the cache is not available. */
  error?: string;
}

/**
 * Keeps encoded tiles. It may lose anything at any time; it never fails a request: an implementation that meets an error counts
 * it and answers as if the tile were not there. Keys are texts of any length and content that name file, state, style and encoding
 * exactly, so that equal keys mean equal bytes.
 */
export interface TileCache {
  get(key: string): CachedTile | undefined | Promise<CachedTile | undefined>;
  /** Keeps a tile. The caller does not change its bytes afterwards. */
  set(key: string, tile: CachedTile): void | Promise<void>;
  /** Forgets everything, in every process that shares the cache. */
  clear(): Promise<void>;
  report(): Promise<CacheReport>;
  /** Whether other processes see the same tiles, so that a report must not be added to theirs. Default false. */
  readonly shared?: boolean;
  /** Lets go of memory and connections. A shared cache keeps its tiles. */
  close(): Promise<void>;
}
