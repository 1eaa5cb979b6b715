import type { PackMarks } from '../../../elements/element-store.js';
import { notMatching } from '../../../table/values.js';
import { splitColor, type PaintColor } from '../colors.js';
import { colorOfGroup, type GroupFilter, type GroupStyle } from '../shape.js';
import { countedBoxOf, countedPaintOf, CoveredCells } from './covered-cells.js';
import { firstDensityLevel } from './density.js';
import type { LevelCrowding } from './density-gain.js';
import type { CellWindow } from './density-layer.js';

/**
 * The sums of a cell, up to four, depending on their kind:
 *
 * - `colors`: red, green and blue, multiplied by the weight, and the weight, which is the covered share times the alpha of its color.
 * - `values`: values multiplied by the weight, the weight of shapes with a value, and the weight of shapes without a value.
 * - `heat`: values, the number of shapes with a value, and the number of shapes without one. The centers of their boxes are in the cell.
 */
export type SumsKind = 'colors' | 'values' | 'heat';

/** Sums of the cells of a rectangle, row by row, with four numbers for each cell; see {@link SumsKind}. */
export interface CellSums extends CellWindow {
  sums: Float32Array;
}

/** Marks an element that keeps its own colors. Other values are colors as `colorNumber` makes them. */
export const ownColor = -1;

/** Elements of a pack with their values, as in `WindowValues`, or with colors. */
export interface ValuedMarks extends Pick<PackMarks, 'boxes' | 'appearanceIndices' | 'appearances'> {
  values: Float32Array;
  /** `null`: all have their own colors. */
  colors: Int32Array | null;
}

/** Elements to add up, and how. */
export interface SumsInput extends GroupStyle {
  packs: readonly ValuedMarks[];
  kind: SumsKind;
  groups: GroupFilter;
}

/**
 * Adds elements that are too small to be drawn. Each is added to the finest grid at whose level it is small enough. Grids are in
 * ascending order of their levels.
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
        const at = sumsOffset(grid, Math.floor((box.lowX + box.highX) / 2 / side), Math.floor((box.lowY + box.highY) / 2 / side));
        if (at < 0) continue;
        if (Number.isNaN(value)) sums[at + 2]! += 1;
        else {
          sums[at]! += value;
          sums[at + 1]! += 1;
        }
        continue;
      }
      const { fill, line } = paint;
      const color = colors?.[i] ?? ownColor;
      const shape = { kind: paint.kind, isFilled: fill !== null, lineWidth: line === null ? 0 : paint.lineWidth };
      coveredCells.addCoveredCells(shape, box, level, (isLine, column, row, coverage) => {
        const at = sumsOffset(grid, column, row);
        if (at < 0) return;
        const paintColor = (isLine ? line : fill) as PaintColor;
        const weight = coverage * paintColor[3];
        if (kind === 'colors') {
          const [red, green, blue] = color === ownColor ? paintColor : splitColor(color);
          sums[at]! += red * weight;
          sums[at + 1]! += green * weight;
          sums[at + 2]! += blue * weight;
          sums[at + 3]! += weight;
        } else if (Number.isNaN(value)) sums[at + 2]! += weight;
        else {
          sums[at]! += value * weight;
          sums[at + 1]! += weight;
        }
      });
    }
  }
}

/** Adds up elements in a rectangle of fine cells. @returns the sums in cells of a coarser level. */
export function countSums({ input, fine, cells }: { input: SumsInput; fine: CellWindow; cells: CellWindow }): CellSums {
  const grid = newSums(fine);
  addSums(input, [grid]);
  return fine.level === cells.level ? grid : cropSums(input.kind, grid, cells);
}

/** Position of the sums of a cell; negative if the grid does not have it. */
function sumsOffset({ column, row, width, height }: CellWindow, x: number, y: number): number {
  const [across, down] = [x - column, y - row];
  return across < 0 || down < 0 || across >= width || down >= height ? -1 : (down * width + across) * 4;
}

/** Levels of sums of the same area, from the finest one on. */
export interface SumsPyramid {
  kind: SumsKind;
  grids: readonly CellSums[];
}

/** Adds each level to the next coarser one. @returns how crowded each level is. */
export function completeSums({ kind, grids }: SumsPyramid): LevelCrowding[] {
  for (let i = 0; i + 1 < grids.length; i += 1) addToCoarser(grids[i]!, grids[i + 1]!, coarseningFactor(kind, 1));
  return grids.map(({ level, sums }) => {
    const crowd = { level, sum: 0, squares: 0 };
    for (let at = 0; at < sums.length; at += 4) {
      const weight = weightAt(kind, sums, at);
      crowd.sum += weight;
      crowd.squares += weight * weight;
    }
    return crowd;
  });
}

/** Weight of the shapes in a cell. */
export function weightAt(kind: SumsKind, sums: Float32Array, at: number): number {
  return kind === 'colors' ? sums[at + 3]! : sums[at + 1]! + sums[at + 2]!;
}

/**
 * The factor for sums when cells are added to a cell of a coarser level. Covered shares are relative to the area of a cell; numbers of
 * shapes are not. @param levels the difference of the levels.
 */
function coarseningFactor(kind: SumsKind, levels: number): number {
  return kind === 'heat' ? 1 : 4 ** -levels;
}

function addToCoarser(from: CellSums, target: CellSums, factor: number): void {
  const shrink = target.level - from.level;
  for (let row = 0; row < from.height; row += 1) {
    for (let column = 0; column < from.width; column += 1) {
      const source = (row * from.width + column) * 4;
      const at = sumsOffset(target, (from.column + column) >> shrink, (from.row + row) >> shrink);
      if (at < 0) continue;
      for (let i = 0; i < 4; i += 1) target.sums[at + i]! += from.sums[source + i]! * factor;
    }
  }
}

/** An empty grid. @param isShared whether threads work on the same memory, instead of on copies. */
export function newSums(window: CellWindow, { isShared = false } = {}): CellSums {
  const length = window.width * window.height * 4;
  const bytes = length * Float32Array.BYTES_PER_ELEMENT;
  return { ...window, sums: isShared ? new Float32Array(new SharedArrayBuffer(bytes)) : new Float32Array(length) };
}

/** The sums of the cells of a rectangle, from a grid of the same level or a finer one. */
export function cropSums(kind: SumsKind, from: CellSums, window: CellWindow): CellSums {
  const shrink = window.level - from.level;
  const factor = coarseningFactor(kind, shrink);
  const cropped = newSums(window);
  const first = { column: window.column * 2 ** shrink - from.column, row: window.row * 2 ** shrink - from.row };
  const [left, top] = [Math.max(0, first.column), Math.max(0, first.row)];
  const right = Math.min(from.width, first.column + window.width * 2 ** shrink);
  const bottom = Math.min(from.height, first.row + window.height * 2 ** shrink);
  for (let row = top; row < bottom; row += 1) {
    for (let column = left; column < right; column += 1) {
      const source = (row * from.width + column) * 4;
      const at = (((row - first.row) >> shrink) * window.width + ((column - first.column) >> shrink)) * 4;
      for (let i = 0; i < 4; i += 1) cropped.sums[at + i]! += from.sums[source + i]! * factor;
    }
  }
  return cropped;
}
