import type { Canvas } from '../canvas.js';
import { colorNumber, groupColor, splitColor, type PaintColor } from '../colors.js';
import type { DensityPoint } from './density-layer.js';
import { weightAt, type CellSums, type SumsKind } from './value-sums.js';

/** The scale that maps values to colors. */
export interface ValueScale {
  /** The number that was subtracted from the values, so that the differences need few digits. */
  subtrahend: number;
  low: number;
  high: number;
  /** Equally spaced colors from `low` to `high`, as numbers. */
  colors: Int32Array;
}

/** Sums to draw, and how to draw them. */
export interface DrawnSums {
  kind: SumsKind;
  /** The sums. Their cells are as large as the pixels of the picture, or larger. */
  cells: CellSums;
  /** Factor by which the weights of cells are multiplied. */
  gain: number;
  /** `null` if the sums are colors. */
  scale: ValueScale | null;
  /** Whether a heat map shows the number of shapes per million pixels of the image, instead of their mean value. */
  showsCount: boolean;
}

const [noneRed, noneGreen, noneBlue] = groupColor(null);

/** Color of shapes without a value, as a number. */
export const noneColor = colorNumber(groupColor(null));

/** Returns the color of a value, as a number. @param value the value minus `subtrahend`. */
export function colorOfValue({ subtrahend, low, high, colors }: ValueScale, value: number): number {
  if (Number.isNaN(value)) return noneColor;
  // All terms are halved, because the difference of two large numbers could overflow.
  const share = ((value + subtrahend) / 2 - low / 2) / (high / 2 - low / 2);
  return colors[Math.round(Math.min(1, Math.max(0, share)) * (colors.length - 1))]!;
}

/** Computes the color of a cell, without its opacity. @param offset offset of the cell's sums in `sums`. */
function colorOfCell({ kind, cells: { sums, level }, scale, showsCount }: DrawnSums, offset: number): PaintColor {
  if (scale === null) {
    const weight = sums[offset + 3]!;
    return [sums[offset]! / weight, sums[offset + 1]! / weight, sums[offset + 2]! / weight, 1];
  }
  const [amountWithValue, amountWithoutValue] = [sums[offset + 1]!, sums[offset + 2]!];
  if (kind === 'heat' && showsCount) {
    return [
      ...splitColor(colorOfValue({ ...scale, subtrahend: 0 }, ((amountWithValue + amountWithoutValue) / 4 ** level) * 1e6)),
      1,
    ];
  }
  if (amountWithValue === 0) return [noneRed, noneGreen, noneBlue, 1];
  const [red, green, blue] = splitColor(colorOfValue(scale, sums[offset]! / amountWithValue));
  if (kind === 'heat') return [red, green, blue, 1];
  const shareWithValue = amountWithValue / (amountWithValue + amountWithoutValue);
  const mix = (channel: number, none: number) => channel * shareWithValue + none * (1 - shareWithValue);
  return [mix(red, noneRed), mix(green, noneGreen), mix(blue, noneBlue), 1];
}

/** Draws sums over a canvas. Cells of heat maps are opaque. Other cells have the opacity 1 - exp(-gain × weight). */
export function drawSums(canvas: Canvas, drawnSums: DrawnSums): void {
  const { kind, cells, gain } = drawnSums;
  const { left, top, scale, width, height } = canvas.view;
  const shrink = cells.level - Math.round(Math.log2(scale));
  const [firstColumn, firstRow] = [Math.round(left / scale), Math.round(top / scale)];
  const colorsByOffset = new Map<number, PaintColor>();
  for (let row = 0; row < height; row += 1) {
    const cellRow = ((firstRow + row) >> shrink) - cells.row;
    for (let column = 0; column < width; column += 1) {
      const offset = (cellRow * cells.width + ((firstColumn + column) >> shrink) - cells.column) * 4;
      const weight = weightAt(kind, cells.sums, offset);
      if (weight === 0) continue;
      let color = colorsByOffset.get(offset);
      if (color === undefined) {
        const [red, green, blue] = colorOfCell(drawnSums, offset);
        color = [red, green, blue, kind === 'heat' ? 1 : 1 - Math.exp(-gain * weight)];
        if (shrink > 0) colorsByOffset.set(offset, color);
      }
      canvas.paintPixel(column, row, color);
    }
  }
}

/**
 * Returns the cells that are not empty, for vector tiles. If they are more than `limit`, only the cells with the largest coverage are
 * returned.
 */
export function pointsOfSums(drawnSums: DrawnSums, limit: number): DensityPoint[] {
  const { kind, cells } = drawnSums;
  const side = 2 ** cells.level;
  const points: DensityPoint[] = [];
  for (let offset = 0, i = 0; offset < cells.sums.length; offset += 4, i += 1) {
    const coverage = weightAt(kind, cells.sums, offset);
    if (coverage === 0) continue;
    const x = (cells.column + (i % cells.width) + 0.5) * side;
    const y = (cells.row + Math.floor(i / cells.width) + 0.5) * side;
    points.push({ x, y, coverage, group: undefined, color: colorOfCell(drawnSums, offset) });
  }
  return points.length > limit ? points.sort((a, b) => b.coverage - a.coverage).slice(0, limit) : points;
}
