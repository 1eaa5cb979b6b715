import type { ElementAppearance, PackMarks } from '../../../elements/element-store.js';
import { defaultLineColor, defaultLineWidth, paintColor, type PaintColor } from '../colors.js';
import { Coverage } from '../coverage.js';
import { DensityCells } from './density-cells.js';
import { pointDiameter } from '../shape.js';

/**
 * Shapes whose box has a shorter diagonal than this, in pixels, are not drawn but counted in a density: the share of each pixel that they
 * cover, by color and group.
 */
export const densityBelow = 4;

/** Side of a tile of densities in cells. A cell is a pixel of the picture at the same scale. */
export const densityTile = 256;

/** Number of tiles along each side of a block. Tiles are stored in blocks. */
export const blockTiles = 4;

/** Maximum number of levels. Their cells have sides of 1 to 2 ** 20 base-layer pixels. */
export const densityLevels = 21;

/** Number of columns and rows of cells. Cells beyond it are left out. */
const lastCell = 2 ** 26;

/** Maximum number of classes. Further ones are counted in the first class of the same group. */
const maxClasses = 4096;

/** Shapes or lines of the same color and group, which are counted together. */
export interface DensityClass {
  /** `null`: no group. `undefined`: several groups, which are visible only if all groups are. */
  group: string | null | undefined;
  color: PaintColor;
}

/** The key of a tile is row * this + column. */
const tileRow = 2 ** 20;

/** The key of a tile of a level. */
export function tileKey(column: number, row: number): number {
  return row * tileRow + column;
}

/** Column and row of {@link tileKey}. */
export function tileAddress(key: number): { column: number; row: number } {
  return { column: key % tileRow, row: Math.floor(key / tileRow) };
}

/** Densities of a set of elements at one scale. */
export interface DensityLevel {
  /** At level 0 a cell is one base-layer pixel; each further level doubles its side. */
  level: number;
  tiles: Map<number, DensityCells>;
}

/** The first level at which an element with a box of this diagonal (base-layer pixels) is counted instead of drawn. */
export function firstDensityLevel(size: number): number {
  let level = 0;
  for (let limit = densityBelow; size >= limit && level < densityLevels; limit *= 2) level += 1;
  return level;
}

/** Cosines and sines of the eight vertices of an octagon. */
const directions = Array.from({ length: 8 }, (_, i) => [Math.cos((i * Math.PI) / 4), Math.sin((i * Math.PI) / 4)] as const);

/** Radius of an octagon with the same area as a disc of radius 1. */
const octagon = Math.sqrt(Math.PI / (4 * Math.sin(Math.PI / 4)));

/**
 * Counts elements in densities. An element counts as the ellipse in its box, a rectangle as its box, and an open line as the two
 * diagonals of its box. At a size below {@link densityBelow} pixels the difference is invisible.
 */
export class DensityCounter {
  readonly classes: DensityClass[] = [];
  readonly #classIndices = new Map<string, number>();
  readonly #levels: Map<number, DensityCells>[] = [];
  readonly #coverage = new Coverage();
  readonly #raster = { width: lastCell, height: lastCell };

  /**
   * Counts the elements of a pack, each at the first level at which it is small enough. With `only`, counts just the elements that are small
   * enough for that level, at that level.
   */
  add(marks: PackMarks, only?: number): void {
    const paints = marks.appearances.map((appearance) => this.#paint(appearance));
    for (let i = 0; i < marks.appearanceIndices.length; i += 1) {
      const paint = paints[marks.appearanceIndices[i]!];
      if (paint === undefined) continue;
      let lowX = marks.boxes[4 * i]!;
      let lowY = marks.boxes[4 * i + 1]!;
      let highX = marks.boxes[4 * i + 2]!;
      let highY = marks.boxes[4 * i + 3]!;
      if (paint.kind === 'point') {
        const [x, y] = [(lowX + highX) / 2, (lowY + highY) / 2];
        [lowX, lowY, highX, highY] = [x - pointDiameter / 2, y - pointDiameter / 2, x + pointDiameter / 2, y + pointDiameter / 2];
      }
      const first = firstDensityLevel(Math.hypot(highX - lowX, highY - lowY));
      if (first >= densityLevels || (only !== undefined && first > only)) continue;
      this.#count(paint, { level: only ?? first, lowX, lowY, highX, highY });
    }
  }

  #paint(appearance: ElementAppearance): CountedPaint | undefined {
    const kind = countedKind(appearance);
    if (kind === null) return undefined;
    const lineWidth = appearance.lineWidth ?? defaultLineWidth;
    const fill = appearance.fillColor === null || kind === 'line' ? null : paintColor(appearance.fillColor);
    const line = appearance.lineColor === null ? defaultLineColor : paintColor(appearance.lineColor);
    return {
      kind,
      fill: fill === null || fill[3] === 0 ? null : this.#classOf(appearance.group, fill),
      line: line[3] === 0 || lineWidth === 0 ? null : this.#classOf(appearance.group, line),
      lineWidth,
    };
  }

