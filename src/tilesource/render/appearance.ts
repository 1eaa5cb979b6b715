import type { Rgba } from '../color.js';
import type { Style } from '../style/parse.js';

/** How samples are shown: with or without a style, and with or without color correction. */
export interface Appearance {
  /** `null` for no style. */
  style: Style | null;
  correctsColors: boolean;
  /** Whether a picture that is opaque everywhere may be returned without its alpha band. */
  mayDropAlpha?: boolean;
}

/** Shows samples as the source returns them. */
export const asStored: Appearance = { style: null, correctsColors: false };

/** Whether pixels must not be mixed before they get their colors, because mixed values would get the colors of other values. */
export function forbidsMixing(style: Style | null): boolean {
  if (style === null) return false;
  return style.bands.some(({ discrete }) => discrete) || style.functions.some(({ name }) => name === 'maskPixelValues');
}

/**
 * The color of transparent pixels, for encodings without alpha. A style with bands adds colors to black, so its transparent pixels
 * become black. In other pictures they become white.
 */
export function backgroundOf({ style }: Appearance): Rgba {
  const isMixed = style !== null && style.bands.length > 0 && !style.functions.some(({ name }) => name === 'maskPixelValues');
  return isMixed ? [0, 0, 0, 255] : [255, 255, 255, 255];
}
