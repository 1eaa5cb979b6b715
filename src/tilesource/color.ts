import colorString from 'color-string';
import { BadValueError } from '../errors.js';

/** Red, green, blue and alpha, each 0 to 255. */
export type Rgba = readonly [red: number, green: number, blue: number, alpha: number];

/**
 * Colors of the names that requests can write in upper case. In CSS, `green` is a darker color, and single letters are not colors.
 */
const upperCaseColors: Readonly<Record<string, Rgba>> = {
  r: [255, 0, 0, 255],
  red: [255, 0, 0, 255],
  g: [0, 255, 0, 255],
  green: [0, 255, 0, 255],
  b: [0, 0, 255, 255],
  blue: [0, 0, 255, 255],
  transparent: [0, 0, 0, 0],
};

/**
 * Parses a color; `null` if the text is not a color. Requests can use CSS names, `#` with 3, 4, 6 or 8 digits, `rgb()`, `hsl()`,
 * and the upper-case names R, G, B, RED, GREEN and BLUE, which mean pure colors, and TRANSPARENT.
 */
export function tryParseColor(text: string): Rgba | null {
  const trimmed = text.trim();
  const isUpperCaseName = trimmed === trimmed.toUpperCase() && Object.hasOwn(upperCaseColors, trimmed.toLowerCase());
  const pureColor = isUpperCaseName ? upperCaseColors[trimmed.toLowerCase()] : undefined;
  if (pureColor) return pureColor;
  if (trimmed.length > 100) return null;
  const value = colorString.get.rgb(trimmed.toLowerCase()) ?? parseHsl(trimmed.toLowerCase());
  if (!value) return null;
  const [red = 0, green = 0, blue = 0, alpha = 1] = value;
  return [Math.round(red), Math.round(green), Math.round(blue), Math.round(alpha * 255)];
}

/** Converts `hsl()` to red, green, blue and alpha, as CSS defines it. */
function parseHsl(text: string): number[] | null {
  const value = colorString.get.hsl(text);
  if (!value) return null;
  const [hue = 0, saturation = 0, lightness = 0, alpha = 1] = value;
  const s = saturation / 100;
  const l = lightness / 100;
  const channel = (n: number) => {
    const k = (n + hue / 30) % 12;
    return 255 * (l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return [channel(0), channel(8), channel(4), alpha];
}

/**
 * Parses a color in any notation that requests can use.
 *
 * @throws BadValueError `unknown color specifier: '…'`
 */
export function parseColor(text: string): Rgba {
  const color = tryParseColor(text);
  if (!color) throw new BadValueError(`unknown color specifier: '${text}'`);
  return color;
}

/** How to fill the rest of a box with a color, if the picture in the box is smaller. */
export interface Fill {
  color: Rgba;
  /** Position of the picture in the box: in the middle, or at the upper left. */
  anchor: 'center' | 'corner';
}

/**
 * Parses the parameter `fill`: a color, or `corner:<color>`. Returns `null` for `none`, and if the parameter is missing or empty.
 *
 * @throws BadValueError for an unknown color.
 */
export function parseFill(text: string | undefined): Fill | null {
  if (text === undefined || text === '' || text.toLowerCase() === 'none') return null;
  const isCorner = text.toLowerCase().startsWith('corner:');
  return { color: parseColor(isCorner ? text.slice('corner:'.length) : text), anchor: isCorner ? 'corner' : 'center' };
}

/** The treatment of tiles at the border. `pad` without a color pads them with zeros. */
export type Edge = { kind: 'pad'; color: Rgba | null } | { kind: 'crop' };

/**
 * Parses the parameter `edge`. `crop` and `true` crop. A missing or empty parameter, `none` and `false` pad with zeros. Any other
 * text is a color to pad with.
 *
 * @throws BadValueError for an unknown color.
 */
export function parseEdge(text: string | undefined): Edge {
  const word = (text ?? '').toLowerCase();
  if (word === '' || word === 'none' || word === 'false') return { kind: 'pad', color: null };
  if (word === 'crop' || word === 'true') return { kind: 'crop' };
  return { kind: 'pad', color: parseColor(text ?? '') };
}

/** Brightness of a color as a gray value, 0 to 255. */
export function luma([red, green, blue]: Rgba): number {
  return Math.round(0.299 * red + 0.587 * green + 0.114 * blue);
}
