import { describeValue } from './messages.js';
import type { AnnotationElement } from './schema/document.js';
import type { GridDataElement } from './schema/griddata.js';
import type { HeatmapElement } from './schema/heatmap.js';

/** Maximum nesting depth of objects and lists in `user` and `attributes`. `user` and `attributes` themselves are level 1. */
const maxFreeFormDepth = 64;
/** Maximum number of keys of an object in `user` or `attributes`. Larger objects are slow to read and write. */
const maxFreeFormKeys = 10_000;

/** The message for a broken rule: the property and the problem, such as `.values: must have …`. */
export type BrokenRule = string;

/**
 * Checks free-form data: its depth, its numbers of keys, and that its numbers are finite. The key `__proto__` is refused, because it could
 * set a prototype when the data are merged or copied. All other keys are allowed, including `$where` and `constructor`.
 *
 * @returns the problem, or `null`.
 */
export function checkFreeForm(value: unknown, path: string, depth = 1): BrokenRule | null {
  if (typeof value === 'number') {
    return Number.isFinite(value) ? null : `${path}: must be a finite number, not ${value}`;
  }
  if (typeof value !== 'object' || value === null) return null;
  if (depth > maxFreeFormDepth) return `${freeFormRoot(path)}: must not be nested deeper than ${maxFreeFormDepth} levels`;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i += 1) {
      const entry: unknown = value[i];
      // The path is only built for entries that can have a problem.
      if (typeof entry !== 'object' && typeof entry !== 'number') continue;
      if (typeof entry === 'number' && Number.isFinite(entry)) continue;
      const brokenRule = checkFreeForm(entry, `${path}[${i}]`, depth + 1);
      if (brokenRule !== null) return brokenRule;
    }
    return null;
  }
  const keys = Object.keys(value);
  if (keys.length > maxFreeFormKeys) return `${path}: must not have more than ${maxFreeFormKeys} keys, but has ${keys.length}`;
  for (const key of keys) {
    if (key === '__proto__') return `${path}: must not have a key "__proto__"`;
    const entry = (value as Record<string, unknown>)[key];
    if (typeof entry !== 'object' && typeof entry !== 'number') continue;
    if (typeof entry === 'number' && Number.isFinite(entry)) continue;
    const brokenRule = checkFreeForm(entry, `${path}.${key.slice(0, 40)}`, depth + 1);
    if (brokenRule !== null) return brokenRule;
  }
  return null;
}

function freeFormRoot(path: string): string {
  return path.split(/[.[]/).find((part) => part !== '') === 'attributes' ? 'attributes' : '.user';
}

function checkRange(element: HeatmapElement | GridDataElement): BrokenRule | null {
  const { rangeValues, colorRange } = element;
  if (rangeValues === undefined) return null;
  let rises = false;
  let falls = false;
  for (let i = 1; i < rangeValues.length; i += 1) {
    const step = (rangeValues[i] as number) - (rangeValues[i - 1] as number);
    rises ||= step > 0;
    falls ||= step < 0;
    if (rises && falls) return `.rangeValues: must be weakly monotonic, but changes direction at entry ${i}`;
  }
  if (colorRange === undefined) return null;
  const isStepped = element.type === 'griddata' && element.interpretation === 'contour' && element.stepped === true;
  const expectedCount = colorRange.length + (isStepped ? 1 : 0);
  if (rangeValues.length === expectedCount) return null;
  const rule = isStepped ? 'one entry more than colorRange (stepped contour)' : 'one entry for each color of colorRange';
  return `.rangeValues: must have ${rule}, that is ${expectedCount}, not ${rangeValues.length}`;
}

function checkGrid(element: GridDataElement): BrokenRule | null {
  const { values, gridWidth } = element;
  if (values.length % gridWidth === 0) return null;
  return `.values: must have a multiple of gridWidth (${gridWidth}) entries, not ${describeValue(values.length)}`;
}

/**
 * Checks the rules that JSON Schema cannot express, on an element that fits its schema.
 *
 * @returns the problem, or `null`.
 */
export function checkRules(element: AnnotationElement): BrokenRule | null {
  if (element.user !== undefined) {
    const brokenRule = checkFreeForm(element.user, '.user');
    if (brokenRule !== null) return brokenRule;
  }
  switch (element.type) {
    case 'griddata':
      return checkGrid(element) ?? checkRange(element);
    case 'heatmap':
      return checkRange(element);
    default:
      return null;
  }
}
