import type { Canvas } from './canvas.js';
import { groupColor } from './colors.js';
import { decodeDensity } from './density-codec.js';
import { densityTile, type DensityCells, type DensityClass } from './density.js';
import type { ColorMode, GroupFilter } from './shape.js';

/** Which cells a picture shows: one cell for each pixel, from this one on. */
export interface CellWindow {
  column: number;
  row: number;
  width: number;
  height: number;
}

/** How often a share is counted by default: a pixel covered to a quarter is shown nearly opaque, so that single shapes are seen. */
export const defaultGain = 4;

/**
 * Gathers densities from tiles and turns them into pixels: opacity 1 - exp(-gain × sum of shares × their opacities), and the
 * mean colour weighted by them.
 */
export class DensityLayer {
  readonly #window: CellWindow;
  readonly #mode: ColorMode;
  readonly #groups: GroupFilter;
  /** For each cell: red, green, blue times weight, and weight. */
  readonly #sums: Float32Array;

  constructor(window: CellWindow, options: { mode: ColorMode; groups: GroupFilter }) {
    this.#window = window;
    this.#mode = options.mode;
    this.#groups = options.groups;
    this.#sums = new Float32Array(window.width * window.height * 4);
  }

  /** Adds a packed tile, `column` and `row` among the tiles of the level. `shrink`: halvings from its level to that of the window. */
  addPacked(packed: Uint8Array, tile: { column: number; row: number; shrink?: number }, classes: readonly DensityClass[]): void {
    decodeDensity(packed, (classIndex, places, shares, count) => {
      const add = this.#adder(classes[classIndex], tile);
      if (add === null) return;
      for (let i = 0; i < count; i += 1) add(places[i]!, shares[i]!);
    });
  }

  /** Adds a tile that was just counted. */
  addCells(cells: DensityCells, tile: { column: number; row: number }, classes: readonly DensityClass[]): void {
    const adders = classes.map((entry) => this.#adder(entry, tile));
    for (const [key, share] of cells) adders[Math.floor(key / 65_536)]?.(key & 65_535, share);
  }

  #adder(
    entry: DensityClass | undefined,
    { column, row, shrink = 0 }: { column: number; row: number; shrink?: number },
  ): ((place: number, share: number) => void) | null {
    if (entry === undefined) return null;
    const { group, color } = entry;
    if (this.#groups !== undefined && (group === undefined || !this.#groups.has(group))) return null;
    const [red, green, blue] = this.#mode === 'group' ? groupColor(group ?? null) : color;
    const alpha = color[3];
    const sums = this.#sums;
    const { column: left, row: top, width, height } = this.#window;
    const [tileLeft, tileTop] = [column * densityTile, row * densityTile];
    const factor = alpha / 4 ** shrink;
    const side = 2 ** shrink;
    return (place, share) => {
      const x = Math.floor((tileLeft + (place & 255)) / side) - left;
      const y = Math.floor((tileTop + (place >> 8)) / side) - top;
      if (x < 0 || y < 0 || x >= width || y >= height) return;
      const at = (y * width + x) * 4;
      const weight = share * factor;
      sums[at]! += red * weight;
      sums[at + 1]! += green * weight;
      sums[at + 2]! += blue * weight;
      sums[at + 3]! += weight;
    };
  }

  /** Sum of the shares of all cells, each times its opacity. */
  total(): number {
    let total = 0;
    for (let at = 3; at < this.#sums.length; at += 4) total += this.#sums[at]!;
    return total;
  }

  /** Lays the densities over a canvas of the same size. */
  drawOn(canvas: Canvas, gain: number): void {
    const { width, height } = this.#window;
    const sums = this.#sums;
    for (let row = 0, at = 0; row < height; row += 1) {
      for (let column = 0; column < width; column += 1, at += 4) {
        const weight = sums[at + 3]!;
        if (weight === 0) continue;
        const opacity = 1 - Math.exp(-gain * weight);
        canvas.blend(column, row, [sums[at]! / weight, sums[at + 1]! / weight, sums[at + 2]! / weight, opacity]);
      }
    }
  }
}
