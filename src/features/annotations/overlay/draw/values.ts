import type { GridDataElement } from '../../../../annotation-format/schema/griddata.js';
import type { HeatmapElement } from '../../../../annotation-format/schema/heatmap.js';
import type { Canvas } from './canvas.js';
import { toPaintColor, type PaintColor } from './colors.js';

/** Default radius of a value, in pixels of the image or of the screen, depending on `scaleWithZoom`. */
const defaultRadius = 25;

/** Maximum radius in pixels of the picture, which limits the memory for a tile. */
const maxRadius = 512;

const defaultColors: readonly PaintColor[] = [
  [0, 0, 0, 0],
  [255, 255, 0, 1],
];

/** The fields of an element that determine the colors of values. */
type ColorFields = Pick<GridDataElement, 'colorRange' | 'rangeValues' | 'normalizeRange' | 'stepped' | 'minColor' | 'maxColor'>;

type ColorScale = (value: number) => PaintColor;

function rangeOfValues(values: Iterable<number>): [low: number, high: number] {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 0];
}

/** Makes a function that maps values to colors. Colors are interpolated between two stops, or with `stepped`, the lower stop decides. */
function makeColorScale(fields: ColorFields, [low, high]: readonly [low: number, high: number]): ColorScale {
  const colors = fields.colorRange?.length ? fields.colorRange.map(toPaintColor) : defaultColors;
  const stops = stopsOf(fields, colors.length, low, high);
  const lowestColor = fields.minColor === undefined ? (colors[0] as PaintColor) : toPaintColor(fields.minColor);
  const highestColor = fields.maxColor === undefined ? (colors.at(-1) as PaintColor) : toPaintColor(fields.maxColor);
  return (value) => {
    if (value < stops[0]!) return lowestColor;
    if (value > stops[stops.length - 1]!) return highestColor;
    let stop = 0;
    while (stop + 1 < stops.length && stops[stop + 1]! <= value) stop += 1;
    const from = colors[Math.min(stop, colors.length - 1)] as PaintColor;
    const to = colors[stop + 1];
    if (fields.stepped === true || to === undefined) return from;
    const share = (value - stops[stop]!) / (stops[stop + 1]! - stops[stop]!);
    return [0, 1, 2, 3].map((i) => from[i]! + (to[i]! - from[i]!) * share) as unknown as PaintColor;
  };
}

/** Computes the values of the stops, in ascending order. */
function stopsOf({ rangeValues, normalizeRange, stepped }: ColorFields, colorCount: number, low: number, high: number): number[] {
  const count = stepped === true ? colorCount + 1 : colorCount;
  const evenlySpacedStops = Array.from({ length: count }, (_, i) => low + ((high - low) * i) / Math.max(1, count - 1));
  if (rangeValues === undefined || rangeValues.length === 0) return evenlySpacedStops;
  const stops = normalizeRange === true ? rangeValues.map((share) => low + (high - low) * share) : [...rangeValues];
  return stops[0]! > stops[stops.length - 1]! ? stops.toReversed() : stops;
}

/** Draws points with values as a sum of Gaussians. The height of the sum determines the color. */
export function drawHeatmap(canvas: Canvas, element: HeatmapElement): void {
  const [, high] = rangeOfValues(element.points.map((point) => point[3]));
  const toColor = makeColorScale(element, [0, high]);
  drawGaussians(
    canvas,
    element,
    toColor,
    element.points.length,
    (i) => element.points[i] as readonly [number, number, number, number],
  );
}

/** Draws values on a grid as cells, as an interpolated surface, or as Gaussians. */
export function drawGrid(canvas: Canvas, element: GridDataElement): void {
  const { values, gridWidth, origin = [0, 0, 0], dx = 1, dy = 1 } = element;
  const range = rangeOfValues(values);
  if (element.interpretation === 'heatmap') {
    drawGaussians(canvas, element, makeColorScale(element, [0, range[1]]), values.length, (i) => [
      origin[0] + (i % gridWidth) * dx,
      origin[1] + Math.floor(i / gridWidth) * dy,
      origin[2],
      values[i]!,
    ]);
    return;
  }
  const rows = Math.ceil(values.length / gridWidth);
  const valueAt =
    element.interpretation === 'choropleth' ? cellReader(values, gridWidth, rows) : surfaceReader(values, gridWidth, rows);
  const toColor = makeColorScale(element, range);
  const { left, top, scale, width, height } = canvas.view;
  for (let row = 0; row < height; row += 1) {
    const gridY = (top + (row + 0.5) * scale - origin[1]) / dy;
    for (let column = 0; column < width; column += 1) {
      const value = valueAt((left + (column + 0.5) * scale - origin[0]) / dx, gridY);
      if (value !== undefined) canvas.paintPixel(column, row, toColor(value));
    }
  }
}

