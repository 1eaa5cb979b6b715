import { request } from '../api.js';
import { debounced, fill, h, linkButton } from '../dom.js';
import { ask, choice, field } from '../forms.js';
import { channelRange, type Histogram } from './channel-range.js';
import { applyPreset, automaticShare, type Channel, type Preset } from './channels.js';
import { savePreset } from './presets.js';
import { projectionQuery, type Projection } from './projection.js';
import { commonTexts, imageTexts } from '../texts.js';

/** The view is updated this time after the last move of a slider, in milliseconds. */
const followMs = 150;
/** Histograms are requested when the user has stayed at a frame for this time in milliseconds, because tiles have priority. */
const restMs = 500;
const bins = 4096;

/** A panel that switches channels on and off, and sets their colors and their ranges of samples, on histograms. */
export function channelPanel(options: {
  itemId: string;
  /** the channels as they are displayed */
  channels: Channel[];
  presets: Preset[];
  /** the current frame of a channel */
  frameOf: (channel: Channel) => number;
  projection: () => Projection | null;
  onChange: (channels: Channel[]) => void;
  /** whether the user may store presets */
  mayWrite: boolean;
  signal: AbortSignal;
}) {
  const { itemId, channels: start, mayWrite, frameOf, projection, onChange, signal } = options;
  let { presets } = options;
  let channels = start;
  /** Cancels the pending requests for histograms. */
  let asking = new AbortController();
  /** elements for the histograms of the channels, in order */
  let ranges: HTMLElement[] = [];
  signal.addEventListener('abort', () => asking.abort(), { once: true });
  const changeSoon = debounced(() => signal.aborted || onChange(channels), followMs);
  const list = h('ul.channels', { 'aria-label': imageTexts.channels });
  const select = choice({}, '', { onchange: choose });
  offer(presets);
  const save = mayWrite && linkButton(imageTexts.savePreset, askForName);
  const element = h('div.stack.column', field(imageTexts.presets, select), save && h('div', save), list);
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

  function offer(next: Preset[], selected = '') {
    presets = next;
    const names = Object.fromEntries(presets.map(({ name }, index) => [`preset ${index}`, name]));
    const known = { '': imageTexts.choose, auto: imageTexts.automaticContrast, ...names };
    fill(select, ...choice(known, selected).children);
  }

  function askForName() {
    ask({
      title: imageTexts.savePreset,
      fields: [{ name: 'name', label: commonTexts.name, required: true, maxlength: 100 }],
      action: commonTexts.save,
      async send({ name = '' }) {
        const saved = await savePreset(itemId, name.trim(), channels);
        const others = presets.filter((preset) => preset.name !== saved.name);
        offer([...others, saved], `preset ${others.length}`);
      },
    });
  }

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

  /** Shows one channel alone; `null`: those that are shown at first. */
  function showOnly(only: number | null) {
    channels = channels.map((channel, at) => ({ ...channel, on: only === null ? (start[at]?.on ?? true) : at === only }));
    select.value = '';
    show();
    list.querySelectorAll<HTMLElement>('.link-button[aria-pressed]')[only ?? 0]?.focus();
    onChange(channels);
  }

  function row(range: HTMLElement, index: number) {
    const { name, color, on, isGuessed } = channels[index] as Channel;
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
    const alone = () => channels.every((channel, at) => channel.on === (at === index));
    const only = linkButton(imageTexts.only, () => showOnly(alone() ? null : index), imageTexts.onlyChannel(name));
    only.setAttribute('aria-pressed', String(alone()));
    const guess = isGuessed && color === start[index]?.color && h('span.hint.quiet-text.small', imageTexts.guessedColor);
    const label = h('label.row.grow', box, h('span.break', name));
    return h('li.channel', h('div.row', label, channels.length > 1 && only, picker), guess, range);
  }

  async function fillRange(place: HTMLElement, index: number, end: AbortSignal) {
    const channel = channels[index] as Channel;
    const ask = async (part: { rangeMin?: number; rangeMax?: number } = {}) => {
      const query = { frame: frameOf(channel), ...projectionQuery(projection()), bins, threshold: automaticShare, ...part };
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
      const all = { ...histogram, min, max };
      const changes = { channel: () => channels[index] as Channel, change: (next: Partial<Channel>) => change(index, next) };
      fill(place, ...channelRange({ all, ...changes }));
    } catch {
      // Errors of tiles are reported elsewhere. The channel works without its histogram.
      if (!end.aborted) fill(place);
    }
  }
}
