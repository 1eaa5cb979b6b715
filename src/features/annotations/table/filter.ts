import { BadParameterError } from '../../../errors.js';
import type { ColumnsByName, TableColumn } from './columns.js';

/** A value in the list of a condition. */
type FilterValue = string | number | boolean;

/** A checked filter, which selects elements. */
export type TableFilter =
  | { kind: 'number'; column: TableColumn; gte: number; lte: number; in: number[] | null }
  | { kind: 'values'; column: TableColumn; in: FilterValue[] }
  | { kind: 'null'; column: TableColumn; isNull: boolean }
  | { kind: 'box'; box: [left: number, top: number, right: number, bottom: number] }
  | { kind: 'polygon'; points: [x: number, y: number][] }
  | { kind: 'and' | 'or'; parts: TableFilter[] }
  | { kind: 'not'; part: TableFilter };

/** Maximum depth of nested conditions. */
const maxDepth = 8;
const maxConditions = 200;
/** Maximum number of values in all `in` together. */
const maxValues = 20_000;
/** Maximum number of points of all regions together. */
const maxPoints = 5000;

type Json = Record<string, unknown>;

function filterError(message: string): BadParameterError {
  return new BadParameterError(`filter: ${message}`);
}

/**
 * Checks a filter.
 *
 * @returns `null` if there is no filter, so that all elements are selected.
 * @throws BadParameterError that says which part is wrong.
 */
export function parseFilter(value: unknown, columnsByName: ColumnsByName): TableFilter | null {
  if (value === undefined || value === null) return null;
  return new FilterParser(columnsByName).parse(value, maxDepth);
}

class FilterParser {
  #conditionCount = 0;
  #valueCount = 0;
  #pointCount = 0;

  constructor(private readonly columnsByName: ColumnsByName) {}

