import { parse as parseQuery } from 'node:querystring';
import { BadParameterError } from '../../../errors.js';
import { attributeByTag, attributeOf } from '../format/dataset.js';

/** A condition on an attribute. */
export interface AttributeCondition {
  /** The tag of the attribute, preceded by the tags of the sequences that contain it. */
  path: readonly string[];
  /** Value representation of the attribute. */
  vr: string;
  /** Values, one of which the attribute must match. If the list is empty, everything matches. */
  values: readonly string[];
}

/** A search request. */
export interface SearchQuery {
  conditions: readonly AttributeCondition[];
  /** Tags of the attributes that results have in addition to the usual ones; `all` for all attributes. */
  include: ReadonlySet<string> | 'all';
  limit: number;
  offset: number;
  isFuzzy: boolean;
}

/** Default and maximum number of results in one response. */
export const maxResults = 1000;
/** Maximum number of conditions of a search, of values of a condition, and of characters of a value. */
const maxConditions = 100;
const maxValues = 1000;
const maxValueLength = 1024;

/** Query parameters that are not part of the search, because other code reads them. */
const ignoredNames = new Set(['token', 'access_token', 'accept', 'charset']);

/** Representations whose value can be a list of values. */
const listRepresentations: ReadonlySet<string> = new Set(['UI']);

/** Parses the query of a search. @throws BadParameterError for an invalid search. */
export function parseSearch(url: string): SearchQuery {
  const start = url.indexOf('?');
  const text = start < 0 ? '' : url.slice(start + 1);
  if (text.split('&', maxConditions + maxValues + 2).length > maxConditions + maxValues + 1) throw tooManyConditionsError();
  const parameters = Object.entries(parseQuery(text, '&', '=', { maxKeys: 0 })).map(([name, value]): [string, string[]] => [
    name,
    [value ?? ''].flat(),
  ]);
  const query: { -readonly [K in keyof SearchQuery]: SearchQuery[K] } = {
    conditions: [],
    include: new Set(),
    limit: maxResults,
    offset: 0,
    isFuzzy: false,
  };
  const conditions: AttributeCondition[] = [];
  for (const [name, values] of parameters) {
    const lowerName = name.toLowerCase();
    if (ignoredNames.has(lowerName)) continue;
    if (lowerName === 'limit') query.limit = Math.min(maxResults, parseCount(name, values));
    else if (lowerName === 'offset') query.offset = parseCount(name, values);
    else if (lowerName === 'fuzzymatching') query.isFuzzy = parseBoolean(name, values);
    else if (lowerName === 'includefield') query.include = parseIncludedFields(values);
    else conditions.push(parseCondition(name, values));
  }
  if (conditions.length > maxConditions) throw tooManyConditionsError();
  return { ...query, conditions };
}

function tooManyConditionsError(): BadParameterError {
  return new BadParameterError(`A search may have at most ${maxConditions} conditions, each with at most ${maxValues} values.`);
}

function parseCount(name: string, values: readonly string[]): number {
  const [value = ''] = values;
  if (values.length !== 1 || !/^\d{1,15}$/.test(value))
    throw new BadParameterError(`Parameter ${name} must be one whole number, 0 or more.`);
  return Number(value);
}

function parseBoolean(name: string, values: readonly string[]): boolean {
  const [value = ''] = values;
  if (values.length !== 1 || !/^(?:true|false)$/i.test(value))
    throw new BadParameterError(`Parameter ${name} must be true or false.`);
  return value.toLowerCase() === 'true';
}

function parseIncludedFields(values: readonly string[]): ReadonlySet<string> | 'all' {
  const names = values.flatMap((value) => value.split(',')).map((name) => name.trim());
  if (names.length > maxValues) throw new BadParameterError(`Parameter includefield can name at most ${maxValues} attributes.`);
  if (names.includes('all')) return 'all';
  return new Set(names.map((name) => parseAttributePath(name).path[0]!));
}

/** Finds an attribute by its keyword or tag. Dots separate the names of sequences and of the attribute in them. */
function parseAttributePath(name: string): { path: string[]; vr: string } {
  const parts = name.split('.');
  if (name.length > 200 || parts.length > 8) throw unknownAttributeError(name);
  const attributes = parts.map((part) => {
    if (/^[\dA-F]{8}$/i.test(part)) {
      const attribute = attributeByTag(part);
      return { tag: part.toUpperCase(), vr: attribute?.vr ?? 'UN' };
    }
    const attribute = attributeOf(part);
    if (attribute === null) throw unknownAttributeError(name);
    return attribute;
  });
  return { path: attributes.map(({ tag }) => tag), vr: attributes.at(-1)!.vr };
}

function unknownAttributeError(name: string): BadParameterError {
  const shortName = name.length > 60 ? `${name.slice(0, 60)}…` : name;
  return new BadParameterError(`"${shortName}" is neither a DICOM attribute nor a search parameter.`);
}

function parseCondition(name: string, parameterValues: readonly string[]): AttributeCondition {
  const { path, vr } = parseAttributePath(name);
  const values = listRepresentations.has(vr)
    ? parameterValues.flatMap((value) => value.split(/[,\\]/)).map((value) => value.trim())
    : parameterValues;
  if (values.length > maxValues) throw tooManyConditionsError();
  const tooLongValue = values.find((value) => value.length > maxValueLength);
  if (tooLongValue !== undefined) throw new BadParameterError(`A value of ${name} is longer than ${maxValueLength} characters.`);
  if (vr === 'UI') for (const value of values) checkUid(name, value);
  if (vr === 'DA' || vr === 'TM' || vr === 'DT') for (const value of values) checkDateOrTime(name, value);
  return { path, vr, values: values.some((value) => value === '' || value === '*') ? [] : values };
}

/** Checks a UID of a condition. Beyond the standard, it may end with an asterisk, which stands for any characters. */
function checkUid(name: string, value: string): void {
  if (value.length > 64 || !/^(?:[\d.]*\*?)$/.test(value))
    throw new BadParameterError(`A value of ${name} is not a UID: at most 64 digits and dots.`);
}

function checkDateOrTime(name: string, value: string): void {
  if (/^(?:\*|[\d.:+]*(?:-[\d.:+]*)?)$/.test(value)) return;
  throw new BadParameterError(`A value of ${name} is neither a date or time nor a range of them, such as 20240101-20241231.`);
}
