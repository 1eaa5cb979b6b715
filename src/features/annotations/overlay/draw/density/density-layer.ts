import type { Canvas } from '../canvas.js';
import type { PaintColor } from '../colors.js';
import { decodeDensity } from './density-codec.js';
import type { ClassCells } from './density-cells.js';
import { densityTileSide, type DensityClass } from './density.js';
import { colorOfGroup, type GroupFilter, type GroupStyle } from '../shape.js';

/** A rectangle of cells of a level. It says which cells are shown. */
export interface CellWindow {
  level: number;
  column: number;
  row: number;
  width: number;
  height: number;
}

/** A tile of densities. Its level is the level of the shown cells, or a finer level. */
export interface DensityTile {
  level: number;
  /** Position of the tile among the tiles of the level. */
  column: number;
  row: number;
  /** The cells by class, or the encoded tile. */
  content: readonly ClassCells[] | Uint8Array;
  classes: readonly DensityClass[];
}

/** Receives cells of one class. The first `count` entries of the arrays are cells of the window (`row * width + column`) and their coverages. */
type CellSink = (cells: Uint32Array, coverages: Float64Array, count: number) => void;

// These buffers are reused for every tile.
const visibleCells = new Uint32Array(densityTileSide * densityTileSide);
const scaledCoverages = new Float64Array(visibleCells.length);

/** Maps the cells of a tile to cells of a window, and passes these to the sink of their class. A class whose sink is `null` is skipped. */
function sendCells(tile: DensityTile, window: CellWindow, sinkFor: (densityClass: DensityClass) => CellSink | null): void {
  const { column, row, width, height } = window;
  const shrink = window.level - tile.level;
  const [tileLeft, tileTop] = [tile.column * densityTileSide, tile.row * densityTileSide];
  const areaShare = 4 ** -shrink;
  const sinks = tile.classes.map(sinkFor);
  const sendVisible = (sink: CellSink, positions: Uint16Array, coverages: Float64Array, count: number) => {
    let visibleCount = 0;
    for (let i = 0; i < count; i += 1) {
      const position = positions[i]!;
      const x = ((tileLeft + (position & 255)) >> shrink) - column;
      const y = ((tileTop + (position >> 8)) >> shrink) - row;
      if (x < 0 || y < 0 || x >= width || y >= height) continue;
      visibleCells[visibleCount] = y * width + x;
      scaledCoverages[visibleCount] = coverages[i]! * areaShare;
      visibleCount += 1;
    }
    if (visibleCount > 0) sink(visibleCells, scaledCoverages, visibleCount);
  };
  if (tile.content instanceof Uint8Array) {
    decodeDensity(tile.content, (classIndex, positions, coverages, count) => {
      const sink = sinks[classIndex];
      if (sink) sendVisible(sink, positions, coverages, count);
    });
    return;
  }
  for (const { classIndex, positions, coverages } of tile.content) {
    const sink = sinks[classIndex];
    if (sink) sendVisible(sink, positions, coverages, positions.length);
  }
}

function isShown({ group }: DensityClass, groups: GroupFilter): boolean {
  return groups === undefined || (group !== undefined && groups.has(group));
}

function shownColor({ group, color }: DensityClass, style: DensityStyle): PaintColor {
  const groupColor = group === undefined && style.mode === 'element' ? null : colorOfGroup(group ?? null, style);
  return groupColor === null ? color : [...groupColor, color[3]];
}

/** The visible groups, and the colors of shapes. */
interface DensityStyle extends GroupStyle {
  groups: GroupFilter;
}

/**
 * Adds up densities of tiles and draws them. The weight of a cell is the sum of its coverages times their alpha. A pixel has the opacity
 * 1 - exp(-gain × weight) and the mean of the colors, weighted by their parts of the weight.
 */
export class DensityLayer {
  readonly #window: CellWindow;
  readonly #style: DensityStyle;
  /** Four numbers for each cell: red, green and blue, each multiplied by the weight, and the weight. */
  readonly #sums: Float32Array;

