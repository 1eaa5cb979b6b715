import type uPlot from 'uplot';
import { fill, h, newestOnly } from '../../dom.js';
import { objectTexts } from '../../object-texts.js';
import type { ObjectsContext } from './objects-context.js';
import { PlotAxes } from './plot-axes.js';
import { drawPlot, sizeOf, type PlotData } from './plot-drawing.js';
import { rangeFields, type Range } from './plot-ranges.js';
import { histogramOf, rowsOf, type ObjectColumn, type ObjectFilter } from './requests.js';

/** Number of bins of a histogram, and along each side of a plot of two columns. */
const bins = { one: 60, two: 72 };
/** Up to this number of shapes, a plot of two columns has a point for each. */
const maxPoints = 2000;

interface PlotOptions extends ObjectsContext {
  filter: () => ObjectFilter | null;
  /** selects the shapes in a part of the plot */
  onSelect: (ranges: Range[]) => void;
  onFilter: (ranges: Range[]) => void;
}

/** A histogram of a column, or a plot of two. A part of it can be selected. */
export class ObjectPlot {
  readonly element: HTMLElement;
  readonly #axes = new PlotAxes(() => void this.#show());
  readonly #area = h('div.object-plot');
  /** The selected part as numbers. */
  readonly #bounds = h('div.row.wrap');
  readonly #markWords = h('p.small', { role: 'status' });
  readonly #begin = newestOnly();
  readonly #beginMark = newestOnly();
  #plot: uPlot | null = null;
  #isOpen = false;
  /** The clicked shape, and its values. */
  #marked: string | null = null;
  #mark: readonly [x: number | null, y: number | null] | null = null;

  constructor(private readonly options: PlotOptions) {
    const { signal } = options;
    const hint = h('p.quiet-text.small', objectTexts.brushHint);
    const axes = h('div.object-axes', ...this.#axes.fields, hint, this.#markWords, this.#bounds);
    this.element = h('div.object-plots', axes, this.#area);
    // A plot keeps the colors of the theme in which it was drawn.
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', () => this.#isOpen && void this.#show(), { signal });
    const observer = new ResizeObserver(() => this.#plot?.setSize(sizeOf(this.#area)));
    observer.observe(this.#area);
    signal.addEventListener('abort', () => (observer.disconnect(), this.#plot?.destroy()), { once: true });
  }

  setColumns(columns: readonly ObjectColumn[]) {
    this.#axes.setColumns(columns);
  }

  /** Marks a shape that was clicked; `null` marks none. */
  async mark(id: string | null) {
    this.#marked = id;
    if (this.#isOpen) await this.#showMark();
  }

  /** Draws the plot while it is open. */
  async refresh(isOpen: boolean = this.#isOpen) {
    this.#isOpen = isOpen;
    if (isOpen) await this.#show();
  }

  async #show() {
    const { onError, signal } = this.options;
    const isCurrent = this.#begin();
    const { x, y } = this.#axes;
    if (x === null) return;
    try {
      const data = await this.#load(x, y);
      if (signal.aborted || !isCurrent()) return;
      this.#plot?.destroy();
      this.#plot = drawPlot(this.#area, data, (ranges) => this.#select(ranges));
      this.#showRanges([]);
      await this.#showMark();
    } catch (error) {
      if (!signal.aborted && isCurrent()) onError(error);
    }
  }

  async #load(x: string, y: string | null): Promise<PlotData> {
    const { record, signal } = this.options;
    const filter = this.options.filter();
    const ylimits = y === null ? null : this.#axes.limitsOf(y, filter);
    const query = {
      filter,
      x,
      bins: y === null ? bins.one : bins.two,
      ...this.#axes.limitsOf(x, filter),
      ...(y !== null && { y }),
      ...(ylimits && { ylow: ylimits.low, yhigh: ylimits.high }),
    };
    const histogram = await histogramOf(record(), query, signal);
    const counts = histogram.categories[0]?.counts ?? [];
    const shapeCount = counts.reduce((sum, binCount) => sum + binCount, 0);
    const isFew = y !== null && shapeCount <= maxPoints;
    const points = isFew ? (await rowsOf(record(), { filter, columns: [x, y], limit: maxPoints }, signal)).rows : null;
    return { x: histogram.x, y: histogram.y, counts, points: points as PlotData['points'], mark: () => this.#mark };
  }

  /** Loads the values of the clicked shape, and shows them. */
  async #showMark() {
    const { record, onError, signal } = this.options;
    const isCurrent = this.#beginMark();
    const { columns } = this.#axes;
    try {
      const filter: ObjectFilter | null = this.#marked === null ? null : { column: 'id', in: [this.#marked] };
      const row = filter ? (await rowsOf(record(), { filter, columns, limit: 1 }, signal)).rows[0] : undefined;
      if (signal.aborted || !isCurrent()) return;
      const values = row?.map((value) => (typeof value === 'number' ? value : null));
      const [x = null, y = null] = values ?? [];
      this.#mark = values ? [x, y] : null;
      const namedValues = columns.flatMap((name, at) => (typeof values?.[at] === 'number' ? [[name, values[at]] as const] : []));
      this.#markWords.textContent = namedValues.length === 0 ? '' : objectTexts.marked(namedValues);
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
    fill(this.#bounds, ...rangeFields(this.#axes.columns, ranges, { select, filter }));
  }
}
