import type { PackMarks } from '../../../elements/contract.js';
import { encodeDensity } from './density-codec.js';
import { crowdOf, type DensityCrowd } from './density-gain.js';
import { GroupColorCounter, type GroupColor } from '../group-colors.js';
import { blockTiles, DensityCounter, tileKey, tileAddress, type DensityClass, type DensityLevel } from './density.js';

/** 4 × 4 neighbouring tiles of one level of a window. */
export interface CountedBlock {
  level: number;
  /** Place among the blocks of the level. */
  column: number;
  row: number;
  /** Packed tiles, row by row; empty ones where nothing is. */
  tiles: readonly Uint8Array[];
}

/** The densities of a window of elements. */
export interface CountedWindow {
  /** Finest and coarsest level; `null` when nothing is counted. */
  levels: { finest: number; coarsest: number } | null;
  classes: DensityClass[];
  /** All elements by group and color, also those that are never counted. */
  groups: GroupColor[];
  /** How crowded the levels are, finest first. */
  crowds: DensityCrowd[];
  blocks: CountedBlock[];
}

/** Counts the elements of a window, level after level. */
export function countWindow(packs: readonly PackMarks[]): CountedWindow {
  const counter = new DensityCounter();
  const colors = new GroupColorCounter();
  for (const marks of packs) {
    counter.add(marks);
    colors.add(marks);
  }
  const counted: CountedWindow = { levels: null, classes: counter.classes, groups: colors.counted, crowds: [], blocks: [] };
  for (const level of counter.pyramid()) {
    counted.crowds.push(crowdOf(level, counter.classes));
    counted.levels = { finest: counted.levels?.finest ?? level.level, coarsest: level.level };
    counted.blocks.push(...blocksOf(level));
  }
  return counted;
}

function blocksOf({ level, tiles }: DensityLevel): CountedBlock[] {
  const blocks = new Map<number, { column: number; row: number }>();
  for (const key of tiles.keys()) {
    const { column, row } = tileAddress(key);
    const address = { column: Math.floor(column / blockTiles), row: Math.floor(row / blockTiles) };
    blocks.set(tileKey(address.column, address.row), address);
  }
  return Array.from(blocks.values(), ({ column, row }) => {
    const packed = Array.from({ length: blockTiles * blockTiles }, (_, i) => {
      const address = { column: column * blockTiles + (i % blockTiles), row: row * blockTiles + Math.floor(i / blockTiles) };
      const tile = tiles.get(tileKey(address.column, address.row));
      return tile === undefined ? new Uint8Array(0) : encodeDensity(tile);
    });
    return { level, column, row, tiles: packed };
  });
}
