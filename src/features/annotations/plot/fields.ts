import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';

/** A value that can be plotted. */
export type PlotValue = string | number | boolean;

/** The place of a plottable value in a dictionary. */
export interface PlotField {
  /** Names from the top level down, in their original letter case. */
  path: readonly string[];
  /** Key of the column: the names in lower case, separated by dots, with `0` at the level of a list. */
  key: string;
  /** Index of the value in its list; -1 if there is no list. */
  index: number;
}

/** Values that belong to one row: the values of one object, or the values at the same index of its lists. */
export interface PlotGroup {
  /** See {@link PlotField.index}. */
  index: number;
  values: { field: PlotField; value: PlotValue }[];
}

function isValue(value: unknown): value is PlotValue {
  return typeof value === 'string' || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Maximum number of entries that are read from a list. */
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
 * Collects the plottable values of a dictionary (metadata, attributes or `user`). Values and lists of values may be at the paths `a` and
 * `a.b`. Objects in a list at `a` may contain values. Deeper values are ignored.
 */
export async function collectPlotGroups(dictionary: unknown, signal: AbortSignal): Promise<PlotGroup[]> {
  if (!isObject(dictionary)) return [];
  const groups = new PlotGroups();
  for (const [name, value] of Object.entries(dictionary)) {
    if (isSliceOver()) await nextSlice(signal);
    await addValue(groups, '', [name], value, signal);
    if (isObject(value)) {
      for (const [innerName, innerValue] of Object.entries(value)) {
        await addValue(groups, name, [name, innerName], innerValue, signal);
      }
    } else if (Array.isArray(value)) {
      for (const [index, entry] of (value as unknown[]).slice(0, maxListLength).entries()) {
        if (isSliceOver()) await nextSlice(signal);
        if (!isObject(entry)) continue;
        for (const [innerName, innerValue] of Object.entries(entry)) {
          if (isValue(innerValue)) groups.add(name, fieldOf([name, innerName], index, 1), innerValue);
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

/** Makes a field. @param listLevel number of names before the list, or `null` if there is no list. */
function fieldOf(path: readonly string[], index: number, listLevel: number | null): PlotField {
  const parts = listLevel === null ? path : [...path.slice(0, listLevel), '0', ...path.slice(listLevel)];
  return { path, key: `data.${parts.join('.')}`.toLowerCase(), index };
}

/** Makes the field of a cell in a file. Each column counts as a list, so `index` is the row. */
export function csvField(name: string, index: number): PlotField {
  return fieldOf([name], index, 1);
}
