import type { ImageItem } from '../browse/browse-model.js';
import { debounced, fill, h, linkButton } from '../dom.js';
import { requestHistogram } from './channel-histogram.js';
import { channelRange } from './channel-range.js';
import { channelTone } from './channel-tone.js';
import { applyPreset, type Channel, type Preset } from './channels.js';
import { presetChoice } from './preset-choice.js';
import type { Projection } from './projection.js';
import { commonTexts, imageTexts } from '../texts.js';

/** Time in milliseconds from the last move of a slider to the update of the view. */
const changeDelayMs = 150;
/** Time in milliseconds that a frame must be shown before its histograms are requested, because tiles have priority. */
const histogramDelayMs = 500;

interface ChannelPanelOptions {
  item: ImageItem;
  /** the displayed channels */
  channels: Channel[];
  presets: Preset[];
  /** the current frame of a channel */
  frameOf: (channel: Channel) => number;
  currentProjection: () => Projection | null;
  onChange: (channels: Channel[]) => void;
  /** whether the user may store presets */
  mayWrite: boolean;
  signal: AbortSignal;
}

/** A panel that switches channels on and off, and sets their colors and, on histograms, their ranges of samples. */
export function channelPanel(options: ChannelPanelOptions) {
  const { item, channels: initialChannels, presets, mayWrite, frameOf, currentProjection, onChange, signal } = options;
  let channels = initialChannels;
  const histogramControls = new HistogramControls({
    currentChannels: () => channels,
    request: (channel, requestSignal) =>
      requestHistogram(item._id, channel, { frame: frameOf(channel), projection: currentProjection() }, requestSignal),
    change: changeChannel,
    signal,
  });
  const changeSoon = debounced(() => signal.aborted || onChange(channels), changeDelayMs);
  const list = h('ul.channels', { 'aria-label': imageTexts.channels });
  const presetList = presetChoice({ item, presets, mayWrite, currentChannels: () => channels, onChoose: applyChoice });
  const element = h('div.stack.column', ...presetList.elements, list);
  redraw();
  return {
    element,
    /** Applies the channels of an address. */
    set(newChannels: Channel[]) {
      channels = newChannels;
      presetList.clear();
      redraw();
    },
    /** Must be called when another frame is shown. */
    refresh: debounced(() => signal.aborted || void histogramControls.load(), histogramDelayMs),
  };

  function applyChoice(preset: Preset | 'automatic' | null) {
    if (preset === 'automatic') channels = channels.map((channel) => ({ ...channel, min: null, max: null }));
    else if (preset) channels = applyPreset(preset, channels);
    redraw();
    onChange(channels);
  }

  function redraw() {
    fill(list, ...histogramControls.createElements().map((range, index) => channelRow(range, index)));
    void histogramControls.load();
  }

  function changeChannel(index: number, changes: Partial<Channel>) {
    channels = channels.map((channel, otherIndex) => (otherIndex === index ? { ...channel, ...changes } : channel));
    presetList.clear();
    changeSoon();
  }

  /** Shows only one channel; `null` shows the channels that are shown at first. */
  function showOnly(shownIndex: number | null) {
    channels = channels.map((channel, index) => ({
      ...channel,
      isVisible: shownIndex === null ? (initialChannels[index]?.isVisible ?? true) : index === shownIndex,
    }));
    presetList.clear();
    redraw();
    list.querySelectorAll<HTMLElement>('.link-button[aria-pressed]')[shownIndex ?? 0]?.focus();
    onChange(channels);
  }

  function channelRow(rangeElement: HTMLElement, index: number) {
    const { name, color, isVisible, isColorGuessed } = channels[index] as Channel;
    const box = h('input', {
      type: 'checkbox',
      checked: isVisible,
      onchange: () => {
        changeChannel(index, { isVisible: box.checked });
        rangeElement.hidden = !box.checked;
        toneControls.hidden = !box.checked;
        if (box.checked && !rangeElement.hasChildNodes()) void histogramControls.load();
      },
    });
    const picker = h('input', {
      type: 'color',
      value: color,
      'aria-label': commonTexts.colorOf(name),
      oninput: () => changeChannel(index, { color: picker.value }),
    });
    const isAlone = () => channels.every((channel, otherIndex) => channel.isVisible === (otherIndex === index));
    const onlyButton = linkButton(imageTexts.only, () => showOnly(isAlone() ? null : index), imageTexts.onlyChannel(name));
    onlyButton.setAttribute('aria-pressed', String(isAlone()));
    const guessNote =
      isColorGuessed && color === initialChannels[index]?.color && h('span.hint.quiet-text.small', imageTexts.guessedColor);
    const label = h('label.row.grow', box, h('span.break', name));
    const toneControls = channelTone(channels[index] as Channel, (changes) => changeChannel(index, changes));
    return h('li.channel', h('div.row', label, channels.length > 1 && onlyButton, picker), guessNote, rangeElement, toneControls);
  }
}

/** The histograms of the visible channels, on which the user sets the ranges of samples. */
class HistogramControls {
  /** Cancels the pending requests for histograms. */
  #loadController = new AbortController();
  #elements: HTMLElement[] = [];

  constructor(
    private readonly options: {
      currentChannels: () => Channel[];
      /** requests the histogram of a channel; `undefined` if it has none */
      request: (channel: Channel, signal: AbortSignal) => ReturnType<typeof requestHistogram>;
      change: (index: number, changes: Partial<Channel>) => void;
      signal: AbortSignal;
    },
  ) {
    options.signal.addEventListener('abort', () => this.#loadController.abort(), { once: true });
  }

  /** Creates an element for each channel, in order. */
  createElements() {
    this.#elements = this.options.currentChannels().map(({ isVisible }) => h('div.channel-range', { hidden: !isVisible }));
    return this.#elements;
  }

  /** Requests one histogram after the other, because simultaneous requests would leave no connection for tiles. */
  async load() {
    this.#loadController.abort();
    this.#loadController = new AbortController();
    const { signal } = this.#loadController;
    for (const [index, element] of this.#elements.entries()) {
      const isVisible = this.options.currentChannels()[index]?.isVisible;
      if (isVisible && !signal.aborted) await this.#loadHistogram(element, index, signal);
    }
  }

  async #loadHistogram(element: HTMLElement, index: number, signal: AbortSignal) {
    const { currentChannels, request, change } = this.options;
    const currentChannel = () => currentChannels()[index] as Channel;
    try {
      const histogram = await request(currentChannel(), signal);
      if (histogram)
        fill(element, ...channelRange({ fullHistogram: histogram, currentChannel, change: (changes) => change(index, changes) }));
    } catch {
      // Errors of tiles are reported elsewhere. The channel works without its histogram.
      if (!signal.aborted) fill(element);
    }
  }
}
