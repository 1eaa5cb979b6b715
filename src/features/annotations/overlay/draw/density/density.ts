import type { ElementAppearance, PackMarks } from '../../../elements/element-store.js';
import type { PaintColor } from '../colors.js';
import { DensityCells } from './density-cells.js';
import { countedBoxOf, countedPaintOf, CoveredCells, type CountedKind } from './covered-cells.js';

/**
 * Shapes whose box has a shorter diagonal than this, in pixels, are not drawn. They are counted in a density instead: the share of each
 * pixel that shapes cover, by color and group.
 */
export const densityBelow = 4;

/** Side of a tile of densities in cells. A cell is as large as a pixel of a picture at the same scale. */
export const densityTileSide = 256;

/** Number of tiles along each side of a block. Tiles are stored in blocks of neighboring tiles. */
export const blockSideTiles = 4;

/** Maximum number of levels. Their cells have sides of 1 to 2 ** 20 base-layer pixels. */
export const densityLevels = 21;

/** Maximum number of classes. Shapes of further classes are counted in the first class of the same group. */
const maxClasses = 4096;

/** The fills and lines of one color and group, which are counted together. */
export interface DensityClass {
  /** `null` if the shapes have no group. `undefined` if the class has several groups; it is then visible only if all groups are. */
  group: string | null | undefined;
  color: PaintColor;
}

/** Number of keys that {@link tileKey} reserves for each row of tiles. */
const keysPerRow = 2 ** 20;

/** Makes the key of a tile from its position among the tiles of a level. */
export function tileKey(column: number, row: number): number {
  return row * keysPerRow + column;
}

/** Returns the column and row of a tile from its {@link tileKey}. */
export function tileAddress(key: number): { column: number; row: number } {
  return { column: key % keysPerRow, row: Math.floor(key / keysPerRow) };
}

/** Densities of a set of elements at one scale. */
export interface DensityLevel {
  /** At level 0, a cell is one base-layer pixel. Each further level doubles the side of a cell. */
  level: number;
  /** The tiles that are not empty, by {@link tileKey}. */
  tiles: Map<number, DensityCells>;
}

/**
 * Finds the first level at which an element is counted instead of drawn.
 *
 * @param diagonal the diagonal of the element's box in base-layer pixels.
 */
export function firstDensityLevel(diagonal: number): number {
  let level = 0;
  for (let limit = densityBelow; diagonal >= limit && level < densityLevels; limit *= 2) level += 1;
  return level;
}

/**
 * Counts elements in densities. An element counts as the ellipse in its box, a rectangle as its box, and an open line as the two
 * diagonals of its box. At a size below {@link densityBelow} pixels, the difference is invisible.
 */
export class DensityCounter {
  readonly classes: DensityClass[] = [];
  readonly #classIndexByKey = new Map<string, number>();
  readonly #tilesByLevel: Map<number, DensityCells>[] = [];
  readonly #coveredCells = new CoveredCells();

  /**
   * Counts each element of a pack at the first level at which the element is small enough. With `onlyLevel`, all elements that are small
   * enough for that level are counted at that level, and other elements are not counted.
   */
  add(marks: PackMarks, onlyLevel?: number): void {
    const paints = marks.appearances.map((appearance) => this.#toClassPaint(appearance));
    for (let i = 0; i < marks.appearanceIndices.length; i += 1) {
      const paint = paints[marks.appearanceIndices[i]!];
      if (paint === undefined) continue;
      const { fill, line } = paint;
      const box = countedBoxOf(paint.kind, marks.boxes, i);
      const firstLevel = firstDensityLevel(Math.hypot(box.highX - box.lowX, box.highY - box.lowY));
      if (firstLevel >= densityLevels || (onlyLevel !== undefined && firstLevel > onlyLevel)) continue;
      const tiles = (this.#tilesByLevel[onlyLevel ?? firstLevel] ??= new Map<number, DensityCells>());
      const shape = { kind: paint.kind, isFilled: fill !== null, lineWidth: line === null ? 0 : paint.lineWidth };
      this.#coveredCells.addCoveredCells(shape, box, onlyLevel ?? firstLevel, (isLine, column, row, coverage) => {
        addToCell(tiles, (isLine ? line : fill) as number, column, row, coverage);
      });
    }
  }

