/** Red, green and blue from 0 to 255. */
export type Rgb = [red: number, green: number, blue: number];

/**
 * The channels of a color as annotations write it, without the opacity; `null` for other texts. Channels above 255 become 255.
 */
export function rgbOf(color: string): Rgb | null {
  const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])[0-9a-f]?$/i.exec(color);
  if (short) return toRgb(short.slice(1).map((digit) => parseInt(digit + digit, 16)));
  const long = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})?$/i.exec(color);
  if (long) return toRgb(long.slice(1, 4).map((digits) => parseInt(digits, 16)));
  const call = /^rgba?\((\d+),\s*(\d+),\s*(\d+)[,)]/.exec(color);
  return call ? toRgb(call.slice(1).map(Number)) : null;
}

function toRgb([red = 0, green = 0, blue = 0]: number[]): Rgb {
  return [Math.min(255, red), Math.min(255, green), Math.min(255, blue)];
}

/** The color string of three channels: `rgb(r, g, b)`. */
export function rgbText([red, green, blue]: Rgb): string {
  return `rgb(${red}, ${green}, ${blue})`;
}

/** The channels of a 32-bit ARGB integer, signed or not, as QuPath before 0.3 wrote colors. */
export function rgbOfInteger(argb: number): Rgb {
  return [(argb >> 16) & 255, (argb >> 8) & 255, argb & 255];
}

/** The channels of a list of three integers from 0 to 255; `null` for other values. */
export function rgbOfList(value: unknown): Rgb | null {
  if (!Array.isArray(value) || value.length !== 3) return null;
  const isRgb = value.every((channel) => Number.isInteger(channel) && channel >= 0 && channel <= 255);
  return isRgb ? (value as Rgb) : null;
}
