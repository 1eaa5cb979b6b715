import { request } from '../api.js';
import { debounced, drawing, fill, h, linkButton } from '../dom.js';
import { choice, field } from '../forms.js';
import { significant } from '../format.js';
import { applyPreset, automaticShare, type Channel, type Preset } from './channels.js';
import { commonTexts, imageTexts } from '../texts.js';

type Histogram = { hist: number[]; bin_edges: number[]; min: number; max: number; thresholds: [min: number, max: number] };

/** The view is updated this time after the last move of a slider, in milliseconds. */
const followMs = 150;
/** Histograms are requested when the user has stayed at a frame for this time in milliseconds, because tiles have priority. */
const restMs = 500;
const bins = 4096;
/** Size of a drawn histogram, in its own units. */
const drawn = { width: 256, height: 48 };

/** A panel that switches channels on and off, and sets their colours and their ranges of samples, on histograms. */
export function channelPanel(options: {
  itemId: string;
  /** the channels as they are displayed */
  channels: Channel[];
  presets: Preset[];
  /** the present frame of a channel */
  frameOf: (channel: Channel) => number;
  onChange: (channels: Channel[]) => void;
  signal: AbortSignal;
}) {
  const { itemId, channels: start, presets, frameOf, onChange, signal } = options;
  let channels = start;
  /** Cancels the pending requests for histograms. */
  let asking = new AbortController();
  /** elements for the histograms of the channels, in order */
  let ranges: HTMLElement[] = [];
  signal.addEventListener('abort', () => asking.abort(), { once: true });
  const changeSoon = debounced(() => signal.aborted || onChange(channels), followMs);
  const list = h('ul.channels', { 'aria-label': imageTexts.channels });
  const names = Object.fromEntries(presets.map(({ name }, index) => [`preset ${index}`, name]));
  const select = choice({ '': imageTexts.choose, auto: imageTexts.automaticContrast, ...names }, '', { onchange: choose });
  const element = h('div.stack.column', field(imageTexts.presets, select), list);
  show();
  return {
    element,
    /** Applies the channels of an address. */
    set(next: Channel[]) {
      channels = next;
      select.value = '';
      show();
    },
    /** Must be called when another frame is shown. */
    refresh: debounced(() => signal.aborted || void fillRanges(), restMs),
  };

  function choose() {
    const preset = presets[Number(select.value.replace('preset', ''))];
    if (select.value === 'auto') channels = channels.map((channel) => ({ ...channel, min: null, max: null }));
    else if (select.value !== '' && preset) channels = applyPreset(preset, channels);
    show();
    onChange(channels);
  }

  function show() {
    ranges = channels.map(({ on }) => h('div.channel-range', { hidden: !on }));
    fill(list, ...ranges.map((range, index) => row(range, index)));
    void fillRanges();
  }

  /** Requests one histogram after the other, because simultaneous requests would leave no connection for tiles. */
  async function fillRanges() {
    asking.abort();
    asking = new AbortController();
    const { signal: end } = asking;
    for (const [index, range] of ranges.entries()) if (channels[index]?.on && !end.aborted) await fillRange(range, index, end);
  }

  function change(index: number, changes: Partial<Channel>) {
    channels = channels.map((channel, at) => (at === index ? { ...channel, ...changes } : channel));
    select.value = '';
    changeSoon();
  }

  function row(range: HTMLElement, index: number) {
    const { name, color, on } = channels[index] as Channel;
    const box = h('input', {
      type: 'checkbox',
      checked: on,
      onchange: () => {
        change(index, { on: box.checked });
        range.hidden = !box.checked;
        if (box.checked && !range.hasChildNodes()) void fillRanges();
      },
    });
    const picker = h('input', {
      type: 'color',
      value: color,
      'aria-label': commonTexts.colorOf(name),
      oninput: () => change(index, { color: picker.value }),
    });
    return h('li.channel', h('label.row', box, h('span.break', name)), picker, range);
  }

  async function fillRange(place: HTMLElement, index: number, end: AbortSignal) {
    const channel = channels[index] as Channel;
    const ask = async (part: { rangeMin?: number; rangeMax?: number } = {}) => {
      const query = { frame: frameOf(channel), bins, threshold: automaticShare, ...part };
      // The answer is the state of the cache only for requests of it.
      const found = (await request('GET', `item/${itemId}/tiles/histogram`, { query, signal: end })) as unknown as Histogram[];
      return found['band' in channel.source ? channel.source.band - 1 : 0];
    };
    try {
      let histogram = await ask();
      if (!histogram) return;
      // If all samples are equal, automatic bounds are outside their range.
      const min = Math.min(histogram.min, histogram.thresholds[0]);
      const max = Math.max(histogram.max, histogram.thresholds[1]);
      const isWider = min < histogram.min || max > histogram.max;
      // The last bin ends 1 above the maximum, so fractions would be in few bins.
      if (max > min && (isWider || max - min < 1)) histogram = (await ask({ rangeMin: min, rangeMax: max })) ?? histogram;
      fill(place, ...rangeOf({ ...histogram, min, max }, index));
    } catch {
      // Errors of tiles are reported elsewhere. The channel works without its histogram.
      if (!end.aborted) fill(place);
    }
  }

  function rangeOf(all: Histogram, index: number) {
    const histogram = cropped(all, channels[index] as Channel);
    const { name } = channels[index] as Channel;
    const { min, max } = histogram;
    // Arrow keys move by a sample, or by a hundredth of other ranges.
    const step = max - min > 100 && max - min < 1e6 ? 1 : 'any';
    const inputs = (['min', 'max'] as const).map((bound) => {
      const set = ({ valueAsNumber: wanted }: HTMLInputElement) => {
        const other = valueOf(bound === 'min' ? 'max' : 'min');
        const near = Number(significant(Math[bound](wanted, other), 6));
        change(index, { [bound]: Number.isNaN(wanted) ? null : near });
        tell();
      };
      const label = imageTexts.boundOf[bound](name);
      const input = h('input', { type: 'range', min, max, step, 'aria-label': label, oninput: () => set(input) });
      // Samples beyond the slider can be typed.
      const typed = `${imageTexts.bounds[bound]} ${name}`;
      const value = h('input', { type: 'number', step: 'any', 'aria-label': typed, onchange: () => set(value) });
      return { bound, input, value };
    });
    const valueOf = (bound: 'min' | 'max') => (channels[index] as Channel)[bound] ?? all.thresholds[bound === 'min' ? 0 : 1];
    const makeAutomatic = () => (change(index, { min: null, max: null }), tell());
    const automatic = linkButton(imageTexts.automatic, makeAutomatic, imageTexts.automaticContrastOf(name));
    const band = h('div.histogram-band');
    tell();
    return [
      h('div.histogram', { 'aria-hidden': 'true' }, picture(histogram), band),
      ...inputs.map(({ bound, input, value }) => h('label.bound.small', imageTexts.bounds[bound], input, value)),
      automatic,
    ];

    function tell() {
      const channel = channels[index] as Channel;
      const [low, high] = inputs.map(({ bound, input, value }) => {
        input.valueAsNumber = valueOf(bound);
        value.value = significant(channel[bound] ?? input.valueAsNumber, channel[bound] === null ? 5 : 6);
        return (100 * (input.valueAsNumber - min)) / (max - min || 1);
      });
      band.style.left = `${low}%`;
      band.style.right = `${100 - (high ?? 100)}%`;
      // A disabled button would lose the focus.
      automatic.ariaDisabled = String(channel.min === null && channel.max === null);
    }
  }
}

