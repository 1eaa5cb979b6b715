import type { BoundingBox } from '../../../../../annotation-format/bounding-box.js';
import type { DensityClass, DensityLevel } from './density.js';

/** How crowded a level of densities is. */
export interface LevelCrowding {
  level: number;
  /** Sum over all cells of their weight: the covered share times the alpha of its color. */
  sum: number;
  /** Sum of the squares of the weights. `squares / sum` is the mean weight of the cells, in which crowded cells count more. */
  squares: number;
}

/** The box of a window, and the crowdedness of its levels. */
export interface WindowCrowding {
  box: Pick<BoundingBox, 'lowx' | 'lowy' | 'highx' | 'highy'>;
  crowds: readonly LevelCrowding[];
}

/** Opacity of a pixel with the mean weight of a level. */
const defaultOpacity = 0.75;

/**
 * Smallest and largest gain. With the smallest, a pixel of which shapes cover a quarter has an opacity of 63%. The largest keeps a
 * single shape on a slide from filling its pixel.
 */
const [minGain, maxGain] = [4, 4096];

const weightByPosition = new Float64Array(65_536);

/** Measures how crowded a level is. */
export function measureCrowding({ level, tiles }: DensityLevel, classes: readonly DensityClass[]): LevelCrowding {
  const crowd = { level, sum: 0, squares: 0 };
  const opacities = classes.map(({ color }) => color[3]);
  for (const cells of tiles.values()) {
    const { keys, coverages } = cells;
    for (let i = 0; i < keys.length; i += 1)
      weightByPosition[keys[i]! & 65_535]! += coverages[i]! * (opacities[keys[i]! >>> 16] ?? 0);
    for (const key of keys) {
      const weight = weightByPosition[key & 65_535]!;
      weightByPosition[key & 65_535] = 0;
      crowd.sum += weight;
      crowd.squares += weight * weight;
    }
  }
  return crowd;
}

/**
 * The factor for densities of a level. It makes typical pixels clearly visible, while crowded pixels can still be told apart. It depends
 * on the elements: from level to level, the covered share of a pixel falls to a quarter if shapes are isolated, but not if they are side
 * by side. It is the same for all tiles of a level. Where windows overlap, their shapes are assumed to be evenly distributed.
 */
export function defaultGain(windows: readonly WindowCrowding[], level: number): number {
  let [weightedSum, totalWeight] = [0, 0];
  for (const { box, crowds } of windows) {
    const windowCrowd = crowdingAt(crowds, level);
    if (windowCrowd === null || windowCrowd.sum === 0) continue;
    let meanWeight = windowCrowd.squares / windowCrowd.sum;
    for (const other of windows) {
      const crowd = other.box === box ? null : crowdingAt(other.crowds, level);
      if (crowd !== null) meanWeight += (crowd.sum / cellCountOf(other.box, level)) * overlapShare(box, other.box);
    }
    weightedSum += meanWeight * windowCrowd.sum;
    totalWeight += windowCrowd.sum;
  }
  if (totalWeight === 0) return minGain;
  return Math.max(minGain, Math.min(maxGain, -Math.log(1 - defaultOpacity) / (weightedSum / totalWeight)));
}

/** How crowded a level is. For levels above the coarsest one, this is computed from the coarsest. */
function crowdingAt(crowds: readonly LevelCrowding[], level: number): LevelCrowding | null {
  const exact = crowds.find((crowd) => crowd.level === level);
  if (exact !== undefined) return exact;
  const last = crowds.at(-1);
  if (last === undefined || last.level > level) return null;
  return { level, sum: last.sum / 4 ** (level - last.level), squares: last.squares / 4 ** (level - last.level) };
}

/** Number of cells of a level that a box covers, at least 1. */
function cellCountOf({ lowx, lowy, highx, highy }: WindowCrowding['box'], level: number): number {
  const cellSide = 2 ** level;
  return Math.max(1, (highx - lowx) / cellSide) * Math.max(1, (highy - lowy) / cellSide);
}

/** The share of a box that is inside another one. */
function overlapShare(box: WindowCrowding['box'], other: WindowCrowding['box']): number {
  const shareAlong = (low: number, high: number, otherLow: number, otherHigh: number) =>
    high > low
      ? Math.max(0, Math.min(high, otherHigh) - Math.max(low, otherLow)) / (high - low)
      : Number(otherLow <= low && low <= otherHigh);
  return shareAlong(box.lowx, box.highx, other.lowx, other.highx) * shareAlong(box.lowy, box.highy, other.lowy, other.highy);
}
