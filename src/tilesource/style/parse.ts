import { isSliceOver, nextSlice } from '../../core/concurrency/slices.js';
import { BadValueError, LargeImageError, TileSourceError } from '../../errors.js';
import type { Rgba } from '../color.js';
import type { IccOption } from '../requests.js';
import { parseFunctions, type StyleFunction } from './functions.js';
import { parsePalette } from './palette.js';

/** One end of the range of samples that a palette spans. */
export type StyleBound =
  | { kind: 'number'; value: number }
  | { kind: 'auto' | 'min' | 'max' | 'full' }
  /** At most this fraction of the samples is outside the range at this end. */
  | { kind: 'threshold'; fraction: number };

/** How the samples of one band are colored and combined with other bands. */
export interface BandStyle {
  /** The band's number, from 1, or its name. `null` means the default band. */
  band: number | string | null;
  frame?: number;
  framedelta: number;
  min: StyleBound;
  max: StyleBound;
  palette: readonly Rgba[];
  /** Whether the style names no palette, so that the palette goes from black to white. */
  hasDefaultPalette: boolean;
  discrete: boolean;
  nodata: number | null;
  composite: 'lighten' | 'multiply';
  /** Whether samples outside the range get the colors at its ends. Otherwise they get no color. */
  clamp: boolean;
  /** The position of a sample in the range, from 0 to 1, is raised to this power, so a gamma below 1 lightens the band. */
  gamma: number;
}

/** The smallest and the largest `gamma` of a band. */
const gammaRange = [0.01, 100] as const;

/** Sample type of the values that clients get when they measure a picture with a style. */
type StyleType = 'uint8' | 'uint16' | 'float' | 'source';

/** A checked style. Without bands the image keeps its colors. */
export interface Style {
  bands: readonly BandStyle[];
  /** The functions applied to the colored picture, in order. */
  functions: readonly StyleFunction[];
  /** `null` means values from 0 to 255 with fractions. */
  dtype: StyleType | null;
  /** The only channel of the colors to keep; `null` keeps all channels. */
  axis: number | null;
  icc: IccOption | undefined;
}

/** Maximum number of bands of a style. */
const maxBands = 256;
/** Maximum number of colors of all palettes of a style. */
const maxColors = maxBands * 256;
/** Maximum number of characters of a style's text. */
const maxCharacters = 256 * 1024;

/**
 * Parses a style from a client, in slices.
 *
 * @returns `null` if there is no style.
 * @throws TileSourceError if the style is not a JSON object, BadValueError if it contains a value that is not allowed, and
 * LargeImageError `too-large` if its text is too long.
 */
export async function parseStyle(style: string | object | undefined): Promise<Style | null> {
  if (style === undefined || style === '') return null;
  const object = typeof style === 'string' ? parseJson(style) : style;
  if (!isObject(object)) throw new TileSourceError('Style is not a valid json object.');
  const icc = parseIcc(object.icc);
  const functions = parseFunctions(object.function);
  const bandEntries = object.bands;
  if (bandEntries !== undefined && !Array.isArray(bandEntries))
    throw new BadValueError("Style 'bands' must be a list of objects");
  const entries: unknown[] =
    bandEntries ?? (Object.keys(object).some((key) => key !== 'icc' && key !== 'function') ? [object] : []);
  if (entries.length > maxBands) throw new BadValueError(`Style has ${entries.length} bands; at most ${maxBands} are allowed`);
  const bands: BandStyle[] = [];
  let colorCount = 0;
  for (const entry of entries) {
    if (!isObject(entry)) throw new BadValueError("Style 'bands' must be a list of objects");
    if (entry.function !== undefined) {
      throw new BadValueError("Style 'function' is for the whole style, next to 'bands', not for one of them");
    }
    const band = parseBand(entry);
    colorCount += band.palette.length;
    if (colorCount > maxColors) throw new BadValueError(`The palettes of a style have more than ${maxColors} colors in total`);
    bands.push(band);
    if (isSliceOver()) await nextSlice();
  }
  const firstOf = (key: string) =>
    [object, ...entries.filter(isObject)].map((entry) => entry[key]).find((value) => value != null);
  return { bands, functions, dtype: parseType(firstOf('dtype')), axis: parseAxis(firstOf('axis')), icc };
}

