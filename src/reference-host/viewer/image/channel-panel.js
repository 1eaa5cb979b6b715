// @ts-check
import { request } from '../api.js';
import { fill, h } from '../dom.js';
import { significant } from '../format.js';
import { applyPreset, automaticShare } from './channels.js';

/**
 * @typedef {import('./channels.js').Channel} Channel
 * @typedef {{ hist: number[], bin_edges: number[], min: number, max: number, samples: number }} Histogram
 */

/** After the last move of a slider the picture follows, in milliseconds. */
const followMs = 150;
const bins = 4096;
/** Size of a drawn histogram, in its own units. */
const drawn = { width: 256, height: 48 };

/**
 * Channels to switch on and off, each with its colour and the samples between which it is shown, on its histogram.
 *
 * @param {object} options
 * @param {string} options.itemId
 * @param {Channel[]} options.channels as they are shown
 * @param {import('./channels.js').Preset[]} options.presets
 * @param {(channel: Channel) => number} options.frameOf the frame that holds a channel now
 * @param {(channels: Channel[]) => void} options.onChange
 * @param {AbortSignal} options.signal
 */
export function channelPanel({ itemId, channels: start, presets, frameOf, onChange, signal }) {
  let channels = start;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  const list = h('ul', { class: 'channels', 'aria-label': 'Channels' });
  const choice = h(
    'select',
    { id: 'channel-preset', onchange: choose },
    h('option', { value: '' }, 'Choose…'),
    h('option', { value: 'auto' }, 'Automatic contrast'),
  );
  for (const [index, { name }] of presets.entries()) choice.append(h('option', { value: index }, name));
  const element = h(
    'div',
    { class: 'stack' },
    h('div', { class: 'field' }, h('label', { for: 'channel-preset' }, 'Presets'), choice),
    list,
  );
  show();
  return {
    element,
    /** Takes over what an address says. @param {Channel[]} next */
    set(next) {
      channels = next;
      show();
    },
    /** Another frame is shown. */
    refresh: show,
  };

  function choose() {
    const preset = presets[Number(choice.value)];
    if (choice.value === 'auto') channels = channels.map((channel) => ({ ...channel, min: null, max: null }));
    else if (choice.value !== '' && preset) channels = applyPreset(preset, channels);
    choice.value = '';
    show();
    onChange(channels);
  }

  function show() {
    fill(list, ...channels.map((_channel, index) => row(index)));
  }

  /** @param {number} index @param {Partial<Channel>} changes */
  function change(index, changes) {
    channels = channels.map((channel, at) => (at === index ? { ...channel, ...changes } : channel));
    clearTimeout(timer);
    timer = setTimeout(() => onChange(channels), followMs);
  }

  /** @param {number} index */
  function row(index) {
    const { name, color, on } = /** @type {Channel} */ (channels[index]);
    const range = h('div', { class: 'channel-range', hidden: !on });
    const box = h('input', {
      type: 'checkbox',
      onchange: () => {
        change(index, { on: box.checked });
        range.hidden = !box.checked;
        if (box.checked && !range.hasChildNodes()) void fillRange(range, index);
      },
    });
    box.checked = on;
    const picker = h('input', {
      type: 'color',
      value: color,
      'aria-label': `Color of ${name}`,
      oninput: () => change(index, { color: picker.value }),
    });
    if (on) void fillRange(range, index);
    return h('li', { class: 'channel' }, h('label', {}, box, h('span', {}, name)), picker, range);
  }

  /** @param {HTMLElement} place @param {number} index */
  async function fillRange(place, index) {
    const channel = /** @type {Channel} */ (channels[index]);
    const query = { frame: frameOf(channel), bins };
    try {
      /** @type {Histogram[]} */
      const found = await request('GET', `item/${itemId}/tiles/histogram`, { query, signal });
      const histogram = found['band' in channel.source ? channel.source.band - 1 : 0];
      if (histogram) fill(place, ...rangeOf(cropped(histogram, channel), index));
    } catch {
      // The picture says more of what is wrong; the channel can be switched without its histogram.
      fill(place);
    }
  }

  /** @param {Histogram} histogram @param {number} index */
  function rangeOf(histogram, index) {
    const { name } = /** @type {Channel} */ (channels[index]);
    const inputs = /** @type {const} */ (['min', 'max']).map((bound) => {
      const input = h('input', {
        type: 'range',
        min: histogram.min,
        max: histogram.max,
        step: Number.isInteger(histogram.max - histogram.min) ? 1 : 'any',
      });
      input.setAttribute('aria-label', `${bound === 'min' ? 'Minimum' : 'Maximum'} of ${name}`);
      input.addEventListener('input', () => {
        change(index, { [bound]: input.valueAsNumber });
        tell();
      });
      return { bound, input, value: h('output', {}) };
    });
    const automatic = h(
      'button',
      { class: 'link-button', type: 'button', 'aria-label': `Automatic contrast of ${name}` },
      'Automatic',
    );
    automatic.addEventListener('click', () => {
      change(index, { min: null, max: null });
      tell();
    });
    const band = h('div', { class: 'histogram-band' });
    tell();
    return [
      h('div', { class: 'histogram', 'aria-hidden': 'true' }, picture(histogram), band),
      ...inputs.map(({ bound, input, value }) => h('label', { class: 'bound' }, bound === 'min' ? 'Min' : 'Max', input, value)),
      automatic,
    ];

    function tell() {
      const channel = /** @type {Channel} */ (channels[index]);
      const [low, high] = inputs.map(({ bound, input, value }) => {
        input.valueAsNumber = channel[bound] ?? automaticBound(histogram, bound);
        value.textContent = significant(channel[bound] ?? input.valueAsNumber, 5);
        return (100 * (input.valueAsNumber - histogram.min)) / (histogram.max - histogram.min || 1);
      });
      band.style.left = `${low}%`;
      band.style.right = `${100 - (high ?? 100)}%`;
      automatic.disabled = channel.min === null && channel.max === null;
    }
  }
}

