import type { Rgba } from '../color.js';
import type { Style } from '../style/parse.js';

/** How samples are shown: with or without a style, and with or without color correction. */
export interface Appearance {
  /** `null` for no style. */
  style: Style | null;
  correctsColors: boolean;
  /** Whether the caller does not need alpha. A picture that is opaque everywhere can then be returned without it. */
  mayDropAlpha?: boolean;
}

/** Samples as returned by the source. */
export const asStored: Appearance = { style: null, correctsColors: false };

/** Whether colors represent values, so that mixing pixels before coloring would show values that the image does not contain. */
export function forbidsMixing(style: Style | null): boolean {
  if (style === null) return false;
  return style.bands.some(({ discrete }) => discrete) || style.functions.some(({ name }) => name === 'maskPixelValues');
}

/**
 * The color of transparent pixels, for encodings without alpha. Bands of a style are added to black, so pixels without a value are
 * black; pictures with alpha are made for white paper.
 */
export function backgroundOf({ style }: Appearance): Rgba {
  const isMixed = style !== null && style.bands.length > 0 && !style.functions.some(({ name }) => name === 'maskPixelValues');
  return isMixed ? [0, 0, 0, 255] : [255, 255, 255, 255];
}
