import type { Canvas } from '../canvas.js';
import { colorNumber, groupColor, splitColor, type PaintColor } from '../colors.js';
import type { DensityPoint } from './density-layer.js';
import { weightAt, type CellSums, type SumsKind } from './value-sums.js';

/** The colors of values. */
export interface ValueScale {
  /** The number that was subtracted from the values, so that they need few digits. */
  subtrahend: number;
  low: number;
  high: number;
  /** Equally spaced colors from `low` to `high`. */
  colors: Int32Array;
}

/** Sums to draw, and how. */
export interface DrawnSums {
  kind: SumsKind;
  /** Cells of the level of the picture, or of a coarser one. */
  cells: CellSums;
  gain: number;
  /** `null` if the sums are colors. */
  scale: ValueScale | null;
  /** Whether a heat map shows the number of shapes per million pixels of the image, instead of their mean value. */
  showsCount: boolean;
}

const [noneRed, noneGreen, noneBlue] = groupColor(null);

/** Color of shapes without a value, as a number. */
export const noneColor = colorNumber(groupColor(null));

/** Color of a value from which `subtrahend` has been subtracted, as a number. */
export function colorOfValue({ subtrahend, low, high, colors }: ValueScale, value: number): number {
  if (Number.isNaN(value)) return noneColor;
  // All terms are halved, because the difference of two large numbers could overflow.
  const share = ((value + subtrahend) / 2 - low / 2) / (high / 2 - low / 2);
  return colors[Math.round(Math.min(1, Math.max(0, share)) * (colors.length - 1))]!;
}

/** The color of a cell, without its opacity. @param at position of the cell's sums in `sums` */
function colorOfCell({ kind, cells: { sums, level }, scale, showsCount }: DrawnSums, at: number): PaintColor {
  if (scale === null) {
    const weight = sums[at + 3]!;
    return [sums[at]! / weight, sums[at + 1]! / weight, sums[at + 2]! / weight, 1];
  }
  const [withValue, withoutValue] = [sums[at + 1]!, sums[at + 2]!];
  if (kind === 'heat' && showsCount) {
    return [...splitColor(colorOfValue({ ...scale, subtrahend: 0 }, ((withValue + withoutValue) / 4 ** level) * 1e6)), 1];
  }
  if (withValue === 0) return [noneRed, noneGreen, noneBlue, 1];
  const [red, green, blue] = splitColor(colorOfValue(scale, sums[at]! / withValue));
  if (kind === 'heat') return [red, green, blue, 1];
  const shareWithValue = withValue / (withValue + withoutValue);
  const mix = (channel: number, none: number) => channel * shareWithValue + none * (1 - shareWithValue);
  return [mix(red, noneRed), mix(green, noneGreen), mix(blue, noneBlue), 1];
}

/** Draws sums over a canvas. Cells of heat maps are opaque; other cells have the opacity 1 - exp(-gain × weight). */
export function drawSums(canvas: Canvas, drawn: DrawnSums): void {
  const { kind, cells, gain } = drawn;
  const { left, top, scale, width, height } = canvas.view;
  const shrink = cells.level - Math.round(Math.log2(scale));
  const [firstColumn, firstRow] = [Math.round(left / scale), Math.round(top / scale)];
  const colors = new Map<number, PaintColor>();
  for (let row = 0; row < height; row += 1) {
    const cellRow = ((firstRow + row) >> shrink) - cells.row;
    for (let column = 0; column < width; column += 1) {
      const at = (cellRow * cells.width + ((firstColumn + column) >> shrink) - cells.column) * 4;
      const weight = weightAt(kind, cells.sums, at);
      if (weight === 0) continue;
      let color = colors.get(at);
      if (color === undefined) {
        const [red, green, blue] = colorOfCell(drawn, at);
        color = [red, green, blue, kind === 'heat' ? 1 : 1 - Math.exp(-gain * weight)];
        if (shrink > 0) colors.set(at, color);
      }
      canvas.paintPixel(column, row, color);
    }
  }
}

/** The cells that are not empty, for vector tiles, at most `limit` of them: the cells with the largest coverage. */
export function pointsOfSums(drawn: DrawnSums, limit: number): DensityPoint[] {
  const { kind, cells } = drawn;
  const side = 2 ** cells.level;
  const points: DensityPoint[] = [];
  for (let at = 0, i = 0; at < cells.sums.length; at += 4, i += 1) {
    const coverage = weightAt(kind, cells.sums, at);
    if (coverage === 0) continue;
    const x = (cells.column + (i % cells.width) + 0.5) * side;
    const y = (cells.row + Math.floor(i / cells.width) + 0.5) * side;
    points.push({ x, y, coverage, group: undefined, color: colorOfCell(drawn, at) });
  }
  return points.length > limit ? points.sort((a, b) => b.coverage - a.coverage).slice(0, limit) : points;
}
