import assert from 'node:assert/strict';
import type { CachedTile, TileCache } from '../features/caches/tile-cache.js';
import type { TestFunctions } from './test-functions.js';

function makeTile(length: number, seed: number, type = 'image/jpeg'): CachedTile {
  // Every byte value occurs, so that a cache which treats tiles as text, and thereby damages them, fails.
  return { bytes: Uint8Array.from({ length }, (_, i) => (i * 7 + seed * 13) % 256), type };
}

/**
 * Makes a key like the keys of the plugin, which are long and contain the encoding, and the style as JSON with text in any script.
 */
function keyOf(parts: { tile: number; style?: string; encoding?: string }): string {
  const { tile, style = '{"band":1,"palette":["#000","#fff"]}', encoding = 'JPEG' } = parts;
  return `65f000000000000000000001:1700000000000:tiff:true/tile?encoding="${encoding}"&level=3&style=${style}&x=${tile}&y=0`;
}

async function countCached(cache: TileCache, count: number): Promise<number> {
  let cachedCount = 0;
  for (let tile = 0; tile < count; tile++) if ((await cache.get(keyOf({ tile }))) !== undefined) cachedCount++;
  return cachedCount;
}

const mebibyte = 1024 * 1024;

/** Declares a test with its own cache. */
type DeclareTest = (name: string, test: (cache: TileCache) => Promise<void>, maxBytes?: number) => unknown;

/**
 * Declares the tests that every tile cache has to pass. `makeCache` returns an empty cache that can store at most `maxBytes`
 * bytes. Each test closes its cache before the next cache is made.
 *
 * ```ts
 * import { describe, it } from 'vitest';
 * describeTileCache(({ maxBytes }) => new MyTileCache(maxBytes), { describe, it });
 * ```
 */
export function describeTileCache(
  makeCache: (options: { maxBytes: number }) => TileCache | Promise<TileCache>,
  { describe, it }: Pick<TestFunctions, 'describe' | 'it'>,
): void {
  const declareTest: DeclareTest = (name, test, maxBytes = 16 * mebibyte) =>
    it(name, async () => {
      const cache = await makeCache({ maxBytes });
      try {
        await test(cache);
      } finally {
        await cache.clear();
        await cache.close();
      }
    });

  describe('tile cache', () => {
    testTiles(declareTest);
    testSize(declareTest);

    it('returns nothing and throws nothing after it was closed', async () => {
      const cache = await makeCache({ maxBytes: mebibyte });
      await cache.set(keyOf({ tile: 0 }), makeTile(10, 0));
      await cache.clear();
      await cache.close();
      assert.equal(await cache.get(keyOf({ tile: 0 })), undefined);
    });
  });
}

