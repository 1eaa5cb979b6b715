import type { TileCache } from './contract.js';
import { MemoryTileCache } from './memory.js';
import { RedisConnection, type RedisConnectionOptions } from './redis-connection.js';
import { RedisTileCache } from './redis.js';

/** Where encoded tiles are kept: `memory` of each process, a `redis` that processes share, or nowhere. */
export type CacheBackend = 'memory' | 'redis' | 'none';

/** What {@link openTileCache} needs. */
export interface TileCacheOptions {
  backend: CacheBackend;
  /** What all tiles together may take, in bytes. */
  maxBytes: number;
  redis: RedisConnectionOptions;
  /** Common to the processes that share tiles in a Redis. */
  namespace: string;
  /** A tile cache that was made elsewhere; Redis, where it is the back end, then only connects the processes. */
  own?: TileCache;
}

/**
 * The tile cache of an installation, and its connection to Redis where it has one. A Redis that is away is not an error.
 *
 * @throws TypeError when the address of the Redis cannot be understood.
 */
export async function openTileCache(
  options: TileCacheOptions,
): Promise<{ tiles: TileCache; connection: RedisConnection | null }> {
  const { backend, maxBytes, redis, namespace, own } = options;
  if (backend !== 'redis') return { tiles: own ?? new MemoryTileCache(backend === 'none' ? 0 : maxBytes), connection: null };
  const connection = await RedisConnection.open(redis);
  return { tiles: own ?? new RedisTileCache({ connection, maxBytes, namespace }), connection };
}
