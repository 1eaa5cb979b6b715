import assert from 'node:assert/strict';
import type { CachedTile, TileCache } from '../features/caches/tile-cache.js';
import type { TestFunctions } from './test-functions.js';

function tileOf(length: number, seed: number, type = 'image/jpeg'): CachedTile {
  // Every byte value occurs, because a cache that treats tiles as text breaks them.
  return { bytes: Uint8Array.from({ length }, (_, i) => (i * 7 + seed * 13) % 256), type };
}

/** Keys like those of the plugin: long, with the style as JSON and the encoding, and texts in any script. */
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
 * bytes. Each test closes its cache before the next one is made.
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
  const each: DeclareTest = (name, test, maxBytes = 16 * mebibyte) =>
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
    testTiles(each);
    testSize(each);

    it('answers nothing and throws nothing when it is closed', async () => {
      const cache = await makeCache({ maxBytes: mebibyte });
      await cache.set(keyOf({ tile: 0 }), tileOf(10, 0));
      await cache.clear();
      await cache.close();
      assert.equal(await cache.get(keyOf({ tile: 0 })), undefined);
    });
  });
}

/** Tests of the values that a cache returns. */
function testTiles(each: DeclareTest): void {
  each('gives back exactly what it was given, and nothing for other keys', async (cache) => {
    const tiles = [tileOf(5000, 1), tileOf(1, 2, 'image/png'), tileOf(0, 3, 'application/octet-stream')];
    for (const [tile, value] of tiles.entries()) await cache.set(keyOf({ tile }), value);
    for (const [tile, value] of tiles.entries()) {
      const cached = await cache.get(keyOf({ tile }));
      assert.equal(cached?.type, value.type);
      assert.deepEqual(Uint8Array.from(cached?.bytes ?? []), value.bytes);
    }
    assert.equal(await cache.get(keyOf({ tile: 3 })), undefined);
    assert.equal(await cache.get(''), undefined);
  });

  each('keeps styles and encodings apart, and keys of any length and script', async (cache) => {
    const keys = [
      keyOf({ tile: 0 }),
      keyOf({ tile: 0, encoding: 'PNG' }),
      keyOf({ tile: 0, style: '{"band":2}' }),
      keyOf({ tile: 0, style: `{"comment":"${'x'.repeat(100_000)}"}` }),
      keyOf({ tile: 0, style: `{"comment":"${'x'.repeat(100_000)}y"}` }),
      keyOf({ tile: 0, style: '{"comment":"größe 画像 \u{1f52c} * ? [a] \\n"}' }),
    ];
    for (const [index, key] of keys.entries()) await cache.set(key, tileOf(100, index));
    for (const [index, key] of keys.entries()) {
      assert.deepEqual(Uint8Array.from((await cache.get(key))?.bytes ?? []), tileOf(100, index).bytes, key.slice(0, 120));
    }
  });

  each('takes the later of two tiles of one key, and counts it once', async (cache) => {
    const key = keyOf({ tile: 0 });
    await cache.set(key, tileOf(200_000, 1));
    const { used: large } = await cache.report();
    await cache.set(key, tileOf(100, 2));
    assert.deepEqual(Uint8Array.from((await cache.get(key))?.bytes ?? []), tileOf(100, 2).bytes);
    const report = await cache.report();
    assert.ok(report.used < large && report.used > 0, `${report.used} bytes after ${large}`);
    assert.equal(report.items ?? 1, 1);
  });

  each('serves many at once', async (cache) => {
    const work = Array.from({ length: 200 }, async (_, i) => {
      const key = keyOf({ tile: i % 20 });
      await cache.set(key, tileOf(1000, i % 20));
      const cached = await cache.get(key);
      if (cached !== undefined) assert.deepEqual(Uint8Array.from(cached.bytes), tileOf(1000, i % 20).bytes);
    });
    await Promise.all(work);
    assert.equal((await cache.report()).items ?? 20, 20);
  });
}

/** Tests of the capacity of a cache, and of what it evicts. */
function testSize(each: DeclareTest): void {
  each('reports what it holds, and nothing after a clear', async (cache) => {
    const empty = await cache.report();
    assert.deepEqual([empty.used, empty.items ?? 0], [0, 0]);
    assert.ok(empty.maxsize > 0);
    for (let tile = 0; tile < 10; tile++) await cache.set(keyOf({ tile }), tileOf(10_000, tile));
    const full = await cache.report();
    assert.ok(full.used >= 100_000 && full.used <= full.maxsize, `${full.used} of ${full.maxsize}`);
    assert.equal(full.items ?? 10, 10);
    await cache.clear();
    assert.equal((await cache.report()).used, 0);
    assert.equal(await countCached(cache, 10), 0);
  });

  each(
    'stays within its bytes, and lets go first of what was not used for longest',
    async (cache) => {
      const count = 40;
      for (let tile = 0; tile < count; tile++) {
        await cache.set(keyOf({ tile }), tileOf(64 * 1024, tile));
        await cache.get(keyOf({ tile: 0 }));
        // Times of use differ by milliseconds.
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      const report = await cache.report();
      assert.ok(report.used <= mebibyte, `${report.used} bytes`);
      assert.ok((await cache.get(keyOf({ tile: 0 }))) !== undefined, 'what is always in use stays');
      assert.ok((await cache.get(keyOf({ tile: count - 1 }))) !== undefined, 'the newest stays');
      assert.equal(await cache.get(keyOf({ tile: 1 })), undefined, 'the oldest is gone');
      const tiles = await countCached(cache, count);
      assert.ok(tiles >= 8 && tiles <= 16, `${tiles} tiles of 64 KiB in 1 MiB`);
    },
    mebibyte,
  );

  each('keeps no tile that is larger than all of it, and stays well', async (cache) => {
    await cache.set(keyOf({ tile: 0 }), tileOf(100, 0));
    await cache.set(keyOf({ tile: 1 }), tileOf(17 * mebibyte, 1));
    assert.equal(await cache.get(keyOf({ tile: 1 })), undefined);
    assert.ok((await cache.get(keyOf({ tile: 0 }))) !== undefined);
  });
}