/** The interesting part of a histogram. With a few very bright samples, the others would take almost no width. */
function cropped(histogram: Histogram, channel: Channel): Histogram {
  const [low, high] = [channel.min ?? histogram.thresholds[0], channel.max ?? histogram.thresholds[1]];
  const most = Math.max(channel.max ?? 0, 2 * high - low);
  const end = histogram.bin_edges.findIndex((edge, at) => at > 0 && edge >= most);
  if (end < 0) return histogram;
  return { ...histogram, max: histogram.bin_edges[end] ?? histogram.max, hist: histogram.hist.slice(0, end) };
}

/** The curve of a histogram, with logarithmic counts, because the background has most samples. */
function picture({ hist }: Histogram) {
  const top = Math.log1p(Math.max(...hist)) || 1;
  const per = Math.ceil(hist.length / drawn.width);
  const points = Array.from({ length: Math.ceil(hist.length / per) }, (_, at) => {
    const most = Math.max(...hist.slice(at * per, (at + 1) * per));
    return `L${at} ${(drawn.height * (1 - Math.log1p(most) / top)).toFixed(1)}H${at + 1}`;
  });
  const attributes = { viewBox: `0 0 ${drawn.width} ${drawn.height}`, preserveAspectRatio: 'none' };
  return drawing(`M0 ${drawn.height}${points.join('')}V${drawn.height}Z`, attributes);
}
