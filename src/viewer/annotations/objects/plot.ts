import type uPlot from 'uplot';
import { fill, h, trackNewest } from '../../dom.js';
import { objectTexts } from '../../object-texts.js';
import type { ObjectsContext } from './objects-context.js';
import { PlotAxes } from './plot-axes.js';
import { drawPlot, plotSize, type PlotData } from './plot-drawing.js';
import { rangeFields, type Range } from './plot-ranges.js';
import { requestHistogram, requestRows, type ObjectColumn, type ObjectFilter } from './object-requests.js';

/** Number of bins of a histogram, and along each side of a plot of two columns. */
const binCounts = { histogram: 60, perSide: 72 };
/** Up to this number of shapes, a plot of two columns shows a point for each shape. */
const maxPoints = 2000;

interface PlotOptions extends ObjectsContext {
  currentFilter: () => ObjectFilter | null;
  /** selects the shapes in a part of the plot */
  onSelect: (ranges: Range[]) => void;
  onFilter: (ranges: Range[]) => void;
}

/** A histogram of one column, or a plot of two columns. The user can select a part of the plot. */
export class ObjectPlot {
  readonly element: HTMLElement;
  readonly #axes = new PlotAxes(() => void this.#drawPlot());
  readonly #plotArea = h('div.object-plot');
  /** Fields for the bounds of the selected part. */
  readonly #rangeFields = h('div.row.wrap');
  readonly #markDescription = h('p.small', { role: 'status' });
  readonly #trackPlot = trackNewest();
  readonly #trackMark = trackNewest();
  #plot: uPlot | null = null;
  #isOpen = false;
  /** The id of the clicked shape; `#markedValues` has its values in the columns of the plot. */
  #markedId: string | null = null;
  #markedValues: readonly [x: number | null, y: number | null] | null = null;

  constructor(private readonly options: PlotOptions) {
    const { signal } = options;
    const hint = h('p.quiet-text.small', objectTexts.brushHint);
    const axes = h('div.object-axes', ...this.#axes.fields, hint, this.#markDescription, this.#rangeFields);
    this.element = h('div.object-plots', axes, this.#plotArea);
    // A plot keeps the colors of the theme in which it was drawn.
    const colorScheme = matchMedia('(prefers-color-scheme: dark)');
    colorScheme.addEventListener('change', () => this.#isOpen && void this.#drawPlot(), { signal });
    const observer = new ResizeObserver(() => this.#plot?.setSize(plotSize(this.#plotArea)));
    observer.observe(this.#plotArea);
    signal.addEventListener('abort', () => (observer.disconnect(), this.#plot?.destroy()), { once: true });
  }

  setColumns(columns: readonly ObjectColumn[]) {
    this.#axes.setColumns(columns);
  }

  /** Marks a shape that was clicked; `null` marks none. */
  async markShape(id: string | null) {
    this.#markedId = id;
    if (this.#isOpen) await this.#loadMark();
  }

  /** Draws the plot if it is open. @param isOpen whether the plot is open from now on */
  async refresh(isOpen: boolean = this.#isOpen) {
    this.#isOpen = isOpen;
    if (isOpen) await this.#drawPlot();
  }

  async #drawPlot() {
    const { onError, signal } = this.options;
    const isCurrent = this.#trackPlot();
    const { x, y } = this.#axes;
    if (x === null) return;
    try {
      const data = await this.#loadData(x, y);
      if (signal.aborted || !isCurrent()) return;
      this.#plot?.destroy();
      this.#plot = drawPlot(this.#plotArea, data, (ranges) => this.#select(ranges));
      this.#showRanges([]);
      await this.#loadMark();
    } catch (error) {
      if (!signal.aborted && isCurrent()) onError(error);
    }
  }

  async #loadData(x: string, y: string | null): Promise<PlotData> {
    const { currentRecord, signal } = this.options;
    const filter = this.options.currentFilter();
    const yRange = y === null ? null : this.#axes.filteredRangeOf(y, filter);
    const query = {
      filter,
      x,
      bins: y === null ? binCounts.histogram : binCounts.perSide,
      ...this.#axes.filteredRangeOf(x, filter),
      ...(y !== null && { y }),
      ...(yRange && { ylow: yRange.low, yhigh: yRange.high }),
    };
    const histogram = await requestHistogram(currentRecord(), query, signal);
    const counts = histogram.categories[0]?.counts ?? [];
    const shapeCount = counts.reduce((sum, binCount) => sum + binCount, 0);
    const hasPoints = y !== null && shapeCount <= maxPoints;
    const points = hasPoints
      ? (await requestRows(currentRecord(), { filter, columns: [x, y], limit: maxPoints }, signal)).rows
      : null;
    return {
      x: histogram.x,
      y: histogram.y,
      counts,
      points: points as PlotData['points'],
      markedValues: () => this.#markedValues,
    };
  }

  /** Loads the values of the clicked shape, and shows them. */
  async #loadMark() {
    const { currentRecord, onError, signal } = this.options;
    const isCurrent = this.#trackMark();
    const { columns } = this.#axes;
    try {
      const filter: ObjectFilter | null = this.#markedId === null ? null : { column: 'id', in: [this.#markedId] };
      const row = filter ? (await requestRows(currentRecord(), { filter, columns, limit: 1 }, signal)).rows[0] : undefined;
      if (signal.aborted || !isCurrent()) return;
      const values = row?.map((value) => (typeof value === 'number' ? value : null));
      const [x = null, y = null] = values ?? [];
      this.#markedValues = values ? [x, y] : null;
      const namedValues = columns.flatMap((name, index) =>
        typeof values?.[index] === 'number' ? [[name, values[index]] as const] : [],
      );
      this.#markDescription.textContent = namedValues.length === 0 ? '' : objectTexts.clickedShape(namedValues);
      this.#plot?.redraw();
    } catch (error) {
      if (!signal.aborted && isCurrent()) onError(error);
    }
  }

  #select(ranges: Range[]) {
    if (ranges.length === 0) return;
    this.#showRanges(ranges);
    this.options.onSelect(ranges);
  }

  #showRanges(ranges: readonly Range[]) {
    const { onSelect: select, onFilter: filter } = this.options;
    fill(this.#rangeFields, ...rangeFields(this.#axes.columns, ranges, { select, filter }));
  }
}