type ReadGridValue = (x: number, y: number) => number | undefined;

/** Makes a function that returns the value of the cell at a position. */
function cellReader(values: readonly number[], width: number, rows: number): ReadGridValue {
  return (x, y) => (x >= 0 && x < width && y >= 0 && y < rows ? values[Math.floor(y) * width + Math.floor(x)] : undefined);
}

/** Makes a function that interpolates between the four values around a position. */
function surfaceReader(values: readonly number[], width: number, rows: number): ReadGridValue {
  return (x, y) => {
    if (!(x >= 0 && x <= width - 1 && y >= 0 && y <= rows - 1)) return undefined;
    const [column, row] = [Math.min(Math.floor(x), Math.max(0, width - 2)), Math.min(Math.floor(y), Math.max(0, rows - 2))];
    const valueAt = (dx: number, dy: number) =>
      values[Math.min(rows - 1, row + dy) * width + Math.min(width - 1, column + dx)] ?? 0;
    const [fx, fy] = [x - column, y - row];
    const [upper, lower] = [valueAt(0, 0) * (1 - fx) + valueAt(1, 0) * fx, valueAt(0, 1) * (1 - fx) + valueAt(1, 1) * fx];
    return upper * (1 - fy) + lower * fy;
  };
}

/** Adds up values at their pixels, and then blurs the sums. In this way, the time does not grow with the radius. */
function drawGaussians(
  canvas: Canvas,
  { radius = defaultRadius, scaleWithZoom = false }: { radius?: number; scaleWithZoom?: boolean },
  toColor: ColorScale,
  count: number,
  pointAt: (index: number) => readonly [x: number, y: number, z: number, value: number],
): void {
  const { left, top, scale, width, height } = canvas.view;
  const radiusPixels = Math.min(maxRadius, Math.max(1, scaleWithZoom ? radius / scale : radius));
  // Three moving averages approximate a Gaussian. With this reach, its standard deviation is half the radius.
  const sigma = radiusPixels / 2;
  const reach = Math.max(0, Math.round((Math.sqrt(4 * sigma * sigma + 1) - 1) / 2));
  // Values up to this distance outside the tile influence its pixels. They are included, so that neighboring tiles fit together.
  const margin = 3 * reach;
  const [fullWidth, fullHeight] = [width + 2 * margin, height + 2 * margin];
  const sums = new Float32Array(fullWidth * fullHeight);
  let isAnyInside = false;
  for (let i = 0; i < count; i += 1) {
    const [x, y, , value] = pointAt(i);
    const column = Math.floor((x - left) / scale) + margin;
    const row = Math.floor((y - top) / scale) + margin;
    if (!(column >= 0 && column < fullWidth && row >= 0 && row < fullHeight)) continue;
    sums[row * fullWidth + column]! += value;
    isAnyInside = true;
  }
  if (!isAnyInside) return;
  const horizontalSums = new Float32Array(sums.length);
  for (let pass = 0; pass < 3; pass += 1) {
    blurLines(sums, horizontalSums, { lineCount: fullHeight, length: fullWidth, sampleStride: 1, lineStride: fullWidth }, reach);
    blurLines(horizontalSums, sums, { lineCount: fullWidth, length: fullHeight, sampleStride: fullWidth, lineStride: 1 }, reach);
  }
  // With this factor, the center of a single point has exactly the value of the point.
  const windowLength = 2 * reach + 1;
  const peakFactor = ((4 * windowLength ** 3) / (3 * windowLength ** 2 + 1)) ** 2;
  for (let row = 0; row < height; row += 1) {
    for (let column = 0; column < width; column += 1) {
      const value = sums[(row + margin) * fullWidth + column + margin]! * peakFactor;
      // Smaller sums are rounding errors of the averages.
      if (Math.abs(value) > 1e-6) canvas.paintPixel(column, row, toColor(value));
    }
  }
}

/** Writes the moving average over `2 * reach + 1` samples along each line to `to`. Samples beyond the ends count as 0. */
function blurLines(
  from: Float32Array,
  to: Float32Array,
  {
    lineCount,
    length,
    sampleStride,
    lineStride,
  }: { lineCount: number; length: number; sampleStride: number; lineStride: number },
  reach: number,
): void {
  const share = 1 / (2 * reach + 1);
  for (let line = 0; line < lineCount; line += 1) {
    const start = line * lineStride;
    let sum = 0;
    for (let i = 0; i < Math.min(reach, length); i += 1) sum += from[start + i * sampleStride]!;
    for (let i = 0; i < length; i += 1) {
      if (i + reach < length) sum += from[start + (i + reach) * sampleStride]!;
      if (i - reach - 1 >= 0) sum -= from[start + (i - reach - 1) * sampleStride]!;
      to[start + i * sampleStride] = sum * share;
    }
  }
}
