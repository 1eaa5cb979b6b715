import { median } from '../support/measure.js';
import { slideHeight, slideWidth } from '../support/polygons.js';
import { call, type Bench } from './measures.js';

const tileSize = 256;
const levels = 10;
const tilesPerLevel = 8;
const [maxMsFirst, maxMs] = [200, 100];
/** Time before the first tile, in which the host compiles its code, as it does while a client signs in and sends other requests. */
const settleMs = 2000;

/** Columns and rows of tiles of a level, spread over the slide. */
function places(level: number): { x: number; y: number }[] {
  const side = tileSize * 2 ** (levels - 1 - level);
  const [columns, rows] = [Math.ceil(slideWidth / side), Math.ceil(slideHeight / side)];
  const positions = Array.from({ length: tilesPerLevel }, (_, i) => ({
    x: Math.floor(columns * (0.5 + i * 0.618)) % columns,
    y: Math.floor(rows * (0.5 + i * 0.414)) % rows,
  }));
  // No tile is requested twice, because the second answer would come from the cache.
  return [...new Map(positions.map((place) => [`${place.x}/${place.y}`, place])).values()];
}

/** Waits until the densities have been computed. @returns seconds. */
export async function prepareOverlay(bench: Bench, id: string): Promise<number> {
  const start = performance.now();
  for (;;) {
    try {
      await call(bench, 'GET', `/annotation/${id}/tiles/zxy/0/0/0`);
      return (performance.now() - start) / 1000;
    } catch (error) {
      if (!(error instanceof Error && error.message.includes('503'))) throw error;
    }
  }
}

/**
 * Measures tiles that are not in a cache, at every zoom. Each level has a new host, in which nothing is compiled or read yet. The
 * first tile and some others are requested.
 */
export async function measureOverlay(bench: Bench, id: string, restart: () => Promise<Bench['host']>): Promise<void> {
  const { targets } = bench;
  const firstTimes: number[] = [];
  const otherTimes: number[] = [];
  targets.print(
    'overlay tiles: scale',
    'first of a new process: clock, processor; others: median, worst, processor; vector; PNG bytes',
  );
  for (let level = 0; level < levels; level += 1) {
    const host = await restart();
    await new Promise((resolve) => setTimeout(resolve, settleMs));
    const tile = async (kind: string, { x, y }: { x: number; y: number }) => {
      const before = await host.usage();
      const received = await call({ ...bench, host }, 'GET', `/annotation/${id}/tiles/${kind}/${level}/${x}/${y}`);
      return { ...received, cpuMs: (await host.usage()).cpuMs - before.cpuMs };
    };
    const [first, ...otherPlaces] = places(level);
    const firstTile = await tile('zxy', first!);
    const otherTiles: (typeof firstTile)[] = [];
    for (const place of otherPlaces) otherTiles.push(await tile('zxy', place));
    const vectors: number[] = [];
    for (const place of places(level)) vectors.push((await tile('mvt', place)).ms);
    const otherMs = otherTiles.map(({ ms }) => ms);
    firstTimes.push(firstTile.ms);
    otherTimes.push(...otherMs);
    const numbers = [
      firstTile.ms,
      firstTile.cpuMs,
      median(otherMs),
      Math.max(...otherMs),
      median(otherTiles.map(({ cpuMs }) => cpuMs)),
      median(vectors),
    ];
    targets.print(
      `  1:${2 ** (levels - 1 - level)}`,
      `${numbers.map((number) => (Number.isFinite(number) ? number.toFixed(0) : '-').padStart(6)).join('')} ${String(firstTile.bytes).padStart(8)}`,
    );
  }
  targets.check('overlay tile, first of a process', Math.max(...firstTimes), maxMsFirst, 'ms', 'the worst of all levels');
  targets.check(
    'overlay tile, uncached',
    Math.max(...otherTimes.filter(Number.isFinite)),
    maxMs,
    'ms',
    'the worst of all levels',
  );
}
