import type { BoundingBox } from '../../../../../annotation-format/bounding-box.js';
import type { DensityClass, DensityLevel } from './density.js';

/** How crowded a level of densities is. */
export interface LevelCrowding {
  level: number;
  /** Sum of the weights of all cells. The weight of a cell is its covered share times the alpha of the color that covers it. */
  sum: number;
  /** Sum of the squares of the weights. `squares / sum` is a mean weight of the cells in which crowded cells count more. */
  squares: number;
}

/** The box of a window, and how crowded its levels are. */
export interface WindowCrowding {
  box: Pick<BoundingBox, 'lowx' | 'lowy' | 'highx' | 'highy'>;
  levelCrowdings: readonly LevelCrowding[];
}

/** The default gain gives this opacity to a pixel that has the mean weight of its level. */
const defaultOpacity = 0.75;

/**
 * The smallest and the largest default gain. With the smallest gain, a pixel that is covered to a quarter has an opacity of 63%. The largest
 * gain keeps a single shape on a slide from filling its pixel.
 */
const [minGain, maxGain] = [4, 4096];

const weightByPosition = new Float64Array(65_536);

/** Measures how crowded a level is. */
export function measureCrowding({ level, tiles }: DensityLevel, classes: readonly DensityClass[]): LevelCrowding {
  const crowding = { level, sum: 0, squares: 0 };
  const opacities = classes.map(({ color }) => color[3]);
  for (const cells of tiles.values()) {
    const { keys, coverages } = cells;
    for (let i = 0; i < keys.length; i += 1)
      weightByPosition[keys[i]! & 65_535]! += coverages[i]! * (opacities[keys[i]! >>> 16] ?? 0);
    for (const key of keys) {
      const weight = weightByPosition[key & 65_535]!;
      weightByPosition[key & 65_535] = 0;
      crowding.sum += weight;
      crowding.squares += weight * weight;
    }
  }
  return crowding;
}

/**
 * Chooses the factor for densities of a level, which is the same for all tiles. It makes typical pixels clearly visible, while crowded pixels
 * can still be told apart. It depends on the elements: from level to level, the covered share of a pixel falls to a quarter if shapes are
 * isolated, but not if they lie side by side. Where windows overlap, their shapes are assumed to be evenly distributed.
 */
export function defaultGain(windows: readonly WindowCrowding[], level: number): number {
  let [weightedSum, totalWeight] = [0, 0];
  for (const { box, levelCrowdings } of windows) {
    const crowding = crowdingAt(levelCrowdings, level);
    if (crowding === null || crowding.sum === 0) continue;
    let meanWeight = crowding.squares / crowding.sum;
    for (const other of windows) {
      const otherCrowding = other.box === box ? null : crowdingAt(other.levelCrowdings, level);
      if (otherCrowding !== null)
        meanWeight += (otherCrowding.sum / cellCountOf(other.box, level)) * overlapShare(box, other.box);
    }
    weightedSum += meanWeight * crowding.sum;
    totalWeight += crowding.sum;
  }
  if (totalWeight === 0) return minGain;
  return Math.max(minGain, Math.min(maxGain, -Math.log(1 - defaultOpacity) / (weightedSum / totalWeight)));
}

/**
 * Finds how crowded a level is. For a level coarser than all in the list, this is computed from the coarsest in the list. Returns `null` for
 * a finer level that is not in the list.
 */
function crowdingAt(levelCrowdings: readonly LevelCrowding[], level: number): LevelCrowding | null {
  const exact = levelCrowdings.find((crowding) => crowding.level === level);
  if (exact !== undefined) return exact;
  const coarsest = levelCrowdings.at(-1);
  if (coarsest === undefined || coarsest.level > level) return null;
  const areaRatio = 4 ** (level - coarsest.level);
  return { level, sum: coarsest.sum / areaRatio, squares: coarsest.squares / areaRatio };
}

/** Computes the number of cells of a level that a box covers, at least 1. */
function cellCountOf({ lowx, lowy, highx, highy }: WindowCrowding['box'], level: number): number {
  const cellSide = 2 ** level;
  return Math.max(1, (highx - lowx) / cellSide) * Math.max(1, (highy - lowy) / cellSide);
}

/** Computes the share of a box that is inside another box. */
function overlapShare(box: WindowCrowding['box'], other: WindowCrowding['box']): number {
  const shareAlong = (low: number, high: number, otherLow: number, otherHigh: number) =>
    high > low
      ? Math.max(0, Math.min(high, otherHigh) - Math.max(low, otherLow)) / (high - low)
      : Number(otherLow <= low && low <= otherHigh);
  return shareAlong(box.lowx, box.highx, other.lowx, other.highx) * shareAlong(box.lowy, box.highy, other.lowy, other.highy);
}
