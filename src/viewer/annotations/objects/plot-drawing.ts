import uPlot from 'uplot';
import styles from 'uplot/dist/uPlot.min.css';
import { objectTexts } from '../../object-texts.js';
import type { Range } from './plot-ranges.js';

const minHeight = 150;

type PlotAxis = { column: string; low: number; high: number; bins: number };

/** The data of a histogram of one column, or of a plot of two columns. */
export interface PlotData {
  x: PlotAxis;
  /** `null` in a histogram */
  y: PlotAxis | null;
  /** number of shapes in each bin */
  counts: number[];
  /** a point for each shape; `null` in a histogram, and if there are too many shapes */
  points: [number | null, number | null][] | null;
  /** returns the values of the clicked shape; `null` if no shape was clicked */
  markedValues: () => readonly [x: number | null, y: number | null] | null;
}

export function plotSize({ clientWidth, clientHeight }: HTMLElement) {
  return { width: Math.max(200, clientWidth), height: Math.max(minHeight, clientHeight) };
}

/**
 * Draws a plot in an element, with the colors of the element's style.
 *
 * @param onSelect called with the part that the user selects
 */
export function drawPlot(
  area: HTMLElement,
  { x, y, counts, points, markedValues }: PlotData,
  onSelect: (ranges: Range[]) => void,
) {
  adoptStyles(area);
  const { color: textColor, borderTopColor: lineColor, outlineColor: accent } = getComputedStyle(area);
  const binWidth = (x.high - x.low) / x.bins;
  const [xs, ys]: [number[], number[]] =
    y === null
      ? [counts.map((_, index) => x.low + (index + 0.5) * binWidth), counts]
      : sortByX(
          points?.flatMap(([xValue, yValue]) => (xValue === null || yValue === null ? [] : [[xValue, yValue] as const])) ?? [],
        );
  const axis = { stroke: textColor, grid: { stroke: lineColor, width: 1 }, ticks: { stroke: lineColor } };
  const bars = uPlot.paths.bars?.({ size: [1, Infinity] });
  const series: uPlot.Series =
    y === null
      ? { fill: accent, width: 0, points: { show: false }, ...(bars && { paths: bars }) }
      : { width: 0, paths: () => null, points: { show: true, size: 5, width: 0, fill: accent } };
  const plot = new uPlot(
    {
      ...plotSize(area),
      legend: { show: false },
      cursor: { drag: { x: true, y: y !== null, setScale: false }, points: { show: false } },
      scales: {
        x: { time: false, range: () => [x.low, x.high] },
        y: { range: (_u, _min, max) => (y === null ? [0, max || 1] : [y.low, y.high]) },
      },
      axes: [
        { ...axis, label: x.column },
        { ...axis, label: y?.column ?? objectTexts.count, size: 70 },
      ],
      series: [{}, series],
      hooks: {
        setSelect: [(drawnPlot) => onSelect(selectedRanges(drawnPlot, x, y))],
        draw: [
          (drawnPlot) => {
            if (y !== null && !points) paintBins(drawnPlot, { x, y }, counts, accent);
            paintMark(drawnPlot, markedValues(), textColor);
          },
        ],
      },
    },
    [xs, ys],
    area,
  );
  passTouchesAsMouse(plot.over);
  plot.root.setAttribute('role', 'img');
  plot.root.setAttribute('aria-label', objectTexts.plotOf(x.column, y?.column ?? null));
  return plot;
}

/** The library follows only the mouse, so touches and pens are passed to it as mouse events. */
function passTouchesAsMouse(over: HTMLElement) {
  const mouseTypes = {
    pointerdown: 'mousedown',
    pointermove: 'mousemove',
    pointerup: 'mouseup',
    pointercancel: 'mouseup',
  } as const;
  for (const [name, type] of Object.entries(mouseTypes))
    over.addEventListener(name, (event) => {
      const { pointerType, isPrimary, clientX, clientY } = event as PointerEvent;
      if (pointerType === 'mouse' || !isPrimary) return;
      // The library ignores moves whose distance is 0.
      over.dispatchEvent(new MouseEvent(type, { bubbles: true, clientX, clientY, movementX: 1 }));
    });
}

/** The ranges of the selected part of a plot; no ranges if that part has no width. */
function selectedRanges(drawnPlot: uPlot, x: PlotAxis, y: PlotAxis | null): Range[] {
  const { left, top, width, height } = drawnPlot.select;
  if (width < 2) return [];
  const ranges = [{ column: x.column, low: drawnPlot.posToVal(left, 'x'), high: drawnPlot.posToVal(left + width, 'x') }];
  if (y !== null)
    ranges.push({ column: y.column, low: drawnPlot.posToVal(top + height, 'y'), high: drawnPlot.posToVal(top, 'y') });
  return ranges;
}

function sortByX(points: (readonly [number, number])[]): [number[], number[]] {
  const sortedPoints = points.toSorted((a, b) => a[0] - b[0]);
  return [sortedPoints.map(([x]) => x), sortedPoints.map(([, y]) => y)];
}

/** Paints the bins of two columns. The more shapes a bin has, the stronger is its color. */
function paintBins(drawnPlot: uPlot, { x, y }: { x: PlotAxis; y: PlotAxis }, counts: readonly number[], color: string) {
  const { ctx } = drawnPlot;
  const maxCount = Math.max(1, ...counts);
  ctx.save();
  ctx.fillStyle = color;
  const edgePosition = (axis: PlotAxis, index: number, scale: 'x' | 'y') =>
    drawnPlot.valToPos(axis.low + ((axis.high - axis.low) * index) / axis.bins, scale, true);
  for (const [index, count] of counts.entries()) {
    if (count === 0) continue;
    const [column, row] = [Math.floor(index / y.bins), index % y.bins];
    const [left, right, bottom, top] = [
      edgePosition(x, column, 'x'),
      edgePosition(x, column + 1, 'x'),
      edgePosition(y, row, 'y'),
      edgePosition(y, row + 1, 'y'),
    ];
    ctx.globalAlpha = 0.12 + 0.88 * (Math.log1p(count) / Math.log1p(maxCount));
    ctx.fillRect(left, top, right - left, bottom - top);
  }
  ctx.restore();
}

/** Marks the values of a shape: a ring, or a line in a histogram. */
function paintMark(drawnPlot: uPlot, mark: readonly [number | null, number | null] | null, color: string) {
  const [x = null, y = null] = mark ?? [];
  if (x === null) return;
  const { ctx, bbox } = drawnPlot;
  const left = drawnPlot.valToPos(x, 'x', true);
  ctx.save();
  ctx.strokeStyle = color;
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.beginPath();
  if (y === null) {
    ctx.moveTo(left, bbox.top);
    ctx.lineTo(left, bbox.top + bbox.height);
  } else ctx.arc(left, drawnPlot.valToPos(y, 'y', true), 6 * devicePixelRatio, 0, 2 * Math.PI);
  ctx.stroke();
  ctx.restore();
}

let styleSheet: CSSStyleSheet | null = null;

/** Gives the library's styles to the page or the shadow root that contains the element. */
function adoptStyles(element: HTMLElement) {
  if (!styleSheet) {
    styleSheet = new CSSStyleSheet();
    styleSheet.replaceSync(styles);
  }
  const root = element.getRootNode() as Document | ShadowRoot;
  if (!root.adoptedStyleSheets.includes(styleSheet)) root.adoptedStyleSheets = [...root.adoptedStyleSheets, styleSheet];
}
