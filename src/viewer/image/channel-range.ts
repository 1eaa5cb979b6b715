import { svgPath, h, linkButton } from '../dom.js';
import { toSignificantDigits } from '../format.js';
import { imageTexts } from '../texts.js';
import type { Channel } from './channels.js';

/** The histogram of a channel, with the bounds of automatic contrast. */
export type Histogram = { hist: number[]; bin_edges: number[]; min: number; max: number; thresholds: [min: number, max: number] };

type ChannelBounds = Pick<Channel, 'name' | 'min' | 'max'>;

/** Size of the view box of a drawn histogram. */
const drawingSize = { width: 256, height: 48 };

/**
 * The histogram of a channel, with inputs for the bounds of its samples.
 *
 * @param options `currentChannel` returns the current state of the channel, `change` is called when the user moves a bound
 */
export function channelRange(options: {
  fullHistogram: Histogram;
  currentChannel: () => ChannelBounds;
  change: (changes: Partial<Pick<Channel, 'min' | 'max'>>) => void;
}) {
  const { fullHistogram, currentChannel, change } = options;
  const histogram = cropHistogram(fullHistogram, currentChannel());
  const { name } = currentChannel();
  const { min, max } = histogram;
  // Arrow keys move a bound by 1, or by a hundredth of the range if the range is very small or very large.
  const step = max - min > 100 && max - min < 1e6 ? 1 : 'any';
  const inputs = (['min', 'max'] as const).map((bound) => {
    const setBound = ({ valueAsNumber: enteredValue }: HTMLInputElement) => {
      const otherValue = valueOf(bound === 'min' ? 'max' : 'min');
      const limitedValue = Number(toSignificantDigits(Math[bound](enteredValue, otherValue), 6));
      change({ [bound]: Number.isNaN(enteredValue) ? null : limitedValue });
      showBounds();
    };
    const label = imageTexts.boundOf[bound](name);
    const slider = h('input', { type: 'range', min, max, step, 'aria-label': label, oninput: () => setBound(slider) });
    // Values beyond the ends of the slider can be typed.
    const typedLabel = `${imageTexts.bounds[bound]} ${name}`;
    const numberInput = h('input', {
      type: 'number',
      step: 'any',
      'aria-label': typedLabel,
      onchange: () => setBound(numberInput),
    });
    return { bound, slider, numberInput };
  });
  const valueOf = (bound: 'min' | 'max') => currentChannel()[bound] ?? fullHistogram.thresholds[bound === 'min' ? 0 : 1];
  const makeAutomatic = () => (change({ min: null, max: null }), showBounds());
  const automaticButton = linkButton(imageTexts.automatic, makeAutomatic, imageTexts.automaticContrastOf(name));
  const rangeElement = h('div.histogram-band');
  showBounds();
  return [
    h('div.histogram', { 'aria-hidden': 'true' }, histogramCurve(histogram), rangeElement),
    ...inputs.map(({ bound, slider, numberInput }) => h('label.bound.small', imageTexts.bounds[bound], slider, numberInput)),
    automaticButton,
  ];

  function showBounds() {
    const channel = currentChannel();
    const [low, high] = inputs.map(({ bound, slider, numberInput }) => {
      slider.valueAsNumber = valueOf(bound);
      numberInput.value = toSignificantDigits(channel[bound] ?? slider.valueAsNumber, channel[bound] === null ? 5 : 6);
      return (100 * (slider.valueAsNumber - min)) / (max - min || 1);
    });
    rangeElement.style.left = `${low}%`;
    rangeElement.style.right = `${100 - (high ?? 100)}%`;
    // A disabled button would lose the focus.
    automaticButton.ariaDisabled = String(channel.min === null && channel.max === null);
  }
}

/** Cuts off the part of a histogram far above the bounds. Otherwise, a few very bright samples would leave almost no width for the others. */
function cropHistogram(histogram: Histogram, channel: ChannelBounds): Histogram {
  const [low, high] = [channel.min ?? histogram.thresholds[0], channel.max ?? histogram.thresholds[1]];
  const max = Math.max(channel.max ?? 0, 2 * high - low);
  const endBin = histogram.bin_edges.findIndex((edge, index) => index > 0 && edge >= max);
  if (endBin < 0) return histogram;
  return { ...histogram, max: histogram.bin_edges[endBin] ?? histogram.max, hist: histogram.hist.slice(0, endBin) };
}

/** The curve of a histogram. Its heights are logarithms of the counts, because most samples belong to the background. */
function histogramCurve({ hist }: Histogram) {
  const top = Math.log1p(Math.max(...hist)) || 1;
  const binsPerColumn = Math.ceil(hist.length / drawingSize.width);
  const points = Array.from({ length: Math.ceil(hist.length / binsPerColumn) }, (_, column) => {
    const maxCount = Math.max(...hist.slice(column * binsPerColumn, (column + 1) * binsPerColumn));
    return `L${column} ${(drawingSize.height * (1 - Math.log1p(maxCount) / top)).toFixed(1)}H${column + 1}`;
  });
  const attributes = { viewBox: `0 0 ${drawingSize.width} ${drawingSize.height}`, preserveAspectRatio: 'none' };
  return svgPath(`M0 ${drawingSize.height}${points.join('')}V${drawingSize.height}Z`, attributes);
}