  #toClassPaint(appearance: ElementAppearance): ClassPaint | undefined {
    const paint = countedPaintOf(appearance);
    if (paint === null) return undefined;
    const { kind, fill, line, lineWidth } = paint;
    return {
      kind,
      fill: fill === null ? null : this.#findOrAddClass(appearance.group, fill),
      line: line === null ? null : this.#findOrAddClass(appearance.group, line),
      lineWidth,
    };
  }

  #findOrAddClass(group: string | null, color: PaintColor): number {
    const key = JSON.stringify([group, color]);
    const existing = this.#classIndexByKey.get(key);
    if (existing !== undefined) return existing;
    let index = this.classes.length;
    if (index < maxClasses) this.classes.push({ group, color });
    else index = this.classes.findIndex((other) => other.group === group);
    if (index < 0) {
      // There are too many groups, so this group shares a class with others.
      index = maxClasses;
      this.classes[maxClasses] ??= { group: undefined, color };
    }
    this.#classIndexByKey.set(key, index);
    return index;
  }

  /** Returns the densities of the level for which {@link add} was called with `onlyLevel`. */
  densityLevel(level: number): DensityLevel {
    return { level, tiles: this.#tilesByLevel[level] ?? new Map<number, DensityCells>() };
  }

  /**
   * Yields all levels, from the finest level that has cells. A level consists of the next finer level at half its size, and the elements that
   * are counted first at this level. The last level has everything in one cell, and no further elements to add. Can be called only once.
   */
  *pyramid(): Generator<DensityLevel> {
    let tiles = new Map<number, DensityCells>();
    for (let level = 0; level < densityLevels; level += 1) {
      const newTiles = this.#tilesByLevel[level];
      if (newTiles !== undefined) mergeTiles(tiles, newTiles);
      this.#tilesByLevel[level] = new Map<number, DensityCells>();
      if (tiles.size > 0) yield { level, tiles };
      const hasAllElements = this.#tilesByLevel
        .slice(level + 1)
        .every((laterTiles) => laterTiles === undefined || laterTiles.size === 0);
      if (hasAllElements && isOneCell(tiles)) return;
      tiles = toCoarserTiles(tiles);
    }
  }
}

/** How an element is counted. */
interface ClassPaint {
  kind: CountedKind;
  /** Index of the class of the fill. */
  fill: number | null;
  /** Index of the class of the line. */
  line: number | null;
  lineWidth: number;
}

function addToCell(tiles: Map<number, DensityCells>, classIndex: number, column: number, row: number, coverage: number): void {
  cellsAt(tiles, tileKey(column >> 8, row >> 8)).add(classIndex * 65_536 + ((row & 255) << 8) + (column & 255), coverage);
}

function cellsAt(tiles: Map<number, DensityCells>, key: number): DensityCells {
  let cells = tiles.get(key);
  if (cells === undefined) tiles.set(key, (cells = new DensityCells()));
  return cells;
}

function mergeTiles(target: Map<number, DensityCells>, from: Map<number, DensityCells>): void {
  for (const [key, cells] of from) {
    const existing = target.get(key);
    if (existing === undefined) target.set(key, cells);
    else existing.addAll(cells);
  }
}

/** Whether no cell except the first cell of the first tile is covered. */
function isOneCell(tiles: Map<number, DensityCells>): boolean {
  if (tiles.size === 0) return true;
  if (tiles.size > 1) return false;
  return tiles.get(0)?.keys.every((key) => key % 65_536 === 0) ?? false;
}

/** Adds up the cells of tiles to the tiles of the next coarser level. */
function toCoarserTiles(tiles: Map<number, DensityCells>): Map<number, DensityCells> {
  const coarserTiles = new Map<number, DensityCells>();
  for (const [key, cells] of tiles) {
    const { column, row } = tileAddress(key);
    cells.addToCoarserTile(cellsAt(coarserTiles, tileKey(column >> 1, row >> 1)), ((row & 1) << 15) + ((column & 1) << 7));
  }
  return coarserTiles;
}
