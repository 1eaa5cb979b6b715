import type { ElementAppearance } from '../../../elements/element-store.js';
import { defaultLineColor, defaultLineWidth, toPaintColor, type PaintColor } from '../colors.js';
import { Coverage } from '../coverage.js';
import { pointDiameter } from '../shape.js';

/** Maximum number of columns and rows of cells. Further cells are left out. */
const maxCellsPerAxis = 2 ** 26;

/** Cosines and sines of the eight vertices of an octagon. */
const octagonDirections = Array.from(
  { length: 8 },
  (_, i) => [Math.cos((i * Math.PI) / 4), Math.sin((i * Math.PI) / 4)] as const,
);

/** Radius of an octagon with the same area as a disc of radius 1. */
const octagonRadius = Math.sqrt(Math.PI / (4 * Math.sin(Math.PI / 4)));

/** The simplified shape as which an element is counted, see {@link CoveredCells}. */
export type CountedKind = 'ellipse' | 'rectangle' | 'line' | 'point';

/** Chooses the shape as which an element is counted. Returns `null` if the element is never counted. */
function countedKindOf({ type, closed }: Pick<ElementAppearance, 'type' | 'closed'>): CountedKind | null {
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

/** Determines how an element is counted: its shape, colors and line width. Returns `null` if the element is never counted. */
export function countedPaintOf(
  appearance: ElementAppearance,
): { kind: CountedKind; fill: PaintColor | null; line: PaintColor | null; lineWidth: number } | null {
  const kind = countedKindOf(appearance);
  if (kind === null) return null;
  const lineWidth = appearance.lineWidth ?? defaultLineWidth;
  const fill = appearance.fillColor === null || kind === 'line' ? null : toPaintColor(appearance.fillColor);
  const line = appearance.lineColor === null ? defaultLineColor : toPaintColor(appearance.lineColor);
  return {
    kind,
    fill: fill?.[3] === 0 ? null : fill,
    line: line[3] === 0 || lineWidth === 0 ? null : line,
    lineWidth,
  };
}

/** The box of a counted element in base-layer pixels. */
interface CountedBox {
  lowX: number;
  lowY: number;
  highX: number;
  highY: number;
}

/** Returns the box of the element at an index. The box of a point is the box of the disc that represents the point. */
export function countedBoxOf(kind: CountedKind, boxes: Float64Array, index: number): CountedBox {
  const [lowX, lowY] = [boxes[4 * index]!, boxes[4 * index + 1]!];
  const [highX, highY] = [boxes[4 * index + 2]!, boxes[4 * index + 3]!];
  if (kind !== 'point') return { lowX, lowY, highX, highY };
  const [x, y] = [(lowX + highX) / 2, (lowY + highY) / 2];
  const radius = pointDiameter / 2;
  return { lowX: x - radius, lowY: y - radius, highX: x + radius, highY: y + radius };
}

/** A shape to count. */
interface CountedShape {
  kind: CountedKind;
  isFilled: boolean;
  /** Width of the line in base-layer pixels. 0 if there is no line. */
  lineWidth: number;
}

/** Receives the share of a cell that the fill or the line of a shape covers. */
type CellSink = (isLine: boolean, column: number, row: number, coverage: number) => void;

/**
 * Finds the cells that shapes cover. An element counts as the ellipse in its box, a rectangle as its box, and an open line as the two
 * diagonals of its box. At the size of a few cells, the difference is invisible.
 */
export class CoveredCells {
  readonly #coverage = new Coverage();
  readonly #raster = { width: maxCellsPerAxis, height: maxCellsPerAxis };

  /** Passes the cells that a shape covers to `sink`. @param level the level of the cells. Their side is 2 ** level base-layer pixels. */
  addCoveredCells({ kind, isFilled, lineWidth }: CountedShape, box: CountedBox, level: number, sink: CellSink): void {
    const cellSide = 2 ** level;
    const [left, top] = [box.lowX / cellSide, box.lowY / cellSide];
    const [right, bottom] = [box.highX / cellSide, box.highY / cellSide];
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    const [halfX, halfY] = [(right - left) / 2, (bottom - top) / 2];
    const add = (isLine: boolean, column: number, row: number, coverage: number) => {
      if (column >= 0 && row >= 0 && column < maxCellsPerAxis && row < maxCellsPerAxis) sink(isLine, column, row, coverage);
    };
    const isInOneCell = Math.floor(left) === Math.floor(right) && Math.floor(top) === Math.floor(bottom);
    if (isFilled && isInOneCell) {
      // The area is exact for a shape in one cell, and much faster than rasterizing.
      const area = (kind === 'rectangle' ? 4 : Math.PI) * halfX * halfY;
      if (area > 0) add(false, Math.floor(x), Math.floor(y), area);
    } else if (isFilled && halfX > 0 && halfY > 0 && this.#coverage.beginShape({ left, top, right, bottom }, this.#raster)) {
      if (kind === 'rectangle') this.#addRectangle(left, top, right, bottom);
      else this.#addEllipse(x, y, halfX * octagonRadius, halfY * octagonRadius);
      this.#coverage.finishShape('union', (row, column, coverages, length) => {
        for (let i = 0; i < length; i += 1) add(false, column + i, row, coverages[i]!);
      });
    }
    if (lineWidth > 0) addLine(kind, { x, y, halfX, halfY, width: lineWidth / cellSide }, add);
  }

  #addRectangle(left: number, top: number, right: number, bottom: number): void {
    this.#coverage.addEdge(left, top, left, bottom);
    this.#coverage.addEdge(right, bottom, right, top);
  }

  #addEllipse(x: number, y: number, radiusX: number, radiusY: number): void {
    let [fromX, fromY] = [x + radiusX, y];
    for (let i = 1; i <= 8; i += 1) {
      const [cos, sin] = octagonDirections[i % 8] as readonly [number, number];
      const [toX, toY] = [x + radiusX * cos, y + radiusY * sin];
      this.#coverage.addEdge(fromX, fromY, toX, toY);
      [fromX, fromY] = [toX, toY];
    }
  }
}

/** Distributes the area of a line (length × width) equally over eight positions along the line. */
function addLine(
  kind: CountedKind,
  { x, y, halfX, halfY, width }: { x: number; y: number; halfX: number; halfY: number; width: number },
  add: CellSink,
): void {
  const length =
    kind === 'line' ? 2 * Math.hypot(halfX, halfY) : kind === 'rectangle' ? 4 * (halfX + halfY) : perimeter(halfX, halfY);
  const coverage = (length * width) / 8;
  if (!(coverage > 0)) return;
  for (let i = 0; i < 8; i += 1) {
    // The direction of an open line is unknown, so it is counted along both diagonals.
    const [dx, dy] =
      kind === 'line'
        ? ([((i >> 1) - 1.5) / 2, (((i >> 1) - 1.5) / 2) * ((i & 1) === 0 ? 1 : -1)] as const)
        : octagonDirections[i]!;
    add(true, Math.floor(x + halfX * dx), Math.floor(y + halfY * dy), coverage);
  }
}

/** Computes the length of an ellipse's outline, by Ramanujan's approximation. */
function perimeter(a: number, b: number): number {
  return Math.PI * (3 * (a + b) - Math.sqrt((3 * a + b) * (a + 3 * b)));
}