  constructor(window: CellWindow, style: DensityStyle) {
    this.#window = window;
    this.#style = style;
    this.#sums = new Float32Array(window.width * window.height * 4);
  }

  add(tile: DensityTile): void {
    const sums = this.#sums;
    sendCells(tile, this.#window, (densityClass) => {
      if (!isShown(densityClass, this.#style.groups)) return null;
      const [red, green, blue, alpha] = shownColor(densityClass, this.#style);
      return (cells, coverages, count) => {
        for (let i = 0; i < count; i += 1) {
          const offset = cells[i]! * 4;
          const weight = coverages[i]! * alpha;
          sums[offset]! += red * weight;
          sums[offset + 1]! += green * weight;
          sums[offset + 2]! += blue * weight;
          sums[offset + 3]! += weight;
        }
      };
    });
  }

  /** Adds up the weights of all cells. */
  totalWeight(): number {
    let total = 0;
    for (let offset = 3; offset < this.#sums.length; offset += 4) total += this.#sums[offset]!;
    return total;
  }

  /** Draws the densities over a canvas of the same size. */
  drawOn(canvas: Canvas, gain: number): void {
    const { width, height } = this.#window;
    const sums = this.#sums;
    for (let row = 0, offset = 0; row < height; row += 1) {
      for (let column = 0; column < width; column += 1, offset += 4) {
        const weight = sums[offset + 3]!;
        if (weight === 0) continue;
        const opacity = 1 - Math.exp(-gain * weight);
        canvas.paintPixel(column, row, [sums[offset]! / weight, sums[offset + 1]! / weight, sums[offset + 2]! / weight, opacity]);
      }
    }
  }
}

/** The shapes of one group and color in a cell, added up because they are too small to be drawn. */
export interface DensityPoint {
  /** Center of the cell in base-layer pixels. */
  x: number;
  y: number;
  /** Covered share of the cell. It is more than 1 if shapes overlap. */
  coverage: number;
  group: string | null | undefined;
  color: PaintColor;
}

/** Adds up the densities of tiles by group and color, for vector tiles. */
export class DensityPoints {
  readonly #window: CellWindow;
  readonly #style: DensityStyle;
  readonly #coverageByColor = new Map<
    string,
    { group: string | null | undefined; color: PaintColor; cells: Map<number, number> }
  >();

  constructor(window: CellWindow, style: DensityStyle) {
    this.#window = window;
    this.#style = style;
  }

  add(tile: DensityTile): void {
    sendCells(tile, this.#window, (densityClass) => {
      if (!isShown(densityClass, this.#style.groups)) return null;
      const color = shownColor(densityClass, this.#style);
      const key = JSON.stringify([densityClass.group ?? null, color]);
      let sums = this.#coverageByColor.get(key);
      if (sums === undefined)
        this.#coverageByColor.set(key, (sums = { group: densityClass.group, color, cells: new Map<number, number>() }));
      const coverageByCell = sums.cells;
      return (cells, coverages, count) => {
        for (let i = 0; i < count; i += 1) coverageByCell.set(cells[i]!, (coverageByCell.get(cells[i]!) ?? 0) + coverages[i]!);
      };
    });
  }

  /** Returns the cells that are not empty. If they are more than `limit`, only the cells with the largest coverage are returned. */
  points(limit: number): DensityPoint[] {
    const { level, column, row, width } = this.#window;
    const side = 2 ** level;
    const points = [...this.#coverageByColor.values()].flatMap(({ group, color, cells }) =>
      Array.from(cells, ([cell, coverage]) => ({
        x: (column + (cell % width) + 0.5) * side,
        y: (row + Math.floor(cell / width) + 0.5) * side,
        coverage,
        group,
        color,
      })),
    );
    return points.length > limit ? points.sort((a, b) => b.coverage - a.coverage).slice(0, limit) : points;
  }
}
