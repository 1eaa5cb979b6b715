import type { PackMarks } from '../../../elements/element-store.js';
import { encodeDensity } from './density-codec.js';
import { measureCrowding, type LevelCrowding } from './density-gain.js';
import { GroupColorCounter, type GroupColorCount } from '../group-colors.js';
import { blockSideTiles, DensityCounter, tileKey, tileAddress, type DensityClass, type DensityLevel } from './density.js';

/** A block of 4 × 4 neighboring tiles of a level of a window's densities. */
export interface CountedBlock {
  level: number;
  /** Position of the block among the blocks of the level. */
  column: number;
  row: number;
  /** Encoded tiles, row by row. Tiles without cells have no bytes. */
  tiles: readonly Uint8Array[];
}

/** The densities of a window of elements. */
export interface CountedWindow {
  /** Finest and coarsest level. `null` if no element is counted. */
  levels: { finest: number; coarsest: number } | null;
  classes: DensityClass[];
  /** Number of elements by group and color, including elements that are always drawn. */
  groups: GroupColorCount[];
  /** How crowded each level is, finest first. */
  levelCrowdings: LevelCrowding[];
  blocks: CountedBlock[];
}

/** Counts the elements of a window in densities of all levels. */
export function countWindow(packs: readonly PackMarks[]): CountedWindow {
  const densityCounter = new DensityCounter();
  const colorCounter = new GroupColorCounter();
  for (const marks of packs) {
    densityCounter.add(marks);
    colorCounter.add(marks);
  }
  const countedWindow: CountedWindow = {
    levels: null,
    classes: densityCounter.classes,
    groups: colorCounter.counts,
    levelCrowdings: [],
    blocks: [],
  };
  for (const level of densityCounter.pyramid()) {
    countedWindow.levelCrowdings.push(measureCrowding(level, densityCounter.classes));
    countedWindow.levels = { finest: countedWindow.levels?.finest ?? level.level, coarsest: level.level };
    countedWindow.blocks.push(...blocksOf(level));
  }
  return countedWindow;
}

function blocksOf({ level, tiles }: DensityLevel): CountedBlock[] {
  const addressesByKey = new Map<number, { column: number; row: number }>();
  for (const key of tiles.keys()) {
    const { column, row } = tileAddress(key);
    const address = { column: Math.floor(column / blockSideTiles), row: Math.floor(row / blockSideTiles) };
    addressesByKey.set(tileKey(address.column, address.row), address);
  }
  return Array.from(addressesByKey.values(), ({ column, row }) => {
    const encodedTiles = Array.from({ length: blockSideTiles * blockSideTiles }, (_, i) => {
      const address = {
        column: column * blockSideTiles + (i % blockSideTiles),
        row: row * blockSideTiles + Math.floor(i / blockSideTiles),
      };
      const tile = tiles.get(tileKey(address.column, address.row));
      return tile === undefined ? new Uint8Array(0) : encodeDensity(tile);
    });
    return { level, column, row, tiles: encodedTiles };
  });
}
