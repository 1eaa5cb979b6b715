import { createHash } from 'node:crypto';

/** Red, green, blue from 0 to 255 and alpha from 0 to 1. */
export type PaintColor = readonly [red: number, green: number, blue: number, alpha: number];

const transparent: PaintColor = [0, 0, 0, 0];

/** Line color of elements that do not specify one, the same as in existing clients. */
export const defaultLineColor: PaintColor = [0, 0, 0, 1];
/** Line width of elements that do not specify one, in base-layer pixels. */
export const defaultLineWidth = 2;

/** Maximum number of parsed colors in memory, after which the map is cleared. Annotations use few colors for many elements. */
const maxParsedColors = 10_000;
const parsedColors = new Map<string, PaintColor>();

/**
 * Parses a color of an annotation, or takes it from the cache. Channels above 255 are clipped. A text that is not a color becomes
 * transparent.
 */
export function toPaintColor(text: string): PaintColor {
  const cached = parsedColors.get(text);
  if (cached !== undefined) return cached;
  const color = parseColor(text);
  if (parsedColors.size >= maxParsedColors) parsedColors.clear();
  parsedColors.set(text, color);
  return color;
}

function parseColor(text: string): PaintColor {
  if (text.startsWith('#')) {
    const digits = text.length < 6 ? Array.from(text.slice(1), (digit) => digit + digit) : (text.slice(1).match(/../g) ?? []);
    const [red = 0, green = 0, blue = 0, alpha = 255] = digits.map((pair) => parseInt(pair, 16));
    return [red, green, blue, alpha / 255];
  }
  const match = /^rgba?\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*(?:,\s*([\d.]+)\s*)?\)$/.exec(text);
  if (match === null) return transparent;
  const [red, green, blue] = [Number(match[1]), Number(match[2]), Number(match[3])].map((channel) => Math.min(255, channel));
  return [red as number, green as number, blue as number, match[4] === undefined ? 1 : Math.min(1, Number(match[4]))];
}

/** Converts a color without its alpha to a number: red * 65,536 + green * 256 + blue. */
export function colorNumber([red, green, blue]: readonly [red: number, green: number, blue: number, ...unknown[]]): number {
  return (Math.round(red) << 16) | (Math.round(green) << 8) | Math.round(blue);
}

/** Splits the number of a color into red, green and blue. */
export function splitColor(color: number): [red: number, green: number, blue: number] {
  return [color >> 16, (color >> 8) & 255, color & 255];
}

/** Converts a color without its alpha to `#rrggbb`. */
export function hexColor([red, green, blue]: readonly [red: number, green: number, blue: number, ...unknown[]]): string {
  return `#${[red, green, blue].map((channel) => Math.round(channel).toString(16).padStart(2, '0')).join('')}`;
}

/** Colors for groups that are easy to distinguish. The first colors are the palette of Okabe and Ito, which suits color-blind people. */
const groupPalette = [
  '#e69f00',
  '#56b4e9',
  '#009e73',
  '#f0e442',
  '#0072b2',
  '#d55e00',
  '#cc79a7',
  '#8c564b',
  '#7f3fbf',
  '#17becf',
  '#bcbd22',
  '#e6194b',
].map(toPaintColor);

/** Color of elements without a group. */
const ungroupedColor = toPaintColor('#808080');

/**
 * Chooses the color of a group for shapes that are colored by group. The color depends only on the group's name, so that a group has the
 * same color in every annotation. The group `null` is for elements without a group.
 */
export function groupColor(group: string | null): PaintColor {
  if (group === null) return ungroupedColor;
  const digest = createHash('sha256').update(group).digest();
  return groupPalette[digest.readUInt32LE(0) % groupPalette.length] as PaintColor;
}
