import { createHash } from 'node:crypto';
import type { CachedTile, CacheReport, TileCache } from './tile-cache.js';
import type { RedisConnection } from './redis-connection.js';

/**
 * How long Redis keeps a tile that is not requested, in milliseconds. Tiles that are missing from the index also expire after this
 * time.
 */
const lifetimeMs = 24 * 60 * 60 * 1000;
/** Redis runs nothing else during a script, so each script removes at most this many tiles. */
const maxRemovals = 500;
/** Larger pictures would delay other commands in Redis. */
const maxTileBytes = 16 * 1024 * 1024;

/**
 * Keys: tile, index (members by time of use), sizes (bytes by member), total. Arguments: member, value, its bytes, current time,
 * lifetime, maximum total bytes, prefix of tiles, maximum number of removals.
 */
const setScript = `
if redis.call('EXISTS', KEYS[2]) == 0 then redis.call('UNLINK', KEYS[3], KEYS[4]) end
local former = tonumber(redis.call('HGET', KEYS[3], ARGV[1]) or '0')
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[5])
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[1])
redis.call('HSET', KEYS[3], ARGV[1], ARGV[3])
local total = redis.call('INCRBY', KEYS[4], ARGV[3] - former)
local removed = 0
while total > tonumber(ARGV[6]) and removed < tonumber(ARGV[8]) do
  local oldest = redis.call('ZPOPMIN', KEYS[2])
  if #oldest == 0 then break end
  local size = tonumber(redis.call('HGET', KEYS[3], oldest[1]) or '0')
  redis.call('HDEL', KEYS[3], oldest[1])
  redis.call('UNLINK', ARGV[7] .. oldest[1])
  total = redis.call('INCRBY', KEYS[4], -size)
  removed = removed + 1
end
return removed`;

/**
 * Keys: index, sizes, total. Arguments: prefix of tiles, maximum number of removals, and a time: only tiles that were last used
 * at this time or before are removed. Returns the number of removed tiles.
 */
const removeScript = `
local members = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[3], 'LIMIT', 0, ARGV[2])
for _, member in ipairs(members) do
  local size = tonumber(redis.call('HGET', KEYS[2], member) or '0')
  redis.call('ZREM', KEYS[1], member)
  redis.call('HDEL', KEYS[2], member)
  redis.call('UNLINK', ARGV[1] .. member)
  redis.call('INCRBY', KEYS[3], -size)
end
if redis.call('ZCARD', KEYS[1]) == 0 then redis.call('UNLINK', KEYS[2], KEYS[3]) end
return #members`;

/** Limits and names of a {@link RedisTileCache}. */
export interface RedisTileCacheOptions {
  connection: RedisConnection;
  /** Limit of all tiles together, in bytes of values and keys. The least recently used tiles are removed first. */
  maxBytes: number;
  /** Separates this cache from other users of the same Redis. It is equal for the processes that share the cache. */
  namespace: string;
}

/**
 * Tiles in a Redis, shared by all processes with the same namespace. Nothing outside the namespace is read or removed. While Redis
 * is down, no tile is found or stored.
 */
export class RedisTileCache implements TileCache {
  readonly shared = true;
  readonly #connection: RedisConnection;
  readonly #maxBytes: number;
  readonly #tilePrefix: string;
  readonly #indexKey: string;
  readonly #sizesKey: string;
  readonly #totalKey: string;
  readonly #stopListening: () => void;
  /** Whether the cache must be cleared as soon as Redis is back. */
  #mustClear = false;

