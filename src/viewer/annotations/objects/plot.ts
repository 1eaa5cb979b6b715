import type uPlot from 'uplot';
import { fill, h, newestOnly } from '../../dom.js';
import { field } from '../../forms.js';
import { objectTexts } from '../../object-texts.js';
import type { AnnotationRecord } from '../model.js';
import { drawPlot, sizeOf, type PlotData } from './plot-drawing.js';
import { rangeFields, type Range } from './plot-ranges.js';
import { histogramOf, rowsOf, type ObjectColumn, type ObjectFilter } from './requests.js';

/** Bins of a histogram, and along each side of a plot of two columns. */
const bins = { one: 60, two: 72 };
/** Up to this number of shapes, a plot of two columns has a point for each. */
const maxPoints = 2000;

/** A histogram of a column, or a plot of two, of which a part can be selected. */
export function plotControls(options: {
  record: () => AnnotationRecord;
  filter: () => ObjectFilter | null;
  /** selects the shapes in a part of the plot */
  onSelect: (ranges: Range[]) => void;
  onFilter: (ranges: Range[]) => void;
  onError: (error: unknown) => void;
  signal: AbortSignal;
}) {
  const { record, filter, onSelect, onFilter, onError, signal } = options;
  const area = h('div.object-plot');
  const choices = { x: h('select', { onchange: () => void show() }), y: h('select', { onchange: () => void show() }) };
  const bounds = h('div.row.wrap');
  const hint = h('p.quiet-text.small', objectTexts.brushHint);
  const markWords = h('p.small', { role: 'status' });
  const isNewest = newestOnly();
  let plot: uPlot | null = null;
  let isOpen = false;
  /** The clicked shape, and its values. */
  let marked: string | null = null;
  let mark: readonly [x: number | null, y: number | null] | null = null;
  const isNewestMark = newestOnly();
  signal.addEventListener('abort', () => plot?.destroy(), { once: true });
  const axes = h(
    'div.object-axes',
    field(objectTexts.horizontal, choices.x),
    field(objectTexts.vertical, choices.y),
    hint,
    markWords,
    bounds,
  );
  const element = h('div.object-plots', axes, area);
  // The colors of the plot are those of the theme in which it was drawn.
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => isOpen && void show(), { signal });
  const observer = new ResizeObserver(() => plot?.setSize(sizeOf(area)));
  observer.observe(area);
  signal.addEventListener('abort', () => observer.disconnect(), { once: true });
  return {
    element,
    setColumns(columns: ObjectColumn[]) {
      const names = columns.filter(({ type, count }) => type === 'number' && count > 0).map(({ name }) => name);
      const first = names.find((name) => name.startsWith('/')) ?? 'area';
      const former = [choices.x.value, choices.y.value];
      fill(choices.x, ...names.map((name) => h('option', { value: name }, name)));
      fill(
        choices.y,
        h('option', { value: '' }, objectTexts.nothing),
        ...names.map((name) => h('option', { value: name }, name)),
      );
      choices.x.value = names.includes(former[0] ?? '') ? former[0]! : first;
      choices.y.value = names.includes(former[1] ?? '') ? former[1]! : '';
    },
    /** Marks a shape that was clicked; `null` marks none. */
    async mark(id: string | null) {
      marked = id;
      if (isOpen) await showMark();
    },
    /** Draws the plot while it is open. */
    async refresh(open: boolean = isOpen) {
      isOpen = open;
      if (isOpen) await show();
    },
  };

  async function show() {
    const isCurrent = isNewest();
    const [x, y] = [choices.x.value, choices.y.value || null];
    if (x === '') return;
    try {
      const count = y === null ? bins.one : bins.two;
      const query = { filter: filter(), x, bins: count, ...(y !== null && { y }) };
      const found = await histogramOf(record(), query, signal);
      const counts = found.categories[0]?.counts ?? [];
      const number = counts.reduce((sum, one) => sum + one, 0);
      const isFew = y !== null && number <= maxPoints;
      const points = isFew
        ? (await rowsOf(record(), { filter: filter(), columns: [x, y], limit: maxPoints }, signal)).rows
        : null;
      if (signal.aborted || !isCurrent()) return;
      plot?.destroy();
      plot = drawPlot(area, { x: found.x, y: found.y, counts, points: points as PlotData['points'], mark: () => mark }, brushed);
      showRanges([]);
      await showMark();
    } catch (error) {
      if (!signal.aborted && isCurrent()) onError(error);
    }
  }

  async function showMark() {
    const isCurrent = isNewestMark();
    const columns = [choices.x.value, choices.y.value].filter((name) => name !== '');
    try {
      const filter: ObjectFilter | null = marked === null ? null : { column: 'id', in: [marked] };
      const found = filter ? (await rowsOf(record(), { filter, columns, limit: 1 }, signal)).rows[0] : undefined;
      if (signal.aborted || !isCurrent()) return;
      const values = found?.map((value) => (typeof value === 'number' ? value : null));
      const [x = null, y = null] = values ?? [];
      mark = values ? [x, y] : null;
      const known = columns.flatMap((name, at) => (typeof values?.[at] === 'number' ? [[name, values[at]] as const] : []));
      markWords.textContent = known.length === 0 ? '' : objectTexts.marked(known);
      plot?.redraw();
    } catch (error) {
      if (!signal.aborted && isCurrent()) onError(error);
    }
  }

  function brushed(next: Range[]) {
    if (next.length === 0) return;
    showRanges(next);
    onSelect(next);
  }

  /** Shows the selected part as numbers. */
  function showRanges(ranges: readonly Range[]) {
    const columns = [choices.x.value, choices.y.value].filter((name) => name !== '');
    fill(bounds, ...rangeFields(columns, ranges, { select: onSelect, filter: onFilter }));
  }
}