  parse(value: unknown, remainingDepth: number): TableFilter {
    if (remainingDepth === 0) throw filterError(`conditions are nested deeper than ${maxDepth} levels.`);
    this.#conditionCount += 1;
    if (this.#conditionCount > maxConditions) throw filterError(`there are more than ${maxConditions} conditions.`);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw filterError('a condition must be an object.');
    const condition = value as Json;
    const keys = Object.keys(condition);
    const [firstKey] = keys;
    if (firstKey === 'and' || firstKey === 'or') {
      requireOnly(keys, [firstKey]);
      const parts = condition[firstKey];
      if (!Array.isArray(parts) || parts.length === 0) throw filterError(`${firstKey} must be a list of conditions.`);
      return { kind: firstKey, parts: (parts as unknown[]).map((part) => this.parse(part, remainingDepth - 1)) };
    }
    if (firstKey === 'not') {
      requireOnly(keys, [firstKey]);
      return { kind: 'not', part: this.parse(condition.not, remainingDepth - 1) };
    }
    if (firstKey === 'region') {
      requireOnly(keys, [firstKey]);
      return this.#parseRegion(condition.region);
    }
    if (!('column' in condition)) throw filterError('a condition must have one of column, region, and, or, not.');
    requireOnly(keys, ['column', 'gte', 'lte', 'in', 'null']);
    return this.#parseColumnCondition(condition);
  }

  #parseColumnCondition(condition: Json): TableFilter {
    if (typeof condition.column !== 'string') throw filterError('column must be the name of a column.');
    const column = this.columnsByName.find(condition.column);
    const name = JSON.stringify(column.name);
    const { gte, lte, in: list, null: isNull } = condition;
    const parts: TableFilter[] = [];
    if (isNull !== undefined) {
      if (typeof isNull !== 'boolean') throw filterError(`null of ${name} must be true or false.`);
      parts.push({ kind: 'null', column, isNull });
    }
    if (gte !== undefined || lte !== undefined) {
      if (column.type !== 'number') throw filterError(`gte and lte need a numeric column, which ${name} is not.`);
      const range = { gte: parseLimit(gte, -Infinity, `gte of ${name}`), lte: parseLimit(lte, Infinity, `lte of ${name}`) };
      parts.push({ kind: 'number', column, ...range, in: null });
    }
    if (list !== undefined) parts.push(this.#parseList(list, column));
    if (parts.length === 0) throw filterError(`the condition on ${name} has none of gte, lte, in, null.`);
    return parts.length === 1 ? parts[0]! : { kind: 'and', parts };
  }

  #parseList(list: unknown, column: TableColumn): TableFilter {
    const name = JSON.stringify(column.name);
    if (!Array.isArray(list)) throw filterError(`in of ${name} must be a list.`);
    this.#valueCount += list.length;
    if (this.#valueCount > maxValues) throw filterError(`there are more than ${maxValues} values in lists.`);
    const type = column.type === 'number' ? 'number' : column.type === 'boolean' ? 'boolean' : 'string';
    if ((list as unknown[]).some((value) => typeof value !== type)) {
      throw filterError(`in of ${name} must be a list of ${type === 'string' ? 'texts' : `${type}s`}.`);
    }
    if (type === 'number') return { kind: 'number', column, gte: -Infinity, lte: Infinity, in: list as number[] };
    return { kind: 'values', column, in: list as FilterValue[] };
  }

  #parseRegion(region: unknown): TableFilter {
    const regionMessage = 'region must be [left, top, right, bottom], or a list of at least 3 points [x, y].';
    if (!Array.isArray(region)) throw filterError(regionMessage);
    if (region.length === 4 && region.every((value) => typeof value === 'number' && Number.isFinite(value))) {
      return { kind: 'box', box: region as [number, number, number, number] };
    }
    this.#pointCount += region.length;
    if (this.#pointCount > maxPoints) throw filterError(`regions have more than ${maxPoints} points.`);
    const isPoint = (point: unknown) =>
      Array.isArray(point) && point.length === 2 && point.every((value) => typeof value === 'number' && Number.isFinite(value));
    if (region.length < 3 || !region.every(isPoint)) throw filterError(regionMessage);
    return { kind: 'polygon', points: region as [number, number][] };
  }
}

function parseLimit(value: unknown, defaultLimit: number, name: string): number {
  if (value === undefined) return defaultLimit;
  if (typeof value !== 'number' || !Number.isFinite(value)) throw filterError(`${name} must be a number.`);
  return value;
}

function requireOnly(keys: readonly string[], allowedKeys: readonly string[]): void {
  const unknownKey = keys.find((key) => !allowedKeys.includes(key));
  if (unknownKey === undefined) return;
  throw filterError(`${JSON.stringify(unknownKey.slice(0, 200))} is not allowed here; allowed: ${allowedKeys.join(', ')}.`);
}

/** The columns that a region needs if it is a box. */
const boxSources = ['xmin', 'ymin', 'xmax', 'ymax'];
/** The columns that a region needs if it is a polygon. */
const centerSources = ['x', 'y'];

/** Finds the columns whose values a filter needs. */
export function filterColumns(filter: TableFilter | null, columnsByName: ColumnsByName): TableColumn[] {
  if (filter === null) return [];
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.parts.flatMap((part) => filterColumns(part, columnsByName));
    case 'not':
      return filterColumns(filter.part, columnsByName);
    case 'box':
      return boxSources.map((name) => columnsByName.find(name));
    case 'polygon':
      return centerSources.map((name) => columnsByName.find(name));
    case 'number':
    case 'values':
    case 'null':
      return [filter.column];
  }
}

/** Returns the smallest and the largest number of a stored column, or `null` if it has no numbers. */
export type LimitsOf = (source: string) => { low: number; high: number } | null;

/** Whether a part of a table may have matching elements, judged by the limits of its numeric columns. */
export function mayMatch(filter: TableFilter | null, limitsOf: LimitsOf): boolean {
  if (filter === null) return true;
  switch (filter.kind) {
    case 'and':
      return filter.parts.every((part) => mayMatch(part, limitsOf));
    case 'or':
      return filter.parts.some((part) => mayMatch(part, limitsOf));
    case 'number': {
      const limits = limitsOf(filter.column.source);
      if (limits === null) return false;
      return filter.gte <= limits.high && filter.lte >= limits.low;
    }
    case 'box': {
      const [left, top, right, bottom] = filter.box;
      const mayOverlap = (source: string, low: number, high: number) => {
        const limits = limitsOf(source);
        return limits === null || (low <= limits.high && high >= limits.low);
      };
      return (
        mayOverlap('xmin', -Infinity, right) &&
        mayOverlap('xmax', left, Infinity) &&
        mayOverlap('ymin', -Infinity, bottom) &&
        mayOverlap('ymax', top, Infinity)
      );
    }
    case 'not':
    case 'polygon':
    case 'values':
    case 'null':
      return true;
  }
}
