import { reprValue } from '../../configuration-text/python-value.js';
import { BadParameterError, LargeImageError } from '../../errors.js';

/** A number that key text shows with a fraction even when it is an integer, because `1.0` and `1` name different files. */
export class FloatValue {
  constructor(readonly value: number) {}
}

/** The text of an integer with more digits than a JavaScript number keeps. */
class LargeInteger {
  constructor(readonly digits: string) {}
}

/** Deepest nesting of a specification. */
const maxDepth = 64;

/** Longest list of specifications, in characters. */
const maxListLength = 64 * 1024;

/** Most entries of a list of specifications, because each of them is a query. */
const maxEntries = 1000;

/**
 * The text that names a cached file among those of its item: JSON with keys sorted at every depth, no blanks, everything beyond
 * ASCII as `\uXXXX`.
 *
 * @throws BadParameterError for values that are nested deeper than 64 levels.
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
 * The key of the file that a request makes: {@link canonicalText} without members that are null or undefined, or whose names
 * start with `_`, and without a `fill` of `none`.
 */
export function cachedFileKey(request: Readonly<Record<string, unknown>>): string {
  const counts = ([name, value]: [string, unknown]) =>
    value != null && !name.startsWith('_') && !(name === 'fill' && typeof value === 'string' && value.toLowerCase() === 'none');
  return canonicalText(Object.fromEntries(Object.entries(request).filter(counts)));
}

/** The key of the files that an entry of a list of specifications names; an entry that is no object names none. */
export function keyOfSpecification(entry: unknown): string {
  const isObject = typeof entry === 'object' && entry !== null && Object.getPrototypeOf(entry) === Object.prototype;
  return isObject ? cachedFileKey(entry as Record<string, unknown>) : canonicalText(entry);
}

/** The `imageKey` in a key; `null` for plain thumbnails, and for texts that are no keys. */
export function imageKeyOf(key: string): string | null {
  try {
    const { imageKey } = JSON.parse(key) as { imageKey?: unknown };
    return typeof imageKey === 'string' ? imageKey : null;
  } catch {
    return null;
  }
}

/**
 * A list of specifications from JSON text. Numbers stay as they were written, so that {@link canonicalText} of an entry is exact;
 * {@link plainValue} gives an entry in ordinary values.
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
    list = JSON.parse(text.replace(jsonTokens, markNumber), readMark);
  } catch (cause) {
    throw new BadParameterError('The spec parameter must be a JSON list.', { cause });
  }
  if (!Array.isArray(list)) throw new BadParameterError('The spec parameter must be a JSON list.');
  if (list.length > maxEntries) throw new BadParameterError(`The spec parameter must not have more than ${maxEntries} entries.`);
  return list;
}

/** Converts a parsed specification to ordinary JavaScript values. */
export function plainValue(value: unknown): unknown {
  if (value instanceof FloatValue) return value.value;
  if (value instanceof LargeInteger) return Number(value.digits);
  if (Array.isArray(value)) return value.map(plainValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plainValue(member)]));
}

/** Strings, which may hold anything, and numbers. */
const jsonTokens = /"(?:[^"\\]|\\.)*"?|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;
/** Prefix of the strings that represent numbers during parsing. Real strings with this prefix get another one. */
const mark = '\u0001';

function markNumber(token: string, offset: number, text: string): string {
  if (token.startsWith('"')) {
    // The name of a member is not passed to the reviver.
    const isName = () => /^\s*:/.test(text.slice(offset + token.length));
    return token.startsWith('"\\u0001') && !isName() ? `"\\u0001s${token.slice(1)}` : token;
  }
  const isInteger = /^-?\d+$/.test(token);
  return isInteger && Number.isSafeInteger(Number(token)) ? token : `"\\u0001n${token}"`;
}

function readMark(_name: string, value: unknown): unknown {
  if (typeof value !== 'string' || !value.startsWith(mark)) return value;
  const text = value.slice(2);
  if (value[1] === 's') return text;
  return /^-?\d+$/.test(text) ? new LargeInteger(text) : new FloatValue(Number(text));
}

/** A number with a fraction or an exponent: the shortest text that reads back as the same number. */
function floatText(value: number): string {
  if (Number.isFinite(value)) return reprValue({ type: 'float', value });
  return Number.isNaN(value) ? 'NaN' : `${value}`;
}

function asciiText(text: string): string {
  const escaped = JSON.stringify(text);
  return escaped.replace(/[\u007f-\uffff]/g, (unit) => {
    // DEL is ASCII and stays as it is.
    return unit === '\u007f' ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}

function compareByCodePoint(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}
