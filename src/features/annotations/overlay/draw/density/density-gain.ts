import type { BoundingBox } from '../../../../../annotation-format/bounding-box.js';
import type { DensityClass, DensityLevel } from './density.js';

/** How crowded one level of the densities of some elements is. */
export interface DensityCrowd {
  level: number;
  /** Sum of the shares of all cells, each times its opacity. */
  sum: number;
  /** Sum of their squares: `squares / sum` is the share of a cell as the shapes in it see it, on average. */
  squares: number;
}

/** Densities whose crowds are known, and where they lie. */
export interface CrowdedWindow {
  box: Pick<BoundingBox, 'lowx' | 'lowy' | 'highx' | 'highy'>;
  crowds: readonly DensityCrowd[];
}

/** Opacity that a pixel with the usual share of a level has. */
const defaultOpacity = 0.75;

/** Least and most gain: a pixel covered to a quarter is never fainter than 63 %; a shape alone on a slide does not fill its pixel. */
const [leastGain, mostGain] = [4, 4096];

const scratch = new Float64Array(65_536);

/** Measures a level. */
export function crowdOf({ level, tiles }: DensityLevel, classes: readonly DensityClass[]): DensityCrowd {
  const crowd = { level, sum: 0, squares: 0 };
  const opacities = classes.map(({ color }) => color[3]);
  for (const cells of tiles.values()) {
    const { keys, shares } = cells;
    for (let i = 0; i < keys.length; i += 1) scratch[keys[i]! & 65_535]! += shares[i]! * (opacities[keys[i]! >>> 16] ?? 0);
    for (const key of keys) {
      const weight = scratch[key & 65_535]!;
      scratch[key & 65_535] = 0;
      crowd.sum += weight;
      crowd.squares += weight * weight;
    }
  }
  return crowd;
}

/**
 * How often densities of a level are to be counted so that usual pixels are well seen and crowded ones still differ. Shares get
 * smaller by 4 with each level where shapes stand alone, and no smaller where they stand side by side, so it depends on the elements.
 * It is the same for all tiles of a level. Windows that lie over each other are taken to be evenly filled.
 */
export function defaultGain(windows: readonly CrowdedWindow[], level: number): number {
  let [seen, total] = [0, 0];
  for (const { box, crowds } of windows) {
    const own = crowdAt(crowds, level);
    if (own === null || own.sum === 0) continue;
    let share = own.squares / own.sum;
    for (const other of windows) {
      const crowd = other.box === box ? null : crowdAt(other.crowds, level);
      if (crowd !== null) share += (crowd.sum / areaOf(other.box, level)) * overlap(box, other.box);
    }
    seen += share * own.sum;
    total += own.sum;
  }
  if (total === 0) return leastGain;
  return Math.max(leastGain, Math.min(mostGain, -Math.log(1 - defaultOpacity) / (seen / total)));
}

/** The crowd of a level; above the coarsest, where everything is in one tile, that of the coarsest made coarser. */
function crowdAt(crowds: readonly DensityCrowd[], level: number): DensityCrowd | null {
  const found = crowds.find((crowd) => crowd.level === level);
  if (found !== undefined) return found;
  const last = crowds.at(-1);
  if (last === undefined || last.level > level) return null;
  return { level, sum: last.sum / 4 ** (level - last.level), squares: last.squares / 4 ** (level - last.level) };
}

/** Cells of a level that a box covers, at least one. */
function areaOf({ lowx, lowy, highx, highy }: CrowdedWindow['box'], level: number): number {
  const cell = 2 ** level;
  return Math.max(1, (highx - lowx) / cell) * Math.max(1, (highy - lowy) / cell);
}

/** The part of a box that lies in another. */
function overlap(box: CrowdedWindow['box'], other: CrowdedWindow['box']): number {
  const along = (low: number, high: number, otherLow: number, otherHigh: number) =>
    high > low
      ? Math.max(0, Math.min(high, otherHigh) - Math.max(low, otherLow)) / (high - low)
      : Number(otherLow <= low && low <= otherHigh);
  return along(box.lowx, box.highx, other.lowx, other.highx) * along(box.lowy, box.highy, other.lowy, other.highy);
}
