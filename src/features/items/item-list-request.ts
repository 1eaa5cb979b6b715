import { BadParameterError } from '../../errors.js';
import { findExpressionProblem } from './expression-check.js';

/** Fields and directions to sort by, the first being the most important. */
export type SortOrder = readonly (readonly [field: string, direction: 1 | -1])[];

/**
 * One pass of grouping. For each key in turn, the pass keeps only the first item with each value of the key. Then it adds counts
 * to the kept items.
 */
export interface GroupPass {
  keys: string[];
  /**
   * `source` and `target` are field paths. A kept item represents all items in the pass with the same value of the first key. Its
   * `target` field becomes the number of distinct values that these items have in their `source` field.
   */
  counts: { source: string; target: string }[];
}

/** The conditions in the search text of an item list, and the words after them. */
export interface ListConditions {
  /** Whether the list contains the items of subfolders too. */
  recurse: boolean;
  passes: GroupPass[];
  filter: Record<string, unknown> | null;
  /** The text after the conditions, for the host's own search by words. */
  words: string;
}

const recursePrefix = '_recurse_:';
const groupPrefix = '_group_:';
const filterPrefix = '_filter_:';
const countWord = '_count_';

const maxFilterCharacters = 64 * 1024;
const maxFilterDepth = 12;
/** Maximum number of fields and operators in a filter. Mongoose converts each of them. */
const maxFilterMembers = 1000;
const maxFilterValues = 20_000;
const maxGroupKeys = 20;
/** Maximum length of a sort order, in characters. */
const maxSortCharacters = 16 * 1024;
export const maxSortFields = 20;

/** Operators that only compare values. None of them runs code or reads other collections. */
const allowedOperators: ReadonlySet<string> = new Set(
  '$and $or $nor $not $regex $options $eq $ne $gt $gte $lt $lte $in $nin $exists $all $size $elemMatch'.split(' '),
);

/**
 * Whether a text is a field path such as `meta.stain`. A path must not contain operators, names that every JavaScript object has, or a
 * NUL character, which would end the name in the database.
 */
export function isFieldPath(path: string): boolean {
  const parts = path.split('.');
  const reservedNames = ['__proto__', 'constructor', 'prototype'];
  return (
    path.length <= 256 &&
    !path.includes('\0') &&
    parts.every((part) => part !== '' && !part.startsWith('$') && !reservedNames.includes(part))
  );
}

/**
 * Parses the conditions at the beginning of a search text.
 *
 * @returns `null` if the text has no conditions.
 * @throws BadParameterError for conditions that are not allowed.
 */
export function parseListText(text: string | undefined): ListConditions | null {
  let remainingText = text ?? '';
  const recurse = remainingText.startsWith(recursePrefix);
  if (recurse) remainingText = remainingText.slice(recursePrefix.length);
  let passes: GroupPass[] = [];
  const groupEnd = remainingText.startsWith(groupPrefix) ? remainingText.indexOf(':', groupPrefix.length) : -1;
  if (groupEnd >= 0) {
    passes = parsePasses(remainingText.slice(groupPrefix.length, groupEnd));
    remainingText = remainingText.slice(groupEnd + 1);
  }
  const filter = remainingText.startsWith(filterPrefix) ? parseFilter(remainingText.slice(filterPrefix.length)) : null;
  if (filter !== null) remainingText = '';
  if (!recurse && passes.length === 0 && filter === null) return null;
  return { recurse, passes, filter, words: remainingText };
}

function parsePasses(list: string): GroupPass[] {
  const words = list.split(',').map((word) => word.trim());
  const passes: GroupPass[] = [];
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    const lastPass = passes.at(-1);
    if (word === countWord) {
      const [source, target] = [words[i + 1], words[i + 2]];
      i += 2;
      // A count without its two names, or without a key before it, is ignored.
      if (source === undefined || target === undefined || lastPass === undefined) continue;
      lastPass.counts.push({ source: checkPath(source), target: checkPath(target) });
    } else if (word !== '') {
      if (lastPass === undefined || lastPass.counts.length > 0) passes.push({ keys: [checkPath(word)], counts: [] });
      else lastPass.keys.push(checkPath(word));
    }
  }
  if (passes.flatMap(({ keys, counts }) => [...keys, ...counts]).length > maxGroupKeys) {
    throw new BadParameterError(`Items can be grouped by at most ${maxGroupKeys} fields.`);
  }
  return passes;
}

