import uPlot from 'uplot';
import styles from 'uplot/dist/uPlot.min.css';
import { fill, h, newestOnly } from '../../dom.js';
import { field } from '../../forms.js';
import { objectTexts } from '../../object-texts.js';
import type { AnnotationRecord } from '../model.js';
import { allOf, histogramOf, rangeFilter, rowsOf, type ObjectColumn, type ObjectFilter } from './requests.js';

/** Bins of a histogram, and along each side of a plot of two columns. */
const bins = { one: 60, two: 72 };
/** Up to this number of shapes, a plot of two columns has a point for each. */
const maxPoints = 2000;
const minHeight = 150;

function sizeOf({ clientWidth, clientHeight }: HTMLElement) {
  return { width: Math.max(200, clientWidth), height: Math.max(minHeight, clientHeight) };
}

/** A part of the plot. */
export type Range = { column: string; low: number | null; high: number | null };

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
  const isNewest = newestOnly();
  let plot: uPlot | null = null;
  let ranges: Range[] = [];
  let isOpen = false;
  signal.addEventListener('abort', () => plot?.destroy(), { once: true });
  const axes = h(
    'div.object-axes',
    field(objectTexts.horizontal, choices.x),
    field(objectTexts.vertical, choices.y),
    hint,
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
      const axis = { x: found.x, y: found.y };
      draw(axis, counts, points as [number | null, number | null][] | null);
      setRanges([]);
    } catch (error) {
      if (!signal.aborted && isCurrent()) onError(error);
    }
  }

  function draw({ x, y }: Axes, counts: number[], points: [number | null, number | null][] | null) {
    plot?.destroy();
    adoptStyles(area);
    const { color: ink, borderTopColor: line, outlineColor: accent } = getComputedStyle(area);
    const width = (x.high - x.low) / x.bins;
    const [xs, ys]: [number[], number[]] =
      y === null
        ? [counts.map((_, index) => x.low + (index + 0.5) * width), counts]
        : sorted(points?.flatMap(([left, up]) => (left === null || up === null ? [] : [[left, up] as const])) ?? []);
    const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line } };
    const bars = uPlot.paths.bars?.({ size: [1, Infinity] });
    const series: uPlot.Series =
      y === null
        ? { fill: accent, width: 0, points: { show: false }, ...(bars && { paths: bars }) }
        : { width: 0, paths: () => null, points: { show: true, size: 5, width: 0, fill: accent } };
    plot = new uPlot(
      {
        ...sizeOf(area),
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
          setSelect: [(drawn) => brushed(drawn, x, y)],
          draw: y === null || points ? [] : [(drawn) => paintBins(drawn, { x, y }, counts, accent)],
        },
      },
      [xs, ys],
      area,
    );
    plot.root.setAttribute('role', 'img');
    plot.root.setAttribute('aria-label', objectTexts.plotOf(x.column, y?.column ?? null));
  }

  function brushed(drawn: uPlot, x: Axis, y: Axis | null) {
    const { left, top, width, height } = drawn.select;
    if (width < 2) return;
    const across = [drawn.posToVal(left, 'x'), drawn.posToVal(left + width, 'x')] as const;
    const along = [drawn.posToVal(top + height, 'y'), drawn.posToVal(top, 'y')] as const;
    const next = [{ column: x.column, low: across[0], high: across[1] }];
    setRanges(y === null ? next : [...next, { column: y.column, low: along[0], high: along[1] }]);
    onSelect(ranges);
  }

  /** Shows the selected part as numbers, which can be entered too. */
  function setRanges(next: Range[]) {
    const columns = [choices.x.value, choices.y.value].filter((name) => name !== '');
    ranges = next;
    const inputs = columns.flatMap((column, index) =>
      (['low', 'high'] as const).map((key) => {
        const known = ranges[index]?.[key];
        const value = typeof known === 'number' ? Number(known.toPrecision(5)) : '';
        return {
          column,
          key,
          input: h('input', {
            type: 'number',
            step: 'any',
            value,
            placeholder: `${key === 'low' ? '≥' : '≤'} ${column}`,
            'aria-label': objectTexts[key](column),
          }),
        };
      }),
    );
    const read = () =>
      columns.flatMap((column): Range[] => {
        const [low = null, high = null] = inputs.flatMap(({ column: other, input }) =>
          other === column ? [Number.isNaN(input.valueAsNumber) ? null : input.valueAsNumber] : [],
        );
        return low === null && high === null ? [] : [{ column, low, high }];
      });
    const act = (call: (chosen: Range[]) => void) => () => {
      const chosen = read();
      if (chosen.length > 0) call(chosen);
    };
    fill(
      bounds,
      ...inputs.map(({ input }) => input),
      h('button.button', { onclick: act(onSelect) }, objectTexts.selectRange),
      h('button.button', { onclick: act(onFilter) }, objectTexts.toFilter),
    );
  }
}

type Axis = { column: string; low: number; high: number; bins: number };
type Axes = { x: Axis; y: Axis | null };

/** Ranges as a filter. */
export function filterOfRanges(ranges: readonly Range[]): ObjectFilter | null {
  return allOf(...ranges.map(rangeFilter));
}

function sorted(points: (readonly [number, number])[]): [number[], number[]] {
  const inOrder = points.toSorted((a, b) => a[0] - b[0]);
  return [inOrder.map(([x]) => x), inOrder.map(([, y]) => y)];
}

/** Paints the bins of two columns: the more shapes, the stronger. */
function paintBins(drawn: uPlot, { x, y }: { x: Axis; y: Axis }, counts: readonly number[], color: string) {
  const { ctx } = drawn;
  const most = Math.max(1, ...counts);
  ctx.save();
  ctx.fillStyle = color;
  const edge = (axis: Axis, index: number, scale: 'x' | 'y') =>
    drawn.valToPos(axis.low + ((axis.high - axis.low) * index) / axis.bins, scale, true);
  for (const [index, count] of counts.entries()) {
    if (count === 0) continue;
    const [column, row] = [Math.floor(index / y.bins), index % y.bins];
    const [left, right, bottom, top] = [edge(x, column, 'x'), edge(x, column + 1, 'x'), edge(y, row, 'y'), edge(y, row + 1, 'y')];
    ctx.globalAlpha = 0.12 + 0.88 * (Math.log1p(count) / Math.log1p(most));
    ctx.fillRect(left, top, right - left, bottom - top);
  }
  ctx.restore();
}

let sheet: CSSStyleSheet | null = null;

/** Gives the page or the element the styles of the library. */
function adoptStyles(element: HTMLElement) {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(styles);
  }
  const root = element.getRootNode() as Document | ShadowRoot;
  if (!root.adoptedStyleSheets.includes(sheet)) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
}