/** Declares tests of the tiles that a cache returns. */
function testTiles(declareTest: DeclareTest): void {
  declareTest('returns exactly the stored tiles, and nothing for other keys', async (cache) => {
    const tiles = [makeTile(5000, 1), makeTile(1, 2, 'image/png'), makeTile(0, 3, 'application/octet-stream')];
    for (const [tile, value] of tiles.entries()) await cache.set(keyOf({ tile }), value);
    for (const [tile, value] of tiles.entries()) {
      const cachedTile = await cache.get(keyOf({ tile }));
      assert.equal(cachedTile?.type, value.type);
      assert.deepEqual(Uint8Array.from(cachedTile?.bytes ?? []), value.bytes);
    }
    assert.equal(await cache.get(keyOf({ tile: 3 })), undefined);
    assert.equal(await cache.get(''), undefined);
  });

  declareTest('distinguishes styles and encodings, and accepts keys of any length and script', async (cache) => {
    const keys = [
      keyOf({ tile: 0 }),
      keyOf({ tile: 0, encoding: 'PNG' }),
      keyOf({ tile: 0, style: '{"band":2}' }),
      keyOf({ tile: 0, style: `{"comment":"${'x'.repeat(100_000)}"}` }),
      keyOf({ tile: 0, style: `{"comment":"${'x'.repeat(100_000)}y"}` }),
      keyOf({ tile: 0, style: '{"comment":"größe 画像 \u{1f52c} * ? [a] \\n"}' }),
    ];
    for (const [index, key] of keys.entries()) await cache.set(key, makeTile(100, index));
    for (const [index, key] of keys.entries()) {
      assert.deepEqual(Uint8Array.from((await cache.get(key))?.bytes ?? []), makeTile(100, index).bytes, key.slice(0, 120));
    }
  });

  declareTest('keeps the later of two tiles with the same key, and counts only that one', async (cache) => {
    const key = keyOf({ tile: 0 });
    await cache.set(key, makeTile(200_000, 1));
    const { used: usedBefore } = await cache.report();
    await cache.set(key, makeTile(100, 2));
    assert.deepEqual(Uint8Array.from((await cache.get(key))?.bytes ?? []), makeTile(100, 2).bytes);
    const report = await cache.report();
    assert.ok(report.used < usedBefore && report.used > 0, `${report.used} bytes after ${usedBefore}`);
    assert.equal(report.items ?? 1, 1);
  });

  declareTest('serves many requests at the same time', async (cache) => {
    const work = Array.from({ length: 200 }, async (_, i) => {
      const key = keyOf({ tile: i % 20 });
      await cache.set(key, makeTile(1000, i % 20));
      const cachedTile = await cache.get(key);
      if (cachedTile !== undefined) assert.deepEqual(Uint8Array.from(cachedTile.bytes), makeTile(1000, i % 20).bytes);
    });
    await Promise.all(work);
    assert.equal((await cache.report()).items ?? 20, 20);
  });
}

/** Declares tests of the capacity of a cache, and of the tiles that it evicts. */
function testSize(declareTest: DeclareTest): void {
  declareTest('reports its contents, and nothing after it was cleared', async (cache) => {
    const emptyReport = await cache.report();
    assert.deepEqual([emptyReport.used, emptyReport.items ?? 0], [0, 0]);
    assert.ok(emptyReport.maxsize > 0);
    for (let tile = 0; tile < 10; tile++) await cache.set(keyOf({ tile }), makeTile(10_000, tile));
    const fullReport = await cache.report();
    const { used, maxsize } = fullReport;
    assert.ok(used >= 100_000 && used <= maxsize, `${used} of ${maxsize}`);
    assert.equal(fullReport.items ?? 10, 10);
    await cache.clear();
    assert.equal((await cache.report()).used, 0);
    assert.equal(await countCached(cache, 10), 0);
  });

  declareTest(
    'stays within its limit, and removes the least recently used tiles first',
    async (cache) => {
      const count = 40;
      for (let tile = 0; tile < count; tile++) {
        await cache.set(keyOf({ tile }), makeTile(64 * 1024, tile));
        await cache.get(keyOf({ tile: 0 }));
        // The pause makes the times of use differ.
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      const report = await cache.report();
      assert.ok(report.used <= mebibyte, `${report.used} bytes`);
      assert.ok((await cache.get(keyOf({ tile: 0 }))) !== undefined, 'a tile that is always in use stays');
      assert.ok((await cache.get(keyOf({ tile: count - 1 }))) !== undefined, 'the newest tile stays');
      assert.equal(await cache.get(keyOf({ tile: 1 })), undefined, 'the oldest tile is removed');
      const tiles = await countCached(cache, count);
      assert.ok(tiles >= 8 && tiles <= 16, `${tiles} tiles of 64 KiB in 1 MiB`);
    },
    mebibyte,
  );

  declareTest('does not store a tile that is larger than the cache, and continues to work', async (cache) => {
    await cache.set(keyOf({ tile: 0 }), makeTile(100, 0));
    await cache.set(keyOf({ tile: 1 }), makeTile(17 * mebibyte, 1));
    assert.equal(await cache.get(keyOf({ tile: 1 })), undefined);
    assert.ok((await cache.get(keyOf({ tile: 0 }))) !== undefined);
  });
}