function parseJson(text: string): unknown {
  if (text.length > maxCharacters)
    throw new LargeImageError('too-large', `A style must not be longer than ${maxCharacters} characters.`);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TileSourceError('Style is not a valid json object.', { cause });
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const intents = ['PERCEPTUAL', 'RELATIVE_COLORIMETRIC', 'SATURATION', 'ABSOLUTE_COLORIMETRIC'] as const;

function parseIcc(value: unknown): IccOption | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'boolean') return value;
  const intent = typeof value === 'string' ? intents.find((name) => name === value.toUpperCase()) : undefined;
  if (intent) return intent;
  throw new BadValueError(`Invalid icc ${JSON.stringify(value)} in style. Allowed values: true, false, ${intents.join(', ')}.`);
}

function parseType(value: unknown): StyleType | null {
  if (value === undefined) return null;
  if (value === 'uint8' || value === 'uint16' || value === 'float' || value === 'source') return value;
  throw new BadValueError(`Invalid dtype ${JSON.stringify(value)} in style. Allowed values: uint8, uint16, float, source.`);
}

function parseAxis(value: unknown): number | null {
  if (value === undefined) return null;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 3) return value;
  throw new BadValueError(`Invalid axis ${JSON.stringify(value)} in style. Allowed values: 0 to 3.`);
}

function parseBand(entry: Record<string, unknown>): BandStyle {
  const { band, frame, framedelta } = entry;
  const bandName = typeof band === 'string' ? band.toLowerCase() : null;
  const isAlpha = bandName === 'alpha';
  const palette = entry.palette == null ? null : parsePalette(entry.palette);
  const colors: readonly Rgba[] =
    palette ??
    (isAlpha
      ? [
          [255, 255, 255, 0],
          [255, 255, 255, 255],
        ]
      : [
          [0, 0, 0, 255],
          [255, 255, 255, 255],
        ]);
  return {
    band: typeof band === 'number' && band > 0 ? band : bandName === null || bandName === '' ? null : parseNumberOrText(bandName),
    ...(frame != null && { frame: parseInteger(frame, 'frame') }),
    framedelta: framedelta == null ? 0 : parseInteger(framedelta, 'framedelta'),
    min: parseBound(entry.min),
    max: parseBound(entry.max),
    palette: isInverted(entry.invert) ? colors.toReversed() : colors,
    hasDefaultPalette: palette === null && !isAlpha,
    discrete: parseOneOf(entry.scheme ?? 'linear', ['linear', 'discrete'], 'scheme') === 'discrete',
    nodata: typeof entry.nodata === 'number' ? entry.nodata : null,
    composite: parseOneOf(entry.composite ?? (isAlpha ? 'multiply' : 'lighten'), ['lighten', 'multiply'], 'composite'),
    clamp: entry.clamp !== false && entry.clamp !== 'false',
    gamma: parseGamma(entry.gamma ?? 1),
  };
}

function isInverted(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === 'false') return false;
  if (value === true || value === 'true') return true;
  throw new BadValueError(`Invalid invert ${JSON.stringify(value)} in style. Allowed values: true, false.`);
}

function parseGamma(value: unknown): number {
  const gamma = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  const [min, max] = gammaRange;
  if (typeof gamma === 'number' && gamma >= min && gamma <= max) return gamma;
  throw new BadValueError(`Invalid gamma ${JSON.stringify(value)} in style. It must be a number from ${min} to ${max}.`);
}

function parseNumberOrText(text: string): number | string {
  return /^\d+$/.test(text) ? Number(text) : text;
}

function parseInteger(value: unknown, name: string): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number === 'number' && Number.isSafeInteger(number)) return number;
  throw new BadValueError(`Invalid ${name} ${JSON.stringify(value)} in style. It must be a whole number.`);
}

function parseOneOf<const V extends string>(value: unknown, allowed: readonly V[], name: string): V {
  const match = allowed.find((word) => word === value);
  if (match !== undefined) return match;
  throw new BadValueError(`Invalid ${name} ${JSON.stringify(value)} in style. Allowed values: ${allowed.join(', ')}.`);
}

/** Parses one end of a range. A value that is neither a known word nor a number counts as `auto`. */
function parseBound(value: unknown): StyleBound {
  if (typeof value === 'number' && Number.isFinite(value)) return { kind: 'number', value };
  if (typeof value !== 'string') return { kind: 'auto' };
  if (value === 'min' || value === 'max' || value === 'full' || value === 'auto') return { kind: value };
  const threshold = /^(?:min|max|auto):((?:\d+(?:\.\d+)?|\.\d+)(?:e-?\d+)?)$/i.exec(value);
  const fraction = Number(threshold?.[1]);
  if (fraction >= 0 && fraction <= 1) return { kind: 'threshold', fraction };
  const number = value.trim() === '' ? NaN : Number(value);
  return Number.isFinite(number) ? { kind: 'number', value: number } : { kind: 'auto' };
}
