import { debounced, errorNotice, fill, h, linkButton, newestOnly } from '../../dom.js';
import { choice, field } from '../../forms.js';
import { formatNumber } from '../../format.js';
import { channelRange } from '../../image/channel-range.js';
import { annotationTexts } from '../../annotation-texts.js';
import { objectTexts } from '../../object-texts.js';
import type { AnnotationRecord } from '../model.js';
import { columnsOf, histogramOf, type Cell, type ObjectColumn } from '../objects/requests.js';
import { categoryList } from './category-list.js';
import { fitsAddress, isPlain, needsLegend, palettes, withColor, type Coloring } from './coloring.js';
import { legendOf, type ColoringLegend } from './requests.js';

/** Bins of the histogram of a measurement. */
const bins = 256;
/** Colors of the bar that shows a palette. */
const barColors = 32;

/** Controls for the colors and the filter of the shapes of an annotation, with a legend. */
export function coloringControls(options: {
  record: () => AnnotationRecord | null;
  coloring: () => Coloring;
  onChange: (coloring: Coloring) => void;
  /** called with the colors of groups, if shapes are colored by them; otherwise with `null` */
  onGroups: (colors: ReadonlyMap<unknown, string> | null) => void;
  signal: AbortSignal;
}) {
  const { record, onChange, signal } = options;
  let columns: ObjectColumn[] = [];
  /** The version whose columns are known. */
  let known = -1;
  const isNewest = newestOnly();
  const by = h('select', { onchange: () => change({ by: by.value || null, low: null, high: null, colors: [] }) });
  const heats: Record<string, string> = { '': objectTexts.heatOff, number: objectTexts.heatNumber, mean: objectTexts.heatMean };
  const heat = choice(heats, '', { onchange: () => change({ heat: (heat.value || null) as Coloring['heat'] }) });
  const names = Object.fromEntries(palettes.map((name) => [name, name]));
  const palette = choice(names, '', { onchange: () => change({ palette: palette.value }) });
  const paletteField = field(objectTexts.palette, palette);
  const scale = h('div.coloring-scale.column');
  const categories = categoryList<Cell>({
    label: objectTexts.colors,
    find: annotationTexts.findCategory,
    onColor: colorCategory,
  });
  const message = h('div', { role: 'alert' });
  const filtered = h('p.row.wrap.small', { role: 'status' });
  const fields = h(
    'div.coloring-fields.column',
    field(objectTexts.colorBy, by),
    field(objectTexts.heat, heat),
    paletteField,
    scale,
  );
  const element = h(
    'details.coloring',
    { ontoggle: () => element.open && void refresh(), open: !isPlain(options.coloring()) },
    h('summary', objectTexts.colors),
    message,
    fields,
  );
  /** A range that the user is choosing, which is shown soon. */
  let moving: Pick<Coloring, 'low' | 'high'> | null = null;
  const moveSoon = debounced(() => {
    if (signal.aborted || moving === null) return;
    onChange({ ...options.coloring(), ...moving });
    moving = null;
  }, 200);
  return {
    /** the controls, and a line about the filter, which is visible while they are folded */
    elements: [filtered, element],
    refresh,
  };

  function change(changes: Partial<Coloring>) {
    const former = { ...options.coloring(), ...moving };
    moving = null;
    const next = { ...former, ...changes };
    const isNumber = columns.find(({ name }) => name === next.by)?.type === 'number';
    // The number of shapes has no column, and a mean needs numbers.
    if (changes.heat === 'number') next.by = null;
    else if (next.heat === 'number' && next.by !== null) next.heat = null;
    else if (next.heat === 'mean' && !isNumber) next.heat = null;
    if (next.heat !== former.heat) Object.assign(next, { low: null, high: null });
    onChange(next);
    void refresh();
  }

  /** Shows the current state, for the current version. */
  async function refresh() {
    const shown = record();
    if (!shown) return;
    const coloring = options.coloring();
    const isCurrent = isNewest();
    fill(message);
    try {
      if (element.open && known !== shown._version) {
        columns = (await columnsOf(shown, signal)).filter(({ type, count }) => type !== 'id' && count > 0);
        known = shown._version;
      }
      if (signal.aborted || !isCurrent()) return;
      offer(coloring);
      const legend = !needsLegend(coloring) ? null : await legendOf(shown, coloring, signal);
      if (signal.aborted || !isCurrent()) return;
      const words = legend && coloring.filter && objectTexts.filtered(legend.count, shown._elementCount);
      fill(filtered, words, words && linkButton(objectTexts.removeFilter, () => change({ filter: null })));
      filtered.hidden = !words;
      await explain(shown, coloring, legend, isCurrent);
    } catch (error) {
      if (!signal.aborted && isCurrent()) fill(message, errorNotice(error));
    }
  }

  function offer(coloring: Coloring) {
    const offered = columns.map(({ name }) => name);
    if (coloring.by !== null && !offered.includes(coloring.by)) offered.push(coloring.by);
    const options_ = offered.map((name) => h('option', { value: name }, name));
    fill(by, h('option', { value: '' }, objectTexts.ownColors), ...options_);
    by.value = coloring.by ?? '';
    heat.value = coloring.heat ?? '';
    const isNumber = columns.find(({ name }) => name === coloring.by)?.type === 'number';
    const mean = heat.querySelector<HTMLOptionElement>('[value="mean"]');
    if (mean) mean.disabled = !isNumber && coloring.heat !== 'mean';
    palette.value = coloring.palette ?? palettes[0];
  }

  async function explain(shown: AnnotationRecord, coloring: Coloring, legend: ColoringLegend | null, isCurrent: () => boolean) {
    paletteField.hidden = !legend?.scale;
    const isGroups = coloring.by === 'group' && legend?.categories;
    options.onGroups(isGroups ? new Map(isGroups.map(({ value, color }) => [value, color])) : null);
    // Groups are listed above, with these colors.
    if (isGroups) return fill(scale);
    if (legend?.categories) {
      categories.show(legend.categories);
      if (!scale.contains(categories.elements[0]!)) fill(scale, categories.elements);
      return;
    }
    if (!legend?.scale) return fill(scale);
    const { low, high, colors } = legend.scale;
    const bar = h('div.coloring-bar', { 'aria-hidden': 'true' });
    const every = (colors.length - 1) / (barColors - 1);
    bar.style.background = `linear-gradient(to right, ${Array.from({ length: barColors }, (_, i) => colors[Math.round(i * every)]).join()})`;
    const ends = h('div.row.between.small.numbers');
    const showEnds = (from: number, to: number) => fill(ends, h('span', formatNumber(from, 4)), h('span', formatNumber(to, 4)));
    showEnds(low, high);
    const unit = coloring.heat === 'number' ? h('p.quiet-text.small', objectTexts.perMillion) : null;
    if (coloring.by === null) return fill(scale, bar, ends, unit);
    const query = { filter: coloring.filter, x: coloring.by, bins };
    const { x, categories: counted } = await histogramOf(shown, query, signal);
    if (signal.aborted || !isCurrent()) return;
    const hist = counted[0]?.counts ?? [];
    const edges = Array.from({ length: bins + 1 }, (_, i) => x.low + ((x.high - x.low) * i) / bins);
    const all = { hist, bin_edges: edges, min: x.low, max: x.high, thresholds: [x.low, x.high] as [number, number] };
    const range = channelRange({
      all,
      channel: () => {
        const { low: min, high: max } = moving ?? options.coloring();
        return { name: coloring.by ?? '', min, max };
      },
      change({ min, max }) {
        const { low: from, high: to } = moving ?? options.coloring();
        moving = { low: min === undefined ? from : min, high: max === undefined ? to : max };
        showEnds(moving.low ?? x.low, moving.high ?? x.high);
        moveSoon();
      },
    });
    fill(scale, ...range, bar, ends);
  }

  function colorCategory(value: Cell, color: string) {
    const next = withColor(options.coloring().colors, value, color);
    if (fitsAddress(next)) change({ colors: next });
    else fill(message, errorNotice(annotationTexts.tooManyColors));
  }
}
