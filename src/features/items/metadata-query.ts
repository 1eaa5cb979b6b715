import { BadParameterError } from '../../errors.js';

const keyPrefix = 'key:';
/** Maximum number of phrases in a search. The same limit applies to the number of fields. */
const maxPhrasesOrFields = 50;
/** Maximum length of the text of a search, in characters. */
const maxCharacters = 16 * 1024;

/**
 * A function that tells whether metadata match. If there is nothing to search for, it is the reason instead: `incomplete-key` for
 * a text that is empty or a beginning of `key:`, and `no-phrases` for a text that has fields but no phrase.
 */
export type MetadataQuery = ((metadata: unknown) => boolean) | 'incomplete-key' | 'no-phrases';

/**
 * Parses a metadata search. It consists of words and quoted phrases, and metadata must contain all of them to match. Each
 * `key:<name>` selects a field to search. Without it, all fields are searched.
 *
 * @throws BadParameterError if the text is too long, or has too many phrases or fields.
 */
export function parseMetadataQuery(text: string): MetadataQuery {
  if (text.length > maxCharacters) throw new BadParameterError(`A search may have at most ${maxCharacters} characters.`);
  const query = text.trim();
  if (keyPrefix.startsWith(query)) return 'incomplete-key';
  const words = splitQuery(query);
  const fieldNames = words.filter((word) => word.startsWith(keyPrefix)).map((word) => word.slice(keyPrefix.length));
  const fields = [...new Set(fieldNames)];
  const phraseMatchers = [...new Set(words.filter((word) => !word.startsWith(keyPrefix)))].map(matcherOf);
  if (phraseMatchers.length === 0) return 'no-phrases';
  if (phraseMatchers.length > maxPhrasesOrFields)
    throw new BadParameterError(`A search may have at most ${maxPhrasesOrFields} phrases.`);
  if (fields.length > maxPhrasesOrFields) throw new BadParameterError(`A search may name at most ${maxPhrasesOrFields} fields.`);
  return (metadata) => {
    const values = valuesOf(metadata, fields).map((value) => (typeof value === 'string' ? value.toLowerCase() : value));
    return phraseMatchers.every((matches) => values.some(matches));
  };
}

type Matcher = (value: unknown) => boolean;

/** Splits a text into words and phrases. A phrase is in single or double quotes and may contain blanks. */
function splitQuery(query: string): string[] {
  const words: string[] = [];
  for (const match of query.matchAll(/(?:[^\s"']+|"[^"]*"?|'[^']*'?)+/g)) {
    const word = match[0].replace(/"([^"]*)"?|'([^']*)'?/g, (_, double?: string, single?: string) => double ?? single ?? '');
    if (word !== '') words.push(word);
  }
  return words;
}

/**
 * Makes a function that tells whether a value matches a phrase. The function expects texts in lower case; a text matches if it
 * contains the phrase. A number matches with the precision of the phrase: `1.2` matches numbers from 1.2 to below 1.3, and `120`
 * from 120 to below 130.
 */
function matcherOf(phrase: string): Matcher {
  const lowerCasePhrase = phrase.toLowerCase();
  const matchesNumber = numberMatcherOf(phrase);
  return (value) => {
    if (typeof value === 'string') return value.includes(lowerCasePhrase);
    return typeof value === 'number' && matchesNumber !== null && matchesNumber(value);
  };
}

function numberMatcherOf(phrase: string): ((value: number) => boolean) | null {
  if (!/^[-+]?(\d+(?:\.\d*)?|\.\d+)(e[-+]?\d+)?$/i.test(phrase)) return null;
  const number = Number(phrase);
  if (!Number.isFinite(number)) return null;
  const unit = lastDigitUnit(phrase);
  return (value) =>
    value === number ||
    (number > 0 && value >= number && value < number + unit) ||
    (number < 0 && value <= number && value > number - unit);
}

/** The value of one unit of the last significant digit: 1 for 5, 10 for 120, 0.01 for 1.25. */
function lastDigitUnit(phrase: string): number {
  const [mantissa = '', exponent = '0'] = phrase.toLowerCase().split('e');
  const [integral = '', decimals = ''] = mantissa.split('.');
  const zeros = decimals === '' ? (/(?<!0)0+$/.exec(integral)?.[0].length ?? 0) : -decimals.length;
  return 10 ** (zeros + Number(exponent));
}

/** Values of the named fields, or of all top-level fields. Lists are replaced by their entries. */
function valuesOf(metadata: unknown, fields: readonly string[]): unknown[] {
  if (typeof metadata !== 'object' || metadata === null) return [];
  const values =
    fields.length === 0 ? Object.values(metadata) : fields.flatMap((field) => valuesAtPath(metadata, field.split('.')));
  return values.flatMap((value: unknown) => (Array.isArray(value) ? (value as unknown[]) : [value]));
}

function valuesAtPath(value: unknown, path: readonly string[]): unknown[] {
  if (path.length === 0) return [value];
  if (Array.isArray(value)) return value.flatMap((entry: unknown) => valuesAtPath(entry, path));
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, path[0]!)) return [];
  return valuesAtPath((value as Record<string, unknown>)[path[0]!], path.slice(1));
}
