import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';

/** A value that can be plotted. */
export type PlotValue = string | number | boolean;

/** A plottable value in a dictionary. */
export interface PlotField {
  /** Names from the top level down, as written. */
  path: readonly string[];
  /** Key of the column: names in lower case, with `.0` at the level of a list. */
  key: string;
  /** Position of the value in its list; -1 if there is no list. */
  index: number;
}

/** Values that are plotted together: the values of one object, or the values at the same index of its lists. */
export interface PlotGroup {
  index: number;
  values: { field: PlotField; value: PlotValue }[];
}

function isValue(value: unknown): value is PlotValue {
  return typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Maximum number of entries of a list to read. */
const maxListLength = 100_000;

class PlotGroups {
  readonly #groups = new Map<string, PlotGroup>();

  add(parent: string, field: PlotField, value: PlotValue): void {
    const groupKey = `${field.index} ${parent}`;
    let group = this.#groups.get(groupKey);
    if (group === undefined) this.#groups.set(groupKey, (group = { index: field.index, values: [] }));
    group.values.push({ field, value });
  }

  all(): PlotGroup[] {
    return [...this.#groups.values()];
  }
}

/**
 * The plottable values of a dictionary (metadata, attributes, `user`). These are values at `a` and `a.b`, lists of values there, and
 * values of objects in a list at `a`. Anything deeper is ignored.
 */
export async function collectPlotGroups(dictionary: unknown, signal: AbortSignal): Promise<PlotGroup[]> {
  if (!isObject(dictionary)) return [];
  const groups = new PlotGroups();
  for (const [name, value] of Object.entries(dictionary)) {
    if (isSliceOver()) await nextSlice(signal);
    await addValue(groups, '', [name], value, signal);
    if (isObject(value)) {
      for (const [inner, innerValue] of Object.entries(value)) await addValue(groups, name, [name, inner], innerValue, signal);
    } else if (Array.isArray(value)) {
      for (const [index, entry] of (value as unknown[]).slice(0, maxListLength).entries()) {
        if (isSliceOver()) await nextSlice(signal);
        if (!isObject(entry)) continue;
        for (const [inner, innerValue] of Object.entries(entry)) {
          if (isValue(innerValue)) groups.add(name, fieldOf([name, inner], index, 1), innerValue);
        }
      }
    }
  }
  return groups.all();
}

/** Adds a value, or the values of a list. */
async function addValue(
  groups: PlotGroups,
  parent: string,
  path: readonly string[],
  value: unknown,
  signal: AbortSignal,
): Promise<void> {
  if (isValue(value)) groups.add(parent, fieldOf(path, -1, null), value);
  else if (Array.isArray(value)) {
    for (const [index, entry] of (value as unknown[]).slice(0, maxListLength).entries()) {
      if (isSliceOver()) await nextSlice(signal);
      if (isValue(entry)) groups.add(parent, fieldOf(path, index, path.length), entry);
    }
  }
}

/** @param listLevel number of names before the list; `null` if there is none. */
function fieldOf(path: readonly string[], index: number, listLevel: number | null): PlotField {
  const parts = listLevel === null ? path : [...path.slice(0, listLevel), '0', ...path.slice(listLevel)];
  return { path, key: `data.${parts.join('.')}`.toLowerCase(), index };
}

/** The field of a cell of a table. Each column counts as a list; `index` is the row. */
export function csvField(name: string, index: number): PlotField {
  return fieldOf([name], index, 1);
}
