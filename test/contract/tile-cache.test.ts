import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MemoryTileCache } from '../../src/features/caches/memory-tile-cache.js';
import { RedisConnection } from '../../src/features/caches/redis-connection.js';
import { RedisTileCache } from '../../src/features/caches/redis-tile-cache.js';
import { describeTileCache } from '../../src/testing/index.js';
import { noRedis, startRedis, type TestRedis } from '../support/hosts/redis.js';
import { until } from '../support/run/until.js';

const tile = { bytes: Uint8Array.from([1, 2, 3]), type: 'image/png' };

describe('the tile cache in memory', () => {
  describeTileCache(({ maxBytes }) => new MemoryTileCache(maxBytes), { describe, it });

  it('stores nothing when its capacity is 0', async () => {
    const cache = new MemoryTileCache(0);
    cache.set('a', tile);
    expect(cache.get('a')).toBeUndefined();
    expect(await cache.report()).toEqual({ maxsize: 0, used: 0, items: 0 });
  });
});

describe.skipIf(noRedis !== null)(`the tile cache in Redis${noRedis === null ? '' : ` (skipped: ${noRedis})`}`, () => {
  let redis: TestRedis;
  const connections: RedisConnection[] = [];
  let cacheCount = 0;

  // On a busy machine, Redis may take longer than a server waits for it.
  const connect = async (commandTimeoutMs = 60_000): Promise<RedisConnection> => {
    const connection = await RedisConnection.open({ url: redis.url, commandTimeoutMs });
    connections.push(connection);
    return connection;
  };
  const open = async (maxBytes = 1024 * 1024, namespace = `test:${(cacheCount += 1)}`): Promise<RedisTileCache> =>
    new RedisTileCache({ connection: await connect(), maxBytes, namespace });

  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(async () => {
    for (const connection of connections) await connection.close();
    await redis?.close();
  });

  describeTileCache(
    async ({ maxBytes }) => {
      const cache = await open(maxBytes);
      const connection = connections.at(-1)!;
      return new Proxy(cache, {
        get: (target, name) => {
          if (name === 'close') return () => connection.close();
          const member: unknown = Reflect.get(target, name, target);
          return typeof member === 'function' ? member.bind(target) : member;
        },
      });
    },
    { describe, it },
  );

  it('shares tiles between processes of one namespace, and leaves all other keys alone', async () => {
    const client = await redis.client();
    await client.set('{other}:tile:x', 'stays');
    const [first, second, stranger] = [await open(1e6, 'shared'), await open(1e6, 'shared'), await open(1e6, 'other')];
    await first.set('a', tile);
    await stranger.set('a', { ...tile, type: 'image/gif' });
    expect((await second.get('a'))?.type).toBe('image/png');
    await second.clear();
    expect(await first.get('a')).toBeUndefined();
    expect((await stranger.get('a'))?.type).toBe('image/gif');
    expect(await client.get('{other}:tile:x')).toBe('stays');
    expect(await client.keys('{shared}*')).toEqual([]);
  });

  it('clears thousands of tiles in batches', async () => {
    const cache = await open(64 * 1024 * 1024);
    for (let group = 0; group < 46; group++) {
      await Promise.all(Array.from({ length: 50 }, (_, i) => cache.set(`tile ${group}/${i}`, tile)));
    }
    expect((await cache.report()).items).toBe(2300);
    await cache.clear();
    expect(await cache.report()).toMatchObject({ used: 0, items: 0, available: true });
  });

  it('continues after Redis has evicted its keys', async () => {
    const cache = await open(1024, 'evicted');
    const client = await redis.client();
    for (let i = 0; i < 30; i++) await cache.set(`a${i}`, tile);
    await client.del('{evicted}:index');
    await cache.set('b', tile);
    expect(await cache.get('b')).toBeDefined();
    expect(await cache.report()).toMatchObject({ items: 1 });
    for (const key of await client.keys('{evicted}:tile:*')) await client.del(key);
    expect(await cache.get('b')).toBeUndefined();
  });

  it('waits for only a few tiles while Redis hangs, reports it, and recovers', async () => {
    const cache = new RedisTileCache({ connection: await connect(500), maxBytes: 1024 * 1024, namespace: 'hanging' });
    await cache.set('a', tile);
    await redis.stop('hang');
    try {
      for (let i = 0; i < 100; i++) expect(await cache.get('a')).toBeUndefined();
      await cache.set('b', tile);
      const { errors, ...report } = await cache.report();
      expect(report).toMatchObject({ used: 0, available: false, error: 'Command timed out' });
      // After one command without a response, none is sent for a while, so few of a hundred tiles were waited for.
      expect(errors).toBeLessThan(30);
    } finally {
      redis.wake();
    }
    expect(await until('the tile is found again', () => cache.get('a'))).toEqual({ ...tile, bytes: Buffer.from(tile.bytes) });
    expect(await cache.report()).toMatchObject({ available: true, items: 1 });
  });

  it('works without Redis while it is unreachable, and clears later', async () => {
    const cache = await open();
    await cache.set('a', tile);
    await redis.stop();
    await until('the loss is noticed', async () => (await cache.report()).available === false);
    for (let i = 0; i < 100; i++) expect(await cache.get('a')).toBeUndefined();
    await cache.clear();
    expect((await cache.report()).error).toMatch(/./);
    await redis.start();
    await until('it is connected again', async () => (await cache.report()).available);
    await cache.set('c', tile);
    expect(await until('tiles are kept again', () => cache.get('c'))).toBeDefined();
  });

  it('starts while Redis is unreachable', async () => {
    await redis.stop();
    const cache = await open();
    expect(await cache.get('a')).toBeUndefined();
    expect(await cache.report()).toMatchObject({ available: false, error: expect.stringContaining('ECONNREFUSED') });
    await redis.start();
    await until('it is connected', async () => (await cache.report()).available);
  });

  it('reports a full Redis, and continues to serve', async () => {
    const small = await startRedis(['--maxmemory', '1500kb', '--maxmemory-policy', 'noeviction']);
    try {
      const connection = await RedisConnection.open({ url: small.url });
      connections.push(connection);
      const cache = new RedisTileCache({ connection, maxBytes: 1e9, namespace: 'full' });
      for (let i = 0; i < 40; i++) await cache.set(`${i}`, { ...tile, bytes: new Uint8Array(100_000) });
      expect((await cache.report()).errors).toBeGreaterThan(0);
    } finally {
      await small.close();
    }
  });

  it('names an address that it cannot parse, without the password', async () => {
    await expect(RedisConnection.open({ url: 'redis://me:secret@host:port' })).rejects.toThrow(
      'Not a Redis address: redis://…@host:port',
    );
  });
});
