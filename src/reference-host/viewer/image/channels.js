// @ts-check
import { axesOf } from './metadata.js';

/**
 * One channel of an image that is shown as a mixture of colours. `min` and `max` are samples; `null`: found by the server so that few
 * samples lie outside.
 *
 * @typedef {object} Channel
 * @property {string} name
 * @property {string} color `#rrggbb`
 * @property {boolean} on
 * @property {number | null} min
 * @property {number | null} max
 * @property {{ framedelta: number } | { band: number }} source
 *
 * A way to show the channels that somebody has kept.
 * @typedef {{ name: string, bands: Record<string, unknown>[] }} Preset
 * @typedef {import('./metadata.js').ImageMetadata} ImageMetadata
 */

/** Share of the samples that automatic contrast leaves out at each end. */
export const automaticShare = 0.001;
/** More channels than this are not seen at first. */
const maxOn = 6;
const colors = ['#ff0000', '#00ff00', '#0000ff', '#ffff00', '#ff00ff', '#00ffff'];

/**
 * The channels of an image whose samples are no colours: channels of the file, or bands that are not eight bits deep. Empty for others.
 *
 * @param {ImageMetadata} metadata
 * @returns {Channel[]}
 */
export function channelsOf(metadata) {
  const { bandCount = 1, dtype = 'uint8', frames = [], channels = [] } = metadata;
  const axis = axesOf(metadata).find(({ key }) => key === 'IndexC');
  if (axis && bandCount < 3) {
    return Array.from({ length: axis.range }, (_, index) => {
      const framedelta = index * axis.stride;
      const name = channels[index] ?? frames[framedelta]?.Channel ?? `Channel ${index + 1}`;
      return channel(name, index, { framedelta }, hexColor(frames[framedelta]?.ChannelColor) ?? colors[index % colors.length]);
    });
  }
  if (dtype === 'uint8' && bandCount !== 2 && bandCount <= 4) return [];
  if (bandCount === 1) return [channel('Intensity', 0, { band: 1 }, '#ffffff')];
  const names =
    bandCount === 3 || bandCount === 4 ? ['Red', 'Green', 'Blue'] : Array.from({ length: bandCount }, (_, i) => `Band ${i + 1}`);
  return names.map((name, index) => channel(name, index, { band: index + 1 }, colors[index % colors.length]));
}

/** @param {string} name @param {number} index @param {Channel['source']} source @param {string} [color] @returns {Channel} */
function channel(name, index, source, color = '#ffffff') {
  return { name, color, on: index < maxOn, min: null, max: null, source };
}

/** Any colour that a browser knows as `#rrggbb`; `null` for what is none. @param {unknown} text */
function hexColor(text) {
  if (typeof text !== 'string') return null;
  const style = new Option().style;
  style.color = text;
  const numbers = style.color === '' ? null : toNumbers(style.color);
  return numbers && `#${numbers.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

/** @param {string} color as a browser writes it, or a name */
function toNumbers(color) {
  const context = /** @type {CanvasRenderingContext2D} */ (document.createElement('canvas').getContext('2d'));
  context.fillStyle = color;
  context.fillRect(0, 0, 1, 1);
  const [red = 0, green = 0, blue = 0] = context.getImageData(0, 0, 1, 1).data;
  return [red, green, blue];
}

/** What the server is to mix, as its style; `''` for an image without channels. @param {Channel[]} channels */
export function styleOf(channels) {
  const [first] = channels;
  if (!first) return '';
  const shown = channels.filter(({ on }) => on);
  const bands = (shown.length > 0 ? shown : [{ ...first, color: '#000000' }]).map(({ source, color, min, max }) => ({
    ...source,
    palette: color,
    min: min ?? `min:${automaticShare}`,
    max: max ?? `max:${automaticShare}`,
  }));
  return JSON.stringify({ bands });
}

/** Channels that are on, as in an address: `0:ff0000,2:00ff00:120~3000`. @param {Channel[]} channels */
export function writeChannels(channels) {
  const entries = channels.map(({ on, color, min, max }, index) =>
    on ? [`${index}:${color.slice(1)}${min === null && max === null ? '' : `:${min ?? ''}~${max ?? ''}`}`] : [],
  );
  return entries.flat().join(',') || 'none';
}

/** @param {string} text @param {Channel[]} channels @returns {Channel[]} */
export function readChannels(text, channels) {
  const entries = new Map(text.split(',').map((entry) => /** @type {const} */ ([Number.parseInt(entry, 10), entry.split(':')])));
  return channels.map((known, index) => {
    const [, color, range = '~'] = entries.get(index) ?? [];
    const [min, max] = range.split('~').map((bound) => (bound === '' || Number.isNaN(Number(bound)) ? null : Number(bound)));
    return {
      ...known,
      on: entries.has(index),
      color: color && /^[0-9a-f]{6}$/.test(color) ? `#${color}` : known.color,
      min: min ?? null,
      max: max ?? null,
    };
  });
}

/** The channels as a preset has them; those that it does not name are off. @param {Preset} preset @param {Channel[]} channels @returns {Channel[]} */
export function applyPreset({ bands }, channels) {
  return channels.map((known) => {
    const [[key, value] = ['', 0]] = Object.entries(known.source);
    const band = bands.find(
      (entry) => (key === 'framedelta' ? (entry.framedelta ?? entry.frame ?? 0) : (entry.band ?? 1)) === value,
    );
    const palette = Array.isArray(band?.palette) ? band.palette.at(-1) : band?.palette;
    const bound = (/** @type {unknown} */ limit) => (typeof limit === 'number' ? limit : null);
    return {
      ...known,
      on: band !== undefined,
      color: hexColor(palette) ?? known.color,
      min: bound(band?.min),
      max: bound(band?.max),
    };
  });
}

/**
 * What the settings of a folder, those kept at an item and the rendering settings in a file offer.
 *
 * @param {{ configured: unknown, kept: unknown, omero: unknown }} found
 * @returns {Preset[]}
 */
export function presetsOf({ configured, kept, omero }) {
  const lists = [configured, kept].flatMap((list) => (Array.isArray(list) ? list : []));
  const named = lists.flatMap((preset) => {
    const bands = preset?.style?.bands;
    return typeof preset?.name === 'string' && Array.isArray(bands) ? [{ name: preset.name, bands }] : [];
  });
  const rendered = /** @type {{ channels?: Record<string, any>[] } | undefined} */ (omero)?.channels;
  if (!Array.isArray(rendered)) return named;
  const bands = rendered.flatMap(({ color, window, active }, framedelta) =>
    active === false
      ? []
      : [{ framedelta, palette: color && `#${String(color).replace('#', '')}`, min: window?.start, max: window?.end }],
  );
  return [...named, { name: 'As in the file', bands }];
}
