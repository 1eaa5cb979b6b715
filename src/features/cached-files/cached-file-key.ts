import { reprValue } from '../../configuration-text/python-value.js';
import { BadParameterError, LargeImageError } from '../../errors.js';

/** A number that keys show with a fraction even if it is an integer. Keys with `1.0` and with `1` belong to different files. */
export class FloatValue {
  constructor(readonly value: number) {}
}

/** The text of an integer with more digits than a JavaScript number can hold. */
class LargeInteger {
  constructor(readonly digits: string) {}
}

/** Maximum depth to which a specification is nested. */
const maxDepth = 64;

/** Maximum length of a list of specifications, in characters. */
const maxListLength = 64 * 1024;

/** Maximum number of specifications in a list, because each of them costs a query. */
const maxEntries = 1000;

/**
 * The text that identifies a cached file among those of its item: JSON with keys sorted at every depth, no blanks, and non-ASCII
 * characters as `\uXXXX`.
 *
 * @throws BadParameterError for values with more than 64 levels.
 */
export function canonicalText(value: unknown, depth = 0): string {
  if (depth > maxDepth) throw new BadParameterError(`A specification must not be nested deeper than ${maxDepth} levels.`);
  if (value instanceof FloatValue) return floatText(value.value);
  if (value instanceof LargeInteger) return value.digits;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : floatText(value);
  if (typeof value === 'string') return asciiText(value);
  if (Array.isArray(value)) return `[${value.map((entry) => canonicalText(entry, depth + 1)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  members.sort(([left], [right]) => compareByCodePoint(left, right));
  return `{${members.map(([name, member]) => `${asciiText(name)}:${canonicalText(member, depth + 1)}`).join(',')}}`;
}

/**
 * The key of the file for a request: {@link canonicalText} without members that are null or undefined, or whose names start with
 * `_`, and without a `fill` of `none`.
 */
export function cachedFileKey(request: Readonly<Record<string, unknown>>): string {
  const isPartOfKey = ([name, value]: [string, unknown]) =>
    value != null && !name.startsWith('_') && !(name === 'fill' && typeof value === 'string' && value.toLowerCase() === 'none');
  return canonicalText(Object.fromEntries(Object.entries(request).filter(isPartOfKey)));
}

/** The key of the file for an entry of a list of specifications. An entry that is not an object matches no file. */
export function keyOfSpecification(entry: unknown): string {
  const isObject = typeof entry === 'object' && entry !== null && Object.getPrototypeOf(entry) === Object.prototype;
  return isObject ? cachedFileKey(entry as Record<string, unknown>) : canonicalText(entry);
}

/** The `imageKey` in a key; `null` for plain thumbnails, and for texts that are not keys. */
export function imageKeyOf(key: string): string | null {
  try {
    const { imageKey } = JSON.parse(key) as { imageKey?: unknown };
    return typeof imageKey === 'string' ? imageKey : null;
  } catch {
    return null;
  }
}

/**
 * Parses a list of specifications. Numbers keep their spelling, so that {@link canonicalText} of an entry is exact; {@link
 * toPlainValue} converts an entry to ordinary values.
 *
 * @throws BadParameterError `The spec parameter must be a JSON list.`
 */
export function parseSpecList(text: string): unknown[] {
  if (text.length > maxListLength) {
    throw new LargeImageError('too-large', `The spec parameter must not be longer than ${maxListLength} characters.`);
  }
  let list: unknown;
  try {
    JSON.parse(text);
    list = JSON.parse(text.replace(jsonTokens, markNumber), removeMark);
  } catch (cause) {
    throw new BadParameterError('The spec parameter must be a JSON list.', { cause });
  }
  if (!Array.isArray(list)) throw new BadParameterError('The spec parameter must be a JSON list.');
  if (list.length > maxEntries) throw new BadParameterError(`The spec parameter must not have more than ${maxEntries} entries.`);
  return list;
}

/** Converts a parsed specification to ordinary JavaScript values. */
export function toPlainValue(value: unknown): unknown {
  if (value instanceof FloatValue) return value.value;
  if (value instanceof LargeInteger) return Number(value.digits);
  if (Array.isArray(value)) return value.map(toPlainValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toPlainValue(member)]));
}

/** Matches numbers, and also strings, so that digits in strings are not taken for numbers. */
const jsonTokens = /"(?:[^"\\]|\\.)*"?|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;
/** Prefix of the strings that represent numbers during parsing. Real strings that begin with it are marked, too. */
const mark = '\u0001';

function markNumber(token: string, offset: number, text: string): string {
  if (token.startsWith('"')) {
    // Names of members are not marked, because the reviver cannot change them back.
    const isName = () => /^\s*:/.test(text.slice(offset + token.length));
    return token.startsWith('"\\u0001') && !isName() ? `"\\u0001s${token.slice(1)}` : token;
  }
  const isInteger = /^-?\d+$/.test(token);
  return isInteger && Number.isSafeInteger(Number(token)) ? token : `"\\u0001n${token}"`;
}

function removeMark(_name: string, value: unknown): unknown {
  if (typeof value !== 'string' || !value.startsWith(mark)) return value;
  const text = value.slice(2);
  if (value[1] === 's') return text;
  return /^-?\d+$/.test(text) ? new LargeInteger(text) : new FloatValue(Number(text));
}

/** The shortest text that has a fraction or an exponent and reads back as the same number. */
function floatText(value: number): string {
  if (Number.isFinite(value)) return reprValue({ type: 'float', value });
  return Number.isNaN(value) ? 'NaN' : `${value}`;
}

function asciiText(text: string): string {
  const escapedText = JSON.stringify(text);
  return escapedText.replace(/[\u0080-\uffff]/g, (codeUnit) => `\\u${codeUnit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function compareByCodePoint(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}
