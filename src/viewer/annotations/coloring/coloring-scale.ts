import { debounced, fill, h } from '../../dom.js';
import { formatNumber } from '../../format.js';
import { channelRange } from '../../image/channel-range.js';
import { objectTexts } from '../../object-texts.js';
import type { AnnotationRecord } from '../annotation-model.js';
import { requestHistogram } from '../objects/object-requests.js';
import type { Coloring } from './coloring.js';
import type { ColoringLegend } from './coloring-requests.js';

/** Number of bins of the histogram of a measurement. */
const binCount = 256;
/** Number of colors in the bar that shows a palette. */
const barColorCount = 32;

type Bounds = Pick<Coloring, 'low' | 'high'>;

/** The scale of a measurement: its colors and its bounds. */
export class ColoringScale {
  /** Bounds that the user is choosing, before they are applied. */
  #pendingBounds: Bounds | null = null;
  readonly #changeSoon = debounced(() => {
    const chosenBounds = this.takePendingBounds();
    if (chosenBounds && !this.options.signal.aborted) this.options.onChange(chosenBounds);
  }, 200);

  constructor(
    private readonly options: {
      currentColoring: () => Coloring;
      onChange: (bounds: Bounds) => void;
      signal: AbortSignal;
    },
  ) {}

  /** Returns the bounds that the user has chosen but that are not applied yet. The caller must apply them. */
  takePendingBounds() {
    const chosenBounds = this.#pendingBounds;
    this.#pendingBounds = null;
    return chosenBounds;
  }

  /** Creates the elements that show a legend's scale. */
  async createElements(
    record: AnnotationRecord,
    { by, heat, filter }: Coloring,
    { low, high, colors }: NonNullable<ColoringLegend['scale']>,
  ): Promise<HTMLElement[]> {
    const ends = h('div.row.between.small.numbers');
    const showEnds = (from: number, to: number) => fill(ends, h('span', formatNumber(from, 4)), h('span', formatNumber(to, 4)));
    showEnds(low, high);
    const scaleElements = [paletteBar(colors), ends];
    if (by !== null) return [...(await this.#boundsInputs(record, { by, filter }, showEnds)), ...scaleElements];
    return heat === 'number' ? [...scaleElements, h('p.quiet-text.small', objectTexts.perMillion)] : scaleElements;
  }

  /** The histogram of the measurement, with the bounds on it. */
  async #boundsInputs(
    record: AnnotationRecord,
    { by, filter }: { by: string; filter: Coloring['filter'] },
    showEnds: (low: number, high: number) => void,
  ) {
    const { x, categories } = await requestHistogram(record, { filter, x: by, bins: binCount }, this.options.signal);
    const hist = categories[0]?.counts ?? [];
    const edges = Array.from({ length: binCount + 1 }, (_, i) => x.low + ((x.high - x.low) * i) / binCount);
    const thresholds: [number, number] = [x.low, x.high];
    const bounds = () => this.#pendingBounds ?? this.options.currentColoring();
    return channelRange({
      fullHistogram: { hist, bin_edges: edges, min: x.low, max: x.high, thresholds },
      currentChannel: () => ({ name: by, min: bounds().low, max: bounds().high }),
      change: ({ min, max }) => {
        const { low, high } = bounds();
        this.#pendingBounds = { low: min === undefined ? low : min, high: max === undefined ? high : max };
        showEnds(this.#pendingBounds.low ?? x.low, this.#pendingBounds.high ?? x.high);
        this.#changeSoon();
      },
    });
  }
}

function paletteBar(colors: readonly string[]) {
  const step = (colors.length - 1) / (barColorCount - 1);
  const barPalette = Array.from({ length: barColorCount }, (_, i) => colors[Math.round(i * step)]);
  const bar = h('div.coloring-bar', { 'aria-hidden': 'true' });
  bar.style.background = `linear-gradient(to right, ${barPalette.join()})`;
  return bar;
}