  #classOf(group: string | null, color: PaintColor): number {
    const key = JSON.stringify([group, color]);
    const known = this.#classIndices.get(key);
    if (known !== undefined) return known;
    let index = this.classes.length;
    if (index < maxClasses) this.classes.push({ group, color });
    else index = this.classes.findIndex((other) => other.group === group);
    if (index < 0) {
      // There are too many groups, so this one shares a class with others.
      index = maxClasses;
      this.classes[maxClasses] ??= { group: undefined, color };
    }
    this.#classIndices.set(key, index);
    return index;
  }

  #count(paint: CountedPaint, box: { level: number; lowX: number; lowY: number; highX: number; highY: number }): void {
    const cell = 2 ** box.level;
    const [left, top] = [box.lowX / cell, box.lowY / cell];
    const [right, bottom] = [box.highX / cell, box.highY / cell];
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    const [halfX, halfY] = [(right - left) / 2, (bottom - top) / 2];
    const tiles = (this.#levels[box.level] ??= new Map<number, DensityCells>());
    const isInOneCell = Math.floor(left) === Math.floor(right) && Math.floor(top) === Math.floor(bottom);
    if (paint.fill !== null && isInOneCell) {
      // The area is exact for a shape in one cell, and much faster than rasterizing.
      const area = (paint.kind === 'rectangle' ? 4 : Math.PI) * halfX * halfY;
      if (area > 0) addTo(tiles, paint.fill, Math.floor(x), Math.floor(y), area);
    } else if (
      paint.fill !== null &&
      halfX > 0 &&
      halfY > 0 &&
      this.#coverage.begin({ left, top, right, bottom }, this.#raster)
    ) {
      if (paint.kind === 'rectangle') this.#rectangle(left, top, right, bottom);
      else this.#ellipse(x, y, halfX * octagon, halfY * octagon);
      const key = paint.fill;
      this.#coverage.finish('union', (row, column, shares, length) => {
        for (let i = 0; i < length; i += 1) addTo(tiles, key, column + i, row, shares[i]!);
      });
    }
    if (paint.line !== null) this.#line(tiles, paint, { x, y, halfX, halfY, width: paint.lineWidth / cell });
  }

  #rectangle(left: number, top: number, right: number, bottom: number): void {
    this.#coverage.edge(left, top, left, bottom);
    this.#coverage.edge(right, bottom, right, top);
  }

  #ellipse(x: number, y: number, radiusX: number, radiusY: number): void {
    let [fromX, fromY] = [x + radiusX, y];
    for (let i = 1; i <= 8; i += 1) {
      const [cos, sin] = directions[i % 8] as readonly [number, number];
      const [toX, toY] = [x + radiusX * cos, y + radiusY * sin];
      this.#coverage.edge(fromX, fromY, toX, toY);
      [fromX, fromY] = [toX, toY];
    }
  }

  /** Distributes the area of a line, length times width, equally over eight positions along it. */
  #line(
    tiles: Map<number, DensityCells>,
    { kind, line }: CountedPaint,
    { x, y, halfX, halfY, width }: { x: number; y: number; halfX: number; halfY: number; width: number },
  ): void {
    const length =
      kind === 'line' ? 2 * Math.hypot(halfX, halfY) : kind === 'rectangle' ? 4 * (halfX + halfY) : perimeter(halfX, halfY);
    const share = (length * width) / 8;
    if (!(share > 0)) return;
    for (let i = 0; i < 8; i += 1) {
      // The direction of an open line is unknown, so it is counted along both diagonals.
      const [dx, dy] =
        kind === 'line' ? ([((i >> 1) - 1.5) / 2, (((i >> 1) - 1.5) / 2) * ((i & 1) === 0 ? 1 : -1)] as const) : directions[i]!;
      addTo(tiles, line as number, Math.floor(x + halfX * dx), Math.floor(y + halfY * dy), share);
    }
  }

  /** The densities at one level alone, as {@link add} with `only` counted them. */
  level(level: number): DensityLevel {
    return { level, tiles: this.#levels[level] ?? new Map<number, DensityCells>() };
  }

  /**
   * All levels, from the finest with cells on. Each is the halved finer level plus the elements first counted there. The last level
   * is the one at which everything is in one cell and no elements are added. Can be called only once.
   */
  *pyramid(): Generator<DensityLevel> {
    let tiles = new Map<number, DensityCells>();
    for (let level = 0; level < densityLevels; level += 1) {
      const entering = this.#levels[level];
      if (entering !== undefined) merge(tiles, entering);
      this.#levels[level] = new Map<number, DensityCells>();
      if (tiles.size > 0) yield { level, tiles };
      const isLast = this.#levels.slice(level + 1).every((later) => later === undefined || later.size === 0);
      if (isLast && isOneCell(tiles)) return;
      tiles = halved(tiles);
    }
  }
}

