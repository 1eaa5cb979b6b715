import { BadParameterError, eachWord, text } from '../../../larger-host.js';
import { fieldTerm } from './terms.js';

/** Limits of a search text. Each word is one more condition for the database. */
const maxCharacters = 2000;
const maxWords = 50;

/** A part of a search text: words that follow each other, of one field if `field` is not `null`. */
interface SearchPhrase {
  field: string | null;
  words: string[];
  /** Whether the last word may be the beginning of a longer one. */
  isOpen: boolean;
}

/** The parameter for {@link findFilter}. */
export const findText = text({
  description:
    'Only entries that have all these words in name, description, metadata or tags: `word` (also the beginning of one), ' +
    '`"exact phrase"`, `key:value`, `"long key":"long value"`.',
});

type Condition = Record<string, unknown>;

/**
 * The filter of a search text on models with the fields of `Findable`; without text, one that matches everything.
 *
 * @throws BadParameterError if the text is too long
 */
export function findFilter(search: string | undefined): { $and?: Condition[]; terms?: { $in: never[] } } {
  if (search === undefined || search.trim() === '') return {};
  if (search.length > maxCharacters) {
    throw new BadParameterError(`A search text may have at most ${maxCharacters} characters, not ${search.length}.`);
  }
  const phrases = phrasesOf(search);
  const count = phrases.reduce((sum, { words }) => sum + words.length, 0);
  if (count > maxWords) throw new BadParameterError(`A search text may have at most ${maxWords} words, not ${count}.`);
  const conditions = phrases.flatMap(conditionsOf);
  return conditions.length === 0 ? { terms: { $in: [] } } : { $and: conditions };
}

/** A field and a colon, if there are any, then a phrase in quotes, or a word. The last quote may be missing, because the user may still be typing. */
const part = /(?:("[^"]*"|[^\s":]+):)?(?:"([^"]*)("?)|([^\s"]+))/gu;

function phrasesOf(search: string): SearchPhrase[] {
  const phrases: SearchPhrase[] = [];
  for (const [, key, quoted, end, plain = ''] of search.matchAll(part)) {
    const name = key === undefined ? null : fieldTerm(key);
    // A tag is an entry of the list `tags`.
    const field = name === 'tag' ? 'tags' : name;
    const words = [...eachWord(quoted ?? plain)];
    if (words.length > 0) phrases.push({ field, words, isOpen: key === undefined && (quoted === undefined || end === '') });
  }
  return phrases;
}

/** Words consist of letters and digits, so they can be parts of regular expressions as they are. */
function conditionsOf({ field, words, isOpen }: SearchPhrase): Condition[] {
  const start = field === null ? '' : `${field}:`;
  const completeWords = isOpen ? words.slice(0, -1) : words;
  const conditions: Condition[] = completeWords.map((word) => ({ terms: `${start}${word}` }));
  if (isOpen) conditions.push({ terms: { $regex: `^${words.at(-1)!}` } });
  if (words.length > 1) {
    const line = field === null ? '' : `\n${field}:[^\n]*`;
    conditions.push({ phrases: { $regex: `${line} ${words.join(' ')}${isOpen ? '' : ' '}` } });
  }
  return conditions;
}
