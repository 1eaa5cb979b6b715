import * as chromatic from 'd3-scale-chromatic';
import { LRUCache } from 'lru-cache';
import { BadValueError } from '../../errors.js';
import { tryParseColor, type Rgba } from '../color.js';

/** Number of colors of a continuous palette if its name contains no number. */
const defaultColorCount = 256;

/** Maximum number of colors of a list or a named palette. */
const maxColors = 4096;

/** Continuous palettes that the library does not have, by equally spaced colors. */
const spacedColors: Readonly<Record<string, readonly string[]>> = {
  jet: ['#000080', '#0000ff', '#0080ff', '#00ffff', '#80ff80', '#ffff00', '#ff8000', '#ff0000', '#800000'],
  hot: ['#0b0000', '#ff0000', '#ffff00', '#ffffff'],
  cool: ['#00ffff', '#ff00ff'],
  bone: ['#000000', '#545474', '#a9c8c8', '#ffffff'],
  copper: ['#000000', '#ffc77f'],
  gray: ['#000000', '#ffffff'],
  grey: ['#000000', '#ffffff'],
  binary: ['#ffffff', '#000000'],
  hsv: ['#ff0000', '#ffff00', '#00ff00', '#00ffff', '#0000ff', '#ff00ff', '#ff0000'],
  spring: ['#ff00ff', '#ffff00'],
  summer: ['#008066', '#ffff66'],
  autumn: ['#ff0000', '#ffff00'],
  winter: ['#0000ff', '#00ff80'],
};

/** Names of the library for lists of distinct colors, by their names in matplotlib. */
const listNames: Readonly<Record<string, string>> = { tab10: 'Category10' };

/**
 * Parses a palette: a color (the palette begins with black), a list of colors, or a name such as `viridis`, `matplotlib.Viridis_6`
 * or `colorbrewer.sequential.Blues_9`. The suffix `_r` of a name reverses the palette.
 *
 * @returns at least two colors.
 * @throws BadValueError for any other value.
 */
export function parsePalette(value: unknown): readonly Rgba[] {
  const colors = Array.isArray(value) ? parseColorList(value) : typeof value === 'string' ? parseTextPalette(value) : null;
  if (colors === null || colors.length === 0 || colors.length > maxColors) throw createPaletteError(value);
  const [firstColor] = colors;
  return colors.length === 1 && firstColor ? [[0, 0, 0, 255], firstColor] : colors;
}

function createPaletteError(value: unknown): BadValueError {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return new BadValueError(`cannot be used as a color palette.: '${text.length > 200 ? `${text.slice(0, 200)}…` : text}'.`);
}

function parseColorList(list: readonly unknown[]): Rgba[] | null {
  const colors = list.map((item): Rgba | null => {
    if (typeof item === 'string') return tryParseColor(item);
    if (!Array.isArray(item) || item.length < 3 || item.length > 4) return null;
    const parts = item.map((part) => (typeof part === 'number' ? Math.round(Math.min(1, Math.max(0, part)) * 255) : NaN));
    if (parts.some(Number.isNaN)) return null;
    const [red = 0, green = 0, blue = 0, alpha = 255] = parts;
    return [red, green, blue, alpha];
  });
  return colors.every((color) => color !== null) ? colors : null;
}

/** Recently parsed palettes. Bands with the same palette share its colors. */
const parsedPalettes = new LRUCache<string, readonly Rgba[]>({ maxSize: 2 ** 16, sizeCalculation: (colors) => colors.length });

function parseTextPalette(text: string): readonly Rgba[] | null {
  const cached = parsedPalettes.get(text);
  if (cached) return cached;
  const color = tryParseColor(text);
  const colors = color ? [color] : parseNamedPalette(text);
  if (colors && colors.length > 0) parsedPalettes.set(text, colors);
  return colors;
}

function parseNamedPalette(text: string): Rgba[] | null {
  const word = text.split('.').at(-1) ?? '';
  const match = /^([a-z0-9]+?)(?:_(\d{1,4}))?(_r)?$/i.exec(word);
  if (!match?.[1]) return null;
  const count = match[2] === undefined ? null : Number(match[2]);
  const colors = findNamedColors(match[1], count);
  return match[3] && colors ? colors.reverse() : colors;
}

function findNamedColors(name: string, count: number | null): Rgba[] | null {
  if (count !== null && (count < 2 || count > maxColors)) return null;
  const spaced = Object.hasOwn(spacedColors, name.toLowerCase()) ? spacedColors[name.toLowerCase()] : undefined;
  if (spaced) {
    const anchors = parseColors(spaced);
    return count === null ? anchors : sampleColors(count, (at) => colorBetween(anchors, at));
  }
  const scheme = libraryExport(
    'scheme',
    Object.hasOwn(listNames, name.toLowerCase()) ? (listNames[name.toLowerCase()] ?? name) : name,
  );
  const interpolate = libraryExport('interpolate', name);
  if (isColorList(scheme)) return parseColors(count === null ? scheme : scheme.slice(0, count));
  // Sequential and diverging schemes have one list for each number of colors.
  const listOfCount: unknown = Array.isArray(scheme) && count !== null ? scheme[count] : undefined;
  if (isColorList(listOfCount)) return parseColors(listOfCount);
  return isInterpolator(interpolate)
    ? sampleColors(count ?? defaultColorCount, (at) => tryParseColor(interpolate(at)) ?? [0, 0, 0, 255])
    : null;
}

const members = new Map<string, unknown>(Object.entries(chromatic).map(([key, value]) => [key.toLowerCase(), value]));

/** Finds an export of the library, such as `schemeBlues` or `interpolateViridis`. Upper and lower case make no difference. */
function libraryExport(kind: string, name: string): unknown {
  return members.get(`${kind}${name}`.toLowerCase());
}

function isColorList(value: unknown): value is string[] {
  return Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'string');
}

function isInterpolator(value: unknown): value is (at: number) => string {
  return typeof value === 'function';
}

function parseColors(colors: readonly string[]): Rgba[] {
  return colors.map((color) => tryParseColor(color) ?? [0, 0, 0, 255]);
}

function sampleColors(count: number, colorAt: (position: number) => Rgba): Rgba[] {
  return Array.from({ length: count }, (_, index) => colorAt(index / (count - 1)));
}

function colorBetween(anchors: readonly Rgba[], at: number): Rgba {
  return interpolateColor(anchors, at).map(Math.round) as unknown as Rgba; // four numbers in, four numbers out
}

/** The color of a palette at a position from 0 to 1. Channels have fractions. */
export function interpolateColor(palette: readonly Rgba[], at: number): [number, number, number, number] {
  const position = Math.min(1, Math.max(0, at)) * (palette.length - 1);
  const index = Math.min(palette.length - 2, Math.floor(position));
  const from = palette[index] ?? [0, 0, 0, 255];
  const to = palette[index + 1] ?? from;
  const part = position - index;
  const mix = (channel: 0 | 1 | 2 | 3) => from[channel] + (to[channel] - from[channel]) * part;
  return [mix(0), mix(1), mix(2), mix(3)];
}
