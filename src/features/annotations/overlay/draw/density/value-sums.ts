import type { PackMarks } from '../../../elements/element-store.js';
import { notMatching } from '../../../table/values.js';
import { splitColor, type PaintColor } from '../colors.js';
import { colorOfGroup, type GroupFilter, type GroupStyle } from '../shape.js';
import { countedBoxOf, countedPaintOf, CoveredCells } from './covered-cells.js';
import { firstDensityLevel } from './density.js';
import type { LevelCrowding } from './density-gain.js';
import type { CellWindow } from './density-layer.js';

/**
 * The kind decides which numbers are added up for a cell. The weight of a shape in a cell is the covered share times the alpha of its color.
 *
 * - `colors`: red × weight, green × weight, blue × weight, and weight.
 * - `values`: value × weight, the weight of shapes with a value, and the weight of shapes without a value.
 * - `heat`: value, the number of shapes with a value, and the number of shapes without a value. A shape counts in the cell that contains the
 *   center of its box.
 */
export type SumsKind = 'colors' | 'values' | 'heat';

/** The sums of the cells of a rectangle. */
export interface CellSums extends CellWindow {
  /** Four numbers for each cell, row by row. See {@link SumsKind} for their meaning. */
  sums: Float32Array;
}

/** Takes the place of a color number for an element that keeps its own colors. See `colorNumber` for other numbers. */
export const ownColor = -1;

/** Elements of a pack with their values, see `WindowValues`, and their colors. */
export interface ValuedMarks extends Pick<PackMarks, 'boxes' | 'appearanceIndices' | 'appearances'> {
  values: Float32Array;
  /** The color number of each element. `null` if all elements have their own colors. */
  colors: Int32Array | null;
}

/** Elements to add up, and how to add them up. */
export interface SumsInput extends GroupStyle {
  packs: readonly ValuedMarks[];
  kind: SumsKind;
  groups: GroupFilter;
}

/**
 * Adds up elements that are too small to be drawn. Each element is added to the finest grid at whose level the element is small enough.
 *
 * @param grids in ascending order of their levels.
 */
export function addSums({ packs, kind, mode, groupColors, groups }: SumsInput, grids: readonly CellSums[]): void {
  const coveredCells = new CoveredCells();
  for (const { boxes, appearanceIndices, appearances, values, colors } of packs) {
    const paints = appearances.map((appearance) => {
      const paint = countedPaintOf(appearance);
      if (paint === null || (groups !== undefined && !groups.has(appearance.group))) return null;
      const groupColor = colorOfGroup(appearance.group, { mode, groupColors });
      if (groupColor === null) return paint;
      const withGroupColor = (color: PaintColor | null): PaintColor | null => color && [...groupColor, color[3]];
      return { ...paint, fill: withGroupColor(paint.fill), line: withGroupColor(paint.line) };
    });
    for (let i = 0; i < values.length; i += 1) {
      const value = values[i]!;
      const paint = paints[appearanceIndices[i]!];
      if (value === notMatching || paint === null || paint === undefined) continue;
      const box = countedBoxOf(paint.kind, boxes, i);
      const firstLevel = firstDensityLevel(Math.hypot(box.highX - box.lowX, box.highY - box.lowY));
      const grid = grids.find(({ level }) => level >= firstLevel);
      if (grid === undefined) continue;
      const { level, sums } = grid;
      if (kind === 'heat') {
        const side = 2 ** level;
        const offset = sumsOffset(
          grid,
          Math.floor((box.lowX + box.highX) / 2 / side),
          Math.floor((box.lowY + box.highY) / 2 / side),
        );
        if (offset < 0) continue;
        if (Number.isNaN(value)) sums[offset + 2]! += 1;
        else {
          sums[offset]! += value;
          sums[offset + 1]! += 1;
        }
        continue;
      }
      const { fill, line } = paint;
      const color = colors?.[i] ?? ownColor;
      const shape = { kind: paint.kind, isFilled: fill !== null, lineWidth: line === null ? 0 : paint.lineWidth };
      coveredCells.addCoveredCells(shape, box, level, (isLine, column, row, coverage) => {
        const offset = sumsOffset(grid, column, row);
        if (offset < 0) return;
        const paintColor = (isLine ? line : fill) as PaintColor;
        const weight = coverage * paintColor[3];
        if (kind === 'colors') {
          const [red, green, blue] = color === ownColor ? paintColor : splitColor(color);
          sums[offset]! += red * weight;
          sums[offset + 1]! += green * weight;
          sums[offset + 2]! += blue * weight;
          sums[offset + 3]! += weight;
        } else if (Number.isNaN(value)) sums[offset + 2]! += weight;
        else {
          sums[offset]! += value * weight;
          sums[offset + 1]! += weight;
        }
      });
    }
  }
}

