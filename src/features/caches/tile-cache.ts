/** An encoded tile, ready to be sent. */
export interface CachedTile {
  bytes: Uint8Array;
  /** Mime type, at most 255 bytes. */
  type: string;
}

/** The report of GET large_image/cache on a cache: `used` of `maxsize`, in the unit of the cache (bytes for tiles, files for tile sources). */
export interface CacheReport {
  maxsize: number;
  used: number;
  /** Number of entries, if `used` counts something else. */
  items?: number;
  /** Number of processes whose numbers were added up. Present only if several processes can share a cache. */
  processes?: number;
  /** False while the cache is unreachable. Requests are then answered without it. */
  available?: boolean;
  /** Number of failed commands since the start of this process. Present only for caches that can fail. */
  errors?: number;
  /** The last failure, while the cache is not available. */
  error?: string;
}

/**
 * A cache for tiles. It may lose a tile at any time, and never makes a request fail: on an error, an implementation counts the
 * error and answers as if the tile were missing. Keys are texts of any length and content that name file, state, style and encoding
 * exactly, so that equal keys mean equal bytes.
 */
export interface TileCache {
  get(key: string): CachedTile | undefined | Promise<CachedTile | undefined>;
  /** Stores a tile. The caller does not change its bytes afterwards. */
  set(key: string, tile: CachedTile): void | Promise<void>;
  /** Removes everything, in every process that shares the cache. */
  clear(): Promise<void>;
  report(): Promise<CacheReport>;
  /** Whether other processes see the same tiles, so that a report must not be added to theirs. Default false. */
  readonly shared?: boolean;
  /** Frees memory and closes connections. A shared cache keeps its tiles. */
  close(): Promise<void>;
}
