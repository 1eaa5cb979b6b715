import { drawing, h, linkButton } from '../dom.js';
import { significant } from '../format.js';
import { imageTexts } from '../texts.js';
import type { Channel } from './channels.js';

/** The histogram of a channel, with the bounds of automatic contrast. */
export type Histogram = { hist: number[]; bin_edges: number[]; min: number; max: number; thresholds: [min: number, max: number] };

type Bounded = Pick<Channel, 'name' | 'min' | 'max'>;

/** Size of the drawing of a histogram, in its own units. */
const drawn = { width: 256, height: 48 };

/**
 * The histogram of a channel, with the bounds of its samples on it.
 *
 * @param options `channel` returns its current state, `change` is called when the user moves a bound
 */
export function channelRange(options: {
  fullHistogram: Histogram;
  channel: () => Bounded;
  change: (changes: Partial<Pick<Channel, 'min' | 'max'>>) => void;
}) {
  const { fullHistogram, channel, change } = options;
  const histogram = cropped(fullHistogram, channel());
  const { name } = channel();
  const { min, max } = histogram;
  // Arrow keys move a bound by 1, or by a hundredth if the range is very small or very large.
  const step = max - min > 100 && max - min < 1e6 ? 1 : 'any';
  const inputs = (['min', 'max'] as const).map((bound) => {
    const set = ({ valueAsNumber: entered }: HTMLInputElement) => {
      const other = valueOf(bound === 'min' ? 'max' : 'min');
      const bounded = Number(significant(Math[bound](entered, other), 6));
      change({ [bound]: Number.isNaN(entered) ? null : bounded });
      showBounds();
    };
    const label = imageTexts.boundOf[bound](name);
    const input = h('input', { type: 'range', min, max, step, 'aria-label': label, oninput: () => set(input) });
    // Values beyond the ends of the slider can be typed.
    const typedLabel = `${imageTexts.bounds[bound]} ${name}`;
    const value = h('input', { type: 'number', step: 'any', 'aria-label': typedLabel, onchange: () => set(value) });
    return { bound, input, value };
  });
  const valueOf = (bound: 'min' | 'max') => channel()[bound] ?? fullHistogram.thresholds[bound === 'min' ? 0 : 1];
  const makeAutomatic = () => (change({ min: null, max: null }), showBounds());
  const automatic = linkButton(imageTexts.automatic, makeAutomatic, imageTexts.automaticContrastOf(name));
  const band = h('div.histogram-band');
  showBounds();
  return [
    h('div.histogram', { 'aria-hidden': 'true' }, picture(histogram), band),
    ...inputs.map(({ bound, input, value }) => h('label.bound.small', imageTexts.bounds[bound], input, value)),
    automatic,
  ];

  function showBounds() {
    const current = channel();
    const [low, high] = inputs.map(({ bound, input, value }) => {
      input.valueAsNumber = valueOf(bound);
      value.value = significant(current[bound] ?? input.valueAsNumber, current[bound] === null ? 5 : 6);
      return (100 * (input.valueAsNumber - min)) / (max - min || 1);
    });
    band.style.left = `${low}%`;
    band.style.right = `${100 - (high ?? 100)}%`;
    // A disabled button would lose the focus.
    automatic.ariaDisabled = String(current.min === null && current.max === null);
  }
}

/** The interesting part of a histogram. Otherwise, a few very bright samples would leave almost no width for the others. */
function cropped(histogram: Histogram, channel: Bounded): Histogram {
  const [low, high] = [channel.min ?? histogram.thresholds[0], channel.max ?? histogram.thresholds[1]];
  const max = Math.max(channel.max ?? 0, 2 * high - low);
  const end = histogram.bin_edges.findIndex((edge, at) => at > 0 && edge >= max);
  if (end < 0) return histogram;
  return { ...histogram, max: histogram.bin_edges[end] ?? histogram.max, hist: histogram.hist.slice(0, end) };
}

/** The curve of a histogram, with logarithmic counts, because the background has most samples. */
function picture({ hist }: Histogram) {
  const top = Math.log1p(Math.max(...hist)) || 1;
  const binsPerStep = Math.ceil(hist.length / drawn.width);
  const points = Array.from({ length: Math.ceil(hist.length / binsPerStep) }, (_, at) => {
    const maxCount = Math.max(...hist.slice(at * binsPerStep, (at + 1) * binsPerStep));
    return `L${at} ${(drawn.height * (1 - Math.log1p(maxCount) / top)).toFixed(1)}H${at + 1}`;
  });
  const attributes = { viewBox: `0 0 ${drawn.width} ${drawn.height}`, preserveAspectRatio: 'none' };
  return drawing(`M0 ${drawn.height}${points.join('')}V${drawn.height}Z`, attributes);
}