  constructor({ connection, maxBytes, namespace }: RedisTileCacheOptions) {
    this.#connection = connection;
    this.#maxBytes = maxBytes;
    // A cluster keeps keys with the same text in braces on one node, which the scripts need.
    const prefix = `{${namespace}}`;
    this.#tilePrefix = `${prefix}:tile:`;
    this.#indexKey = `${prefix}:index`;
    this.#sizesKey = `${prefix}:sizes`;
    this.#totalKey = `${prefix}:bytes`;
    this.#stopListening = connection.onReady(() => {
      if (this.#mustClear) void this.clear();
    });
  }

  async get(key: string): Promise<CachedTile | undefined> {
    if (!this.#connection.isReady || this.#mustClear) return undefined;
    const member = memberOf(key);
    try {
      return await this.#connection.run(async (redis) => {
        // This is one round trip. If updating the time of use fails, the tile only counts as older than it is.
        const indexUpdate = redis.zadd(this.#indexKey, 'XX', Date.now(), member).catch(() => undefined);
        const value = await redis.getexBuffer(this.#tilePrefix + member, 'PX', lifetimeMs);
        await indexUpdate;
        return value === null ? undefined : decodeTile(value);
      });
    } catch {
      // The connection counts the failure, and the tile is made instead.
      return undefined;
    }
  }

  async set(key: string, tile: CachedTile): Promise<void> {
    const value = encodeTile(tile);
    if (value === null || value.length > Math.min(maxTileBytes, this.#maxBytes) || !this.#connection.isReady) return;
    const member = memberOf(key);
    const size = value.length + member.length;
    try {
      await this.#connection.run((redis) =>
        redis.eval(
          setScript,
          4,
          this.#tilePrefix + member,
          this.#indexKey,
          this.#sizesKey,
          this.#totalKey,
          member,
          value,
          size,
          Date.now(),
          lifetimeMs,
          this.#maxBytes,
          this.#tilePrefix,
          maxRemovals,
        ),
      );
    } catch {
      // The connection counts the failure, and the tile is made again next time.
    }
  }

  async clear(): Promise<void> {
    try {
      const tileCount = await this.#connection.run((redis) => redis.zcard(this.#indexKey));
      // Tiles that are stored during the removal are kept; otherwise the removal would never end under load.
      await this.#removeOldTiles({ usedUntil: '+inf', maxTiles: tileCount + maxRemovals });
      this.#mustClear = false;
    } catch {
      this.#mustClear = true;
    }
  }

  async #removeOldTiles({ usedUntil, maxTiles }: { usedUntil: number | '+inf'; maxTiles: number }): Promise<void> {
    for (let removedCount = 0; removedCount < maxTiles;) {
      const batchCount = Number(
        await this.#connection.run((redis) =>
          redis.eval(removeScript, 3, this.#indexKey, this.#sizesKey, this.#totalKey, this.#tilePrefix, maxRemovals, usedUntil),
        ),
      );
      if (batchCount < maxRemovals) return;
      removedCount += batchCount;
    }
  }

  async report(): Promise<CacheReport> {
    const commonFields = { maxsize: this.#maxBytes, errors: this.#connection.failures };
    try {
      // Expired tiles are no longer in Redis, but still in the index.
      await this.#removeOldTiles({ usedUntil: Date.now() - lifetimeMs, maxTiles: Infinity });
      const [items, totalBytes] = await this.#connection.run((redis) =>
        Promise.all([redis.zcard(this.#indexKey), redis.get(this.#totalKey)]),
      );
      return { ...commonFields, used: Number(totalBytes ?? 0), items, available: true };
    } catch (error) {
      const reason = (this.#connection.error ?? (error as Error)).message;
      return { ...commonFields, errors: this.#connection.failures, used: 0, items: 0, available: false, error: reason };
    }
  }

  async close(): Promise<void> {
    this.#stopListening();
  }
}

/** A short name of fixed length for keys of any length. */
function memberOf(key: string): string {
  return createHash('sha256').update(key).digest('base64url');
}

/** Encodes a tile as one byte with the length of its type, the type, and the bytes of the tile; `null` if the type is too long. */
function encodeTile({ bytes, type }: CachedTile): Buffer | null {
  const typeBytes = Buffer.from(type, 'utf8');
  return typeBytes.length > 255 ? null : Buffer.concat([Buffer.of(typeBytes.length), typeBytes, bytes]);
}

function decodeTile(value: Buffer): CachedTile | undefined {
  const start = 1 + (value[0] ?? 0);
  if (value.length < start) return undefined;
  return { type: value.toString('utf8', 1, start), bytes: value.subarray(start) };
}