/** The part of a histogram in which something is to be seen: single bright samples would leave no room for the others. @param {Histogram} histogram @param {Channel} channel @returns {Histogram} */
function cropped(histogram, channel) {
  const [low, high] = /** @type {const} */ (['min', 'max']).map((bound) => channel[bound] ?? automaticBound(histogram, bound));
  const most = Math.max(channel.max ?? 0, 2 * (high ?? 0) - (low ?? 0));
  const end = histogram.bin_edges.findIndex((edge, at) => at > 0 && edge >= most);
  if (end < 0) return histogram;
  return { ...histogram, max: histogram.bin_edges[end] ?? histogram.max, hist: histogram.hist.slice(0, end) };
}

/** The sample below or above which few others lie. @param {Histogram} histogram @param {'min' | 'max'} bound */
function automaticBound({ hist, bin_edges: edges, samples }, bound) {
  let left = samples * automaticShare;
  const order = bound === 'min' ? hist : hist.toReversed();
  const bin = order.findIndex((count) => (left -= count) < 0);
  return edges[bound === 'min' ? bin : hist.length - bin] ?? 0;
}

/** How often samples occur, by the logarithm: backgrounds outnumber all else. @param {Histogram} histogram */
function picture({ hist }) {
  const namespace = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(namespace, 'svg');
  svg.setAttribute('viewBox', `0 0 ${drawn.width} ${drawn.height}`);
  svg.setAttribute('preserveAspectRatio', 'none');
  const path = document.createElementNS(namespace, 'path');
  const top = Math.log1p(Math.max(...hist)) || 1;
  const per = Math.ceil(hist.length / drawn.width);
  const points = Array.from({ length: Math.ceil(hist.length / per) }, (_, at) => {
    const most = Math.max(...hist.slice(at * per, (at + 1) * per));
    return `L${at} ${(drawn.height * (1 - Math.log1p(most) / top)).toFixed(1)}H${at + 1}`;
  });
  path.setAttribute('d', `M0 ${drawn.height}${points.join('')}V${drawn.height}Z`);
  svg.append(path);
  return svg;
}
