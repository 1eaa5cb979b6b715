import { BadParameterError } from '../../../../errors.js';
import { tryParseColor } from '../../../../tilesource/color.js';
import { interpolateColor, parsePalette } from '../../../../tilesource/style/palette.js';
import type { Cell } from '../../table/block.js';
import { colorNumber, splitColor } from '../draw/colors.js';
import type { GroupColors } from '../draw/shape.js';

/** How shapes are colored and filtered, as in a request. */
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

/** Whether a request needs a {@link Coloring}. Colors of groups alone need none. */
export function needsColoring({ colorBy, filter, heat }: ColoringRequest): boolean {
  return colorBy !== undefined || filter !== undefined || heat !== undefined;
}

const defaultPalette = 'viridis';

/** Number of colors of a palette, from one end of a range to the other. */
const paletteSteps = 256;

/** Maximum number of categories whose colors a request can choose. */
const maxColors = 1000;

/** Equally spaced colors of a palette, as numbers. @throws BadParameterError */
export function paletteColors(name = defaultPalette): Int32Array {
  let palette;
  try {
    palette = parsePalette(name);
  } catch (cause) {
    throw new BadParameterError(`palette: there is no palette named ${JSON.stringify(name.slice(0, 200))}.`, { cause });
  }
  return Int32Array.from({ length: paletteSteps }, (_, i) => colorNumber(interpolateColor(palette, i / (paletteSteps - 1))));
}

/** Colors by category. @throws BadParameterError */
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

/** Colors by group, if the categories are groups. */
export function toGroupColors(colors: ReadonlyMap<Cell, number>): GroupColors {
  return new Map(Array.from(colors, ([group, color]) => [group as string | null, splitColor(color)]));
}

/** The colors that a request without `colorBy` chooses for groups. Other groups keep the colors of their shapes. @throws BadParameterError */
export function requestedGroupColors({ colorBy, colors }: ColoringRequest = {}): GroupColors {
  return toGroupColors(colorBy === undefined ? categoryColors(colors) : new Map());
}
