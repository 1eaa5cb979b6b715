import { BadParameterError } from '../../../../errors.js';
import { tryParseColor } from '../../../../tilesource/color.js';
import { interpolateColor, parsePalette } from '../../../../tilesource/style/palette.js';
import type { Cell } from '../../table/block.js';
import { colorNumber, splitColor } from '../draw/colors.js';
import type { GroupColors } from '../draw/shape.js';

/** The parameters of a request that color and filter shapes. */
export interface ColoringRequest {
  /** Name of a column. */
  colorBy?: string | undefined;
  palette?: string | undefined;
  low?: number | undefined;
  high?: number | undefined;
  /** Pairs of a category and its color. Without `colorBy`, categories are groups, and other groups keep their own colors. */
  colors?: readonly unknown[] | undefined;
  filter?: Record<string, unknown> | undefined;
  heat?: 'number' | 'mean' | undefined;
}

/** Whether a request needs a {@link Coloring}. A request that only chooses colors of groups needs none. */
export function needsColoring({ colorBy, filter, heat }: ColoringRequest): boolean {
  return colorBy !== undefined || filter !== undefined || heat !== undefined;
}

const defaultPalette = 'viridis';

/** Number of colors that are taken from a palette. */
const paletteSteps = 256;

/** Maximum number of categories whose colors a request can choose. */
const maxColors = 1000;

/** Returns equally spaced colors of a palette, as numbers. @throws BadParameterError for an unknown palette. */
export function paletteColors(name = defaultPalette): Int32Array {
  let palette;
  try {
    palette = parsePalette(name);
  } catch (cause) {
    throw new BadParameterError(`palette: there is no palette named ${JSON.stringify(name.slice(0, 200))}.`, { cause });
  }
  return Int32Array.from({ length: paletteSteps }, (_, i) => colorNumber(interpolateColor(palette, i / (paletteSteps - 1))));
}

/** Parses the colors of categories. @throws BadParameterError */
export function categoryColors(pairs: readonly unknown[] = []): Map<Cell, number> {
  const formatMessage = 'colors must be a JSON list of pairs of a category and a color, such as [["tumor", "#d62728"]].';
  if (pairs.length > maxColors) throw new BadParameterError(`colors: there are more than ${maxColors} pairs.`);
  return new Map(
    pairs.map((pair): [Cell, number] => {
      if (!Array.isArray(pair) || pair.length !== 2) throw new BadParameterError(formatMessage);
      const [value, text] = pair as [unknown, unknown];
      const color = typeof text === 'string' ? tryParseColor(text) : null;
      if (color === null || (value !== null && typeof value !== 'string' && typeof value !== 'boolean')) {
        throw new BadParameterError(formatMessage);
      }
      return [value, colorNumber(color)];
    }),
  );
}

/** Converts the colors of categories that are groups. */
export function toGroupColors(colors: ReadonlyMap<Cell, number>): GroupColors {
  return new Map(Array.from(colors, ([group, color]) => [group as string | null, splitColor(color)]));
}

/** Parses the colors that a request without `colorBy` chooses for groups. With `colorBy`, there are none. @throws BadParameterError */
export function requestedGroupColors({ colorBy, colors }: ColoringRequest = {}): GroupColors {
  return toGroupColors(colorBy === undefined ? categoryColors(colors) : new Map());
}