interface CountedPaint {
  kind: CountedKind;
  fill: number | null;
  line: number | null;
  lineWidth: number;
}

type CountedKind = 'ellipse' | 'rectangle' | 'line' | 'point';

/** The shape as which an element is counted; `null` if it is never counted. */
function countedKind({ type, closed }: ElementAppearance): CountedKind | null {
  switch (type) {
    case 'arrow':
      return 'line';
    case 'polyline':
      return closed === true ? 'ellipse' : 'line';
    case 'rectangle':
    case 'rectanglegrid':
      return 'rectangle';
    case 'point':
      return 'point';
    case 'circle':
    case 'ellipse':
      return 'ellipse';
    case 'heatmap':
    case 'griddata':
    case 'image':
    case 'pixelmap':
      return null;
  }
}

/** Length of the outline of an ellipse, by Ramanujan's approximation. */
function perimeter(a: number, b: number): number {
  return Math.PI * (3 * (a + b) - Math.sqrt((3 * a + b) * (a + 3 * b)));
}

function addTo(tiles: Map<number, DensityCells>, classIndex: number, column: number, row: number, share: number): void {
  if (!(column >= 0 && row >= 0 && column < lastCell && row < lastCell)) return;
  cellsAt(tiles, tileKey(column >> 8, row >> 8)).add(classIndex * 65_536 + ((row & 255) << 8) + (column & 255), share);
}

function cellsAt(tiles: Map<number, DensityCells>, key: number): DensityCells {
  let cells = tiles.get(key);
  if (cells === undefined) tiles.set(key, (cells = new DensityCells()));
  return cells;
}

function merge(into: Map<number, DensityCells>, from: Map<number, DensityCells>): void {
  for (const [at, cells] of from) {
    const existing = into.get(at);
    if (existing === undefined) into.set(at, cells);
    else existing.addAll(cells);
  }
}

/** Whether all cells are the first cell, or there are none. */
function isOneCell(tiles: Map<number, DensityCells>): boolean {
  if (tiles.size === 0) return true;
  if (tiles.size > 1) return false;
  return tiles.get(0)?.keys.every((key) => key % 65_536 === 0) ?? false;
}

/** The densities of the next coarser level. */
function halved(tiles: Map<number, DensityCells>): Map<number, DensityCells> {
  const result = new Map<number, DensityCells>();
  for (const [at, cells] of tiles) {
    const { column, row } = tileAddress(at);
    cells.halveInto(cellsAt(result, tileKey(column >> 1, row >> 1)), ((row & 1) << 15) + ((column & 1) << 7));
  }
  return result;
}
