import { BadParameterError, eachWord, text } from '../../../larger-host.js';
import { normalizeFieldName } from './terms.js';

/** Largest length of a search text, in characters. */
const maxCharacters = 2000;
/** Maximum number of words in a search text. Each word adds a condition to the query. */
const maxWords = 50;

/** A part of a search text: words that must follow each other in a document. If `field` is not `null`, they must be in that field. */
interface SearchPhrase {
  field: string | null;
  words: string[];
  /** Whether the last word may be the beginning of a longer one. */
  isLastWordOpen: boolean;
}

/** The parameter for {@link createFindFilter}. */
export const findTextParameter = text({
  description:
    'Only entries that have all these words in name, description, metadata or tags: `word` (also the beginning of one), ' +
    '`"exact phrase"`, `key:value`, `"long key":"long value"`.',
});

type Condition = Record<string, unknown>;

/**
 * Creates a filter for models with {@link SearchFields}. It matches the documents with all words of a search text. An empty text matches
 * everything.
 *
 * @throws BadParameterError if the text is too long
 */
export function createFindFilter(searchText: string | undefined): { $and?: Condition[]; terms?: { $in: never[] } } {
  if (searchText === undefined || searchText.trim() === '') return {};
  if (searchText.length > maxCharacters) {
    throw new BadParameterError(`A search text may have at most ${maxCharacters} characters, not ${searchText.length}.`);
  }
  const phrases = parsePhrases(searchText);
  const wordCount = phrases.reduce((sum, { words }) => sum + words.length, 0);
  if (wordCount > maxWords) throw new BadParameterError(`A search text may have at most ${maxWords} words, not ${wordCount}.`);
  const conditions = phrases.flatMap(toConditions);
  return conditions.length === 0 ? { terms: { $in: [] } } : { $and: conditions };
}

/** An optional field with a colon, then a phrase in quotes or a word. The last quote may be missing, because the user may still be typing. */
const phrasePattern = /(?:("[^"]*"|[^\s":]+):)?(?:"([^"]*)("?)|([^\s"]+))/gu;

function parsePhrases(searchText: string): SearchPhrase[] {
  const phrases: SearchPhrase[] = [];
  for (const [, key, quotedText, closingQuote, word = ''] of searchText.matchAll(phrasePattern)) {
    const fieldName = key === undefined ? null : normalizeFieldName(key);
    // A tag is an entry of the list `tags`.
    const field = fieldName === 'tag' ? 'tags' : fieldName;
    const words = [...eachWord(quotedText ?? word)];
    if (words.length > 0)
      phrases.push({ field, words, isLastWordOpen: key === undefined && (quotedText === undefined || closingQuote === '') });
  }
  return phrases;
}

/** The conditions for a phrase. Words consist of letters and digits, so they need no escaping in regular expressions. */
function toConditions({ field, words, isLastWordOpen }: SearchPhrase): Condition[] {
  const fieldPrefix = field === null ? '' : `${field}:`;
  const completeWords = isLastWordOpen ? words.slice(0, -1) : words;
  const conditions: Condition[] = completeWords.map((word) => ({ terms: `${fieldPrefix}${word}` }));
  if (isLastWordOpen) conditions.push({ terms: { $regex: `^${words.at(-1)!}` } });
  if (words.length > 1) {
    const linePrefix = field === null ? '' : `\n${field}:[^\n]*`;
    conditions.push({ phrases: { $regex: `${linePrefix} ${words.join(' ')}${isLastWordOpen ? '' : ' '}` } });
  }
  return conditions;
}
