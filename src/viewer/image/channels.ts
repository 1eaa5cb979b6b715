import { h } from '../dom.js';
import { axesOf, type ImageMetadata } from './image-metadata.js';
import { readTone, toneOf, toneStyle, writeTone, type ToneSettings } from './tones.js';
import { automaticShare, channelColors, usualColor } from '../../tilesource/style/usual-colors.js';
import { imageTexts } from '../texts.js';

/**
 * A channel of an image that is displayed as a mixture of colors. `min` and `max` are the sample values for black and for the full color; if
 * `null`, the server chooses them so that few samples are outside the range.
 */
export interface Channel extends ToneSettings {
  name: string;
  /** `#rrggbb` */
  color: string;
  isVisible: boolean;
  min: number | null;
  max: number | null;
  /** Whether the color was guessed from the channel's name, because the file states no color. */
  isColorGuessed?: boolean;
  /** Where the channel's samples are: in the frame that is `framedelta` after the first channel's frame, or in a band, counted from 1. */
  source: { framedelta: number } | { band: number };
}

/** A stored way to display the channels. */
export type Preset = { name: string; bands: Record<string, unknown>[] };

/**
 * The channels of an image whose samples are not colors: the channels that its file lists, otherwise its bands. Empty for an image with 1, 3 or 4
 * bands of 8 bits, whose samples are shown as colors.
 */
export function channelsOf(metadata: ImageMetadata): Channel[] {
  const { bandCount, dtype, frames = [], channels = [] } = metadata;
  const axis = axesOf(metadata).find(({ key }) => key === 'IndexC');
  if (axis && bandCount < 3) {
    return Array.from({ length: axis.range }, (_, index) => {
      const framedelta = index * axis.stride;
      const name = channels[index] ?? frames[framedelta]?.Channel ?? imageTexts.channel(index + 1);
      const fileColor = hexColor(frames[framedelta]?.ChannelColor);
      const guessedColor = fileColor === null ? usualColor(name) : null;
      const newChannel = makeChannel(
        name,
        index,
        { framedelta },
        fileColor ?? guessedColor ?? channelColors[index % channelColors.length],
      );
      return guessedColor === null ? newChannel : { ...newChannel, isColorGuessed: true };
    });
  }
  if (dtype === 'uint8' && bandCount !== 2 && bandCount <= 4) return [];
  if (bandCount === 1) return [makeChannel(imageTexts.intensity, 0, { band: 1 }, '#ffffff')];
  const names =
    bandCount === 3 || bandCount === 4
      ? imageTexts.primaries
      : Array.from({ length: bandCount }, (_, i) => imageTexts.band(i + 1));
  return names.map((name, index) => makeChannel(name, index, { band: index + 1 }, channelColors[index % channelColors.length]));
}

function makeChannel(name: string, index: number, source: Channel['source'], color: string = '#ffffff'): Channel {
  return { name, color, isVisible: index < channelColors.length, min: null, max: null, source };
}

/** A color in any form that the browser knows, as `#rrggbb`; `null` for other texts. */
function hexColor(text: unknown) {
  if (typeof text !== 'string' || !CSS.supports('color', text)) return null;
  const context = h('canvas').getContext('2d') as CanvasRenderingContext2D;
  context.fillStyle = text;
  context.fillRect(0, 0, 1, 1);
  const numbers = [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  return `#${numbers.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

/** The style with which the server mixes the visible channels, black if none is visible; `''` for an image without channels. */
export function styleOf(channels: Channel[]) {
  const [first] = channels;
  if (!first) return '';
  const visibleChannels = channels.filter(({ isVisible }) => isVisible);
  const bands = (
    visibleChannels.length > 0 ? visibleChannels : [{ source: first.source, color: '#000000', min: null, max: null }]
  ).map(({ source, color, min, max, ...tone }) => ({
    ...source,
    palette: color,
    min: min ?? `min:${automaticShare}`,
    max: max ?? `max:${automaticShare}`,
    ...toneStyle(tone),
  }));
  return JSON.stringify({ bands });
}

/** The visible channels, in the form that addresses use: `0:ff0000,2:00ff00:120~3000,3:0000ff::palette=hot:gamma=0.5:invert`. */
export function writeChannels(channels: Channel[]) {
  const entries = channels.map(({ isVisible, color, min, max, ...channel }, index) => {
    const tone = writeTone(channel);
    // Browsers cut an address at `:~:`, so an automatic range before a tone is written as an empty text.
    const range = min === null && max === null ? '' : `${min ?? ''}~${max ?? ''}`;
    const parts = [index, color.slice(1), ...(range === '' && tone.length === 0 ? [] : [range]), ...tone];
    return isVisible ? [parts.join(':')] : [];
  });
  return entries.flat().join(',') || 'none';
}

/** The channels as an address describes them. @returns `null` if the text names no channel and is not `none` */
export function readChannels(text: string, channels: Channel[]): Channel[] | null {
  const entries = new Map(text.split(',').map((entry) => [Number.parseInt(entry, 10), entry.split(':')] as const));
  if (text !== 'none' && !channels.some((_, index) => entries.has(index))) return null;
  return channels.map((channel, index) => {
    const [, color, range = '~', ...tone] = entries.get(index) ?? [];
    const [min, max] = range.split('~').map((bound) => (bound === '' || Number.isNaN(Number(bound)) ? null : Number(bound)));
    return {
      ...channel,
      isVisible: entries.has(index),
      color: color && /^[0-9a-f]{6}$/.test(color) ? `#${color}` : channel.color,
      min: min ?? null,
      max: max ?? null,
      ...readTone(tone),
    };
  });
}

/** The channels as a preset describes them. Channels that the preset does not mention are hidden. */
export function applyPreset({ bands }: Preset, channels: Channel[]): Channel[] {
  return channels.map((channel) => {
    const [[key, value] = ['', 0]] = Object.entries(channel.source);
    const band = bands.find(
      (entry) => (key === 'framedelta' ? (entry.framedelta ?? entry.frame ?? 0) : (entry.band ?? 1)) === value,
    );
    const palette = Array.isArray(band?.palette) ? band.palette.at(-1) : band?.palette;
    const toBound = (limit: unknown) => (typeof limit === 'number' ? limit : null);
    return {
      ...channel,
      isVisible: band !== undefined,
      color: hexColor(palette) ?? channel.color,
      min: toBound(band?.min),
      max: toBound(band?.max),
      ...toneOf(band ?? {}),
    };
  });
}

/** A channel in the rendering settings of an OME-Zarr file. */
interface OmeroChannel {
  color?: string | number;
  active?: boolean;
  window?: { start?: number; end?: number };
}

/** The presets from several lists, and from the rendering settings in the file. */
export function presetsOf({ lists, omero }: { lists: unknown[]; omero: unknown }): Preset[] {
  const listedPresets = lists
    .flatMap((list) => (Array.isArray(list) ? list : []))
    .flatMap((preset) => {
      const bands = preset?.style?.bands;
      return typeof preset?.name === 'string' && Array.isArray(bands) ? [{ name: preset.name, bands }] : [];
    });
  const omeroChannels = (omero as { channels?: OmeroChannel[] } | undefined)?.channels;
  if (!Array.isArray(omeroChannels)) return listedPresets;
  const bands = omeroChannels.flatMap(({ color, window, active }, framedelta) =>
    active === false
      ? []
      : [{ framedelta, palette: color && `#${String(color).replace('#', '')}`, min: window?.start, max: window?.end }],
  );
  return [...listedPresets, { name: imageTexts.asInFile, bands }];
}
