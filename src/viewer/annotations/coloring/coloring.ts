import { combineFilters, type Cell, type ObjectFilter } from '../objects/object-requests.js';

/** How the shapes of an annotation are colored and filtered. */
export interface Coloring {
  /** column whose values color the shapes; `null` if the shapes have their own colors */
  by: string | null;
  /** `null` means the server's default */
  palette: string | null;
  /** the value at the lower end of the palette; `null` if the server chooses it. `high` is the value at the upper end */
  low: number | null;
  high: number | null;
  /** what the heat map of shapes that are too small to be drawn shows: their number, or the mean of the column `by`; `null` for no heat map */
  heat: 'number' | 'mean' | null;
  /** colors that the user has chosen for categories, or for groups if `by` is `null` */
  colors: readonly CategoryColor[];
  filter: ObjectFilter | null;
}

/** The color of a category, as `#rrggbb`. */
export type CategoryColor = readonly [value: Cell, color: string];

export const plainColoring: Coloring = { by: null, palette: null, low: null, high: null, heat: null, colors: [], filter: null };

/** Maximum length of the colors of categories in an address, in characters. */
const maxColorsLength = 3000;

/** Whether the colors of categories fit into the addresses of the server's tiles. */
export function fitsAddress(colors: readonly CategoryColor[]) {
  return encodeURIComponent(JSON.stringify(colors)).length <= maxColorsLength;
}

/** Returns the colors of categories, with a new color for one category. */
export function setCategoryColor(colors: readonly CategoryColor[], value: Cell, color: string): CategoryColor[] {
  return [...colors.filter(([otherValue]) => otherValue !== value), [value, color]];
}

/** Palettes of the server that the page offers. They are easy to read, and equal differences in value look equally large. */
export const palettes = ['viridis', 'magma', 'cividis', 'turbo', 'Blues', 'Reds', 'RdBu_r'] as const;

/** Whether shapes have their own colors, and all are shown. */
export function isPlain(coloring: Coloring) {
  return !needsLegend(coloring) && coloring.colors.length === 0;
}

/** Whether drawing the shapes in this coloring needs the server's legend. */
export function needsLegend({ by, heat, filter }: Coloring) {
  return by !== null || heat !== null || filter !== null;
}

/**
 * Applies changes to a coloring, and resets the parts that do not fit the changes.
 *
 * @param isNumber whether a column has numbers
 */
export function changeColoring(
  formerColoring: Coloring,
  changes: Partial<Coloring>,
  isNumber: (column: string | null) => boolean,
): Coloring {
  const newColoring = { ...formerColoring, ...changes };
  // A heat map of the count needs no column, and a heat map of the mean needs a column of numbers.
  if (changes.heat === 'number') newColoring.by = null;
  else if (newColoring.heat === 'number' && newColoring.by !== null) newColoring.heat = null;
  else if (newColoring.heat === 'mean' && !isNumber(newColoring.by)) newColoring.heat = null;
  return newColoring.heat === formerColoring.heat ? newColoring : { ...newColoring, low: null, high: null };
}

/** The query parameters for the server's tiles. */
export function coloringQuery({ by, palette, low, high, heat, colors, filter }: Coloring): Record<string, string | number> {
  const usesPalette = by !== null || heat !== null;
  return {
    ...(by !== null && { colorBy: by }),
    ...(usesPalette && palette !== null && { palette }),
    ...(usesPalette && low !== null && { low }),
    ...(usesPalette && high !== null && { high }),
    ...(heat !== null && { heat }),
    ...(colors.length > 0 && { colors: JSON.stringify(colors) }),
    ...(filter !== null && { filter: JSON.stringify(filter) }),
  };
}

/** Colorings of several annotations for an address; `null` if all are plain. */
export function writeColorings(colorings: Iterable<readonly [id: string, coloring: Coloring]>): string | null {
  const changedColorings = [...colorings].filter(([, coloring]) => !isPlain(coloring));
  if (changedColorings.length === 0) return null;
  const isUsed = (value: unknown) => value !== null && !(Array.isArray(value) && value.length === 0);
  const removeUnused = (coloring: Coloring) => Object.fromEntries(Object.entries(coloring).filter(([, value]) => isUsed(value)));
  return JSON.stringify(Object.fromEntries(changedColorings.map(([id, coloring]) => [id, removeUnused(coloring)])));
}

/** Reads colorings from an address. Invalid parts are ignored. */
export function readColorings(text: string | null): Map<string, Coloring> {
  const colorings: Map<string, Coloring> = new Map();
  for (const [id, entry] of Object.entries(toObject(parseJson(text)))) {
    const { by, palette, low, high, heat, colors, filter } = toObject(entry);
    colorings.set(id, {
      by: typeof by === 'string' ? by : null,
      palette: typeof palette === 'string' ? palette : null,
      low: typeof low === 'number' ? low : null,
      high: typeof high === 'number' ? high : null,
      heat: heat === 'number' || heat === 'mean' ? heat : null,
      colors: readColors(colors),
      filter: readFilter(filter),
    });
  }
  return colorings;
}

function parseJson(text: string | null): unknown {
  try {
    return JSON.parse(text ?? '{}');
  } catch {
    return {};
  }
}

function toObject(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function readColors(value: unknown): CategoryColor[] {
  if (!Array.isArray(value)) return [];
  const colors = value.filter((pair: unknown): pair is CategoryColor => {
    const [category, color] = Array.isArray(pair) ? (pair as unknown[]) : [];
    const isCategory = category === null || typeof category === 'string' || typeof category === 'boolean';
    return isCategory && typeof color === 'string' && /^#[\da-f]{6}$/i.test(color);
  });
  return fitsAddress(colors) ? colors : [];
}

/** Reads a filter of ranges and categories. Filters of the table have no other conditions. */
function readFilter(value: unknown): ObjectFilter | null {
  const { and } = toObject(value);
  if (Array.isArray(and)) return combineFilters(...and.map(readFilter));
  const { column, gte, lte, in: listedValues } = toObject(value);
  if (typeof column !== 'string') return null;
  const isCell = (cell: unknown): cell is Cell => cell === null || ['string', 'number', 'boolean'].includes(typeof cell);
  const condition = {
    column,
    ...(typeof gte === 'number' && { gte }),
    ...(typeof lte === 'number' && { lte }),
    ...(Array.isArray(listedValues) && { in: listedValues.filter(isCell) }),
  };
  return Object.keys(condition).length > 1 ? condition : null;
}

/** The conditions on columns in a filter, without conditions on a region. */
export function columnConditions(filter: ObjectFilter | null) {
  const parts = filter === null ? [] : 'and' in filter ? filter.and : [filter];
  return parts.flatMap((part) => ('column' in part ? [part] : []));
}