/** Adds up elements in a rectangle of fine cells. @returns the sums of `cells`, which are of the same level or a coarser level. */
export function countSums({ input, fine, cells }: { input: SumsInput; fine: CellWindow; cells: CellWindow }): CellSums {
  const grid = newSums(fine);
  addSums(input, [grid]);
  return fine.level === cells.level ? grid : cropSums(input.kind, grid, cells);
}

/** Returns the offset of the sums of a cell. Negative if the cell is not in the grid. */
function sumsOffset({ column, row, width, height }: CellWindow, cellColumn: number, cellRow: number): number {
  const [x, y] = [cellColumn - column, cellRow - row];
  return x < 0 || y < 0 || x >= width || y >= height ? -1 : (y * width + x) * 4;
}

/** Sums of the same area at several levels, finest first. */
export interface SumsPyramid {
  kind: SumsKind;
  grids: readonly CellSums[];
}

/** Adds each level to the next coarser level. @returns how crowded each level is. */
export function completeSums({ kind, grids }: SumsPyramid): LevelCrowding[] {
  for (let i = 0; i + 1 < grids.length; i += 1) addToCoarser(grids[i]!, grids[i + 1]!, coarseningFactor(kind, 1));
  return grids.map(({ level, sums }) => {
    const crowding = { level, sum: 0, squares: 0 };
    for (let offset = 0; offset < sums.length; offset += 4) {
      const weight = weightAt(kind, sums, offset);
      crowding.sum += weight;
      crowding.squares += weight * weight;
    }
    return crowding;
  });
}

/** Returns the weight of the shapes in a cell. @param offset offset of the cell's sums in `sums`. */
export function weightAt(kind: SumsKind, sums: Float32Array, offset: number): number {
  return kind === 'colors' ? sums[offset + 3]! : sums[offset + 1]! + sums[offset + 2]!;
}

/**
 * Returns the factor for sums that are added to a cell of a coarser level. Covered shares are relative to the area of a cell, so they are
 * divided by the ratio of the areas. Numbers of shapes stay the same.
 *
 * @param levelDifference number of levels by which the cell is coarser.
 */
function coarseningFactor(kind: SumsKind, levelDifference: number): number {
  return kind === 'heat' ? 1 : 4 ** -levelDifference;
}

function addToCoarser(from: CellSums, target: CellSums, factor: number): void {
  const shrink = target.level - from.level;
  for (let row = 0; row < from.height; row += 1) {
    for (let column = 0; column < from.width; column += 1) {
      const sourceOffset = (row * from.width + column) * 4;
      const offset = sumsOffset(target, (from.column + column) >> shrink, (from.row + row) >> shrink);
      if (offset < 0) continue;
      for (let i = 0; i < 4; i += 1) target.sums[offset + i]! += from.sums[sourceOffset + i]! * factor;
    }
  }
}

/** Creates an empty grid. @param isShared whether threads work on the grid's memory instead of on a copy. */
export function newSums(window: CellWindow, { isShared = false } = {}): CellSums {
  const length = window.width * window.height * 4;
  const bytes = length * Float32Array.BYTES_PER_ELEMENT;
  return { ...window, sums: isShared ? new Float32Array(new SharedArrayBuffer(bytes)) : new Float32Array(length) };
}

/** Computes the sums of the cells of a rectangle from a grid of the same level or of a finer level. */
export function cropSums(kind: SumsKind, from: CellSums, window: CellWindow): CellSums {
  const shrink = window.level - from.level;
  const factor = coarseningFactor(kind, shrink);
  const croppedSums = newSums(window);
  const first = { column: window.column * 2 ** shrink - from.column, row: window.row * 2 ** shrink - from.row };
  const [left, top] = [Math.max(0, first.column), Math.max(0, first.row)];
  const right = Math.min(from.width, first.column + window.width * 2 ** shrink);
  const bottom = Math.min(from.height, first.row + window.height * 2 ** shrink);
  for (let row = top; row < bottom; row += 1) {
    for (let column = left; column < right; column += 1) {
      const sourceOffset = (row * from.width + column) * 4;
      const offset = (((row - first.row) >> shrink) * window.width + ((column - first.column) >> shrink)) * 4;
      for (let i = 0; i < 4; i += 1) croppedSums.sums[offset + i]! += from.sums[sourceOffset + i]! * factor;
    }
  }
  return croppedSums;
}