function checkPath(path: string): string {
  if (!isFieldPath(path)) throw new BadParameterError(`Not a field to group by: ${path}`);
  return path;
}

/** Parses and checks a filter. @returns `null` if the text is not a JSON object; the text then counts as words. */
function parseFilter(text: string): Record<string, unknown> | null {
  if (text.length > maxFilterCharacters) {
    throw new BadParameterError(`A _filter_ may have at most ${maxFilterCharacters} characters.`);
  }
  let parsedFilter: unknown;
  try {
    parsedFilter = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof parsedFilter !== 'object' || parsedFilter === null || Array.isArray(parsedFilter)) return null;
  checkFilter(parsedFilter);
  return parsedFilter as Record<string, unknown>;
}

/**
 * Checks a filter from a client. A filter may be nested, but may only compare fields.
 *
 * @throws BadParameterError for names that are neither fields nor allowed operators.
 */
export function checkFilter(value: unknown): void {
  checkFilterValue(value, 0, { members: 0, values: 0 });
}

function checkFilterValue(value: unknown, depth: number, count: { members: number; values: number }): void {
  count.values += 1;
  if (depth > maxFilterDepth) throw new BadParameterError(`A _filter_ may be nested at most ${maxFilterDepth} deep.`);
  if (Array.isArray(value)) {
    for (const entry of value) checkFilterValue(entry, depth + 1, count);
    return;
  }
  if (typeof value === 'object' && value !== null) count.members += 1;
  if (count.members > maxFilterMembers || count.values > maxFilterValues) {
    throw new BadParameterError(
      `A _filter_ may have at most ${maxFilterMembers} conditions, and ${maxFilterValues} values to compare with.`,
    );
  }
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value)) {
    if (key.startsWith('$') ? !allowedOperators.has(key) : !isFieldPath(key)) {
      const allowedNames = [...allowedOperators].join(', ');
      throw new BadParameterError(`"${key}" is not allowed in a _filter_; allowed are fields and ${allowedNames}.`);
    }
    const problem = key === '$regex' ? findExpressionProblem(member) : null;
    if (problem !== null) throw new BadParameterError(`A $regex of a _filter_ ${problem}: ${String(member).slice(0, 200)}`);
    if (key === '$options' && !(typeof member === 'string' && /^[imsx]*$/.test(member))) {
      throw new BadParameterError('The $options of a regular expression are letters of "imsx".');
    }
    count.members += 1;
    checkFilterValue(member, depth + 1, count);
  }
}

/**
 * Parses the order of a list. The id is added as the last field, so that pages never overlap.
 *
 * @param sort a field, or a JSON list of fields and directions such as `[["meta.stain",1],["created",-1]]`.
 * @param direction applies if `sort` is a field.
 * @throws BadParameterError
 */
export function parseSortOrder(sort: string, direction: 1 | -1): SortOrder {
  const order = sort.startsWith('[') ? parseSortList(sort) : [[sort, direction] as const];
  for (const [field] of order) {
    if (!isFieldPath(field)) throw new BadParameterError(`Invalid value for parameter sort: ${field}.`);
  }
  if (order.some(([field]) => field === '_id')) return order;
  return [...order, ['_id', order.at(-1)?.[1] ?? direction]];
}

function parseSortList(text: string): (readonly [string, 1 | -1])[] {
  const invalidSortError = (cause?: unknown) =>
    new BadParameterError(`Parameter sort must be a field, or JSON such as [["name",1],["created",-1]]: ${text.slice(0, 200)}`, {
      cause,
    });
  if (text.length > maxSortCharacters) throw invalidSortError();
  let parsedList: unknown;
  try {
    parsedList = JSON.parse(text);
  } catch (cause) {
    throw invalidSortError(cause);
  }
  if (!Array.isArray(parsedList) || parsedList.length > maxSortFields) throw invalidSortError();
  return parsedList.map((entry: unknown) => {
    if (!Array.isArray(entry) || entry.length !== 2) throw invalidSortError();
    const [field, direction] = entry as unknown[];
    if (typeof field !== 'string' || (direction !== 1 && direction !== -1)) throw invalidSortError();
    return [field, direction] as const;
  });
}
