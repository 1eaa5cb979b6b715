import type { TileCache } from './tile-cache.js';
import { MemoryTileCache } from './memory-tile-cache.js';
import { RedisConnection, type RedisConnectionOptions } from './redis-connection.js';
import { RedisTileCache } from './redis-tile-cache.js';

/** Where encoded tiles are cached: in the `memory` of each process, in a `redis` that processes share, or nowhere. */
export type CacheBackend = 'memory' | 'redis' | 'none';

/** Options of {@link openTileCache}. */
export interface TileCacheOptions {
  backend: CacheBackend;
  /** Limit of all tiles together, in bytes. */
  maxBytes: number;
  redis: RedisConnectionOptions;
  /** Namespace in Redis, equal for the processes that share tiles. */
  namespace: string;
  /** A tile cache from the host. A Redis back end then stores no tiles and only connects the processes. */
  hostCache?: TileCache;
}

/**
 * Opens the tile cache of an installation, and its connection to Redis if it has one. It is not an error if Redis cannot be
 * reached.
 *
 * @throws TypeError for a malformed address of Redis.
 */
export async function openTileCache(
  options: TileCacheOptions,
): Promise<{ tiles: TileCache; connection: RedisConnection | null }> {
  const { backend, maxBytes, redis, namespace, hostCache } = options;
  if (backend !== 'redis')
    return { tiles: hostCache ?? new MemoryTileCache(backend === 'none' ? 0 : maxBytes), connection: null };
  const connection = await RedisConnection.open(redis);
  return { tiles: hostCache ?? new RedisTileCache({ connection, maxBytes, namespace }), connection };
}
