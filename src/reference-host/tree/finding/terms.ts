import { eachWord } from '../../../larger-host.js';

/** Fields of documents that searches compare with, as {@link computeSearchFields} computes them. */
export interface SearchFields {
  /** Each word of the document, also in the form `field:word`. The database indexes these texts. */
  terms: string[];
  /** The words in order, a line for each value (`field: one two `), for phrases. */
  phrases: string;
}

/** The parts of a document that can be found. */
interface SearchedDocument {
  name: string;
  description?: string | null | undefined;
  meta?: Record<string, unknown> | undefined;
}

/** Maximum number of terms of one document. Searches do not find metadata beyond this number. */
const maxTerms = 2000;
/** Largest length of the phrases of one document, in characters. Searches do not find metadata beyond this length. */
const maxPhrasesLength = 32 * 1024;
/** Largest length of the name of a field in terms, in characters. */
const maxFieldLength = 64;

/** The name of a field as terms contain it: its words, separated by spaces. */
export function normalizeFieldName(path: string): string {
  return [...eachWord(path)].join(' ').slice(0, maxFieldLength);
}

/** Computes the search fields of a document. */
export function computeSearchFields({ name, description, meta }: SearchedDocument): SearchFields {
  const terms = new Set<string>();
  let phrases = '\n';
  for (const [path, text] of eachValue({ name, description }, meta ?? {})) {
    const field = normalizeFieldName(path);
    if (path !== 'name' && path !== 'description') for (const word of field.split(' ')) terms.add(word);
    phrases += `${field}: `;
    for (const word of eachWord(text)) {
      terms.add(word).add(`${field}:${word}`);
      phrases += `${word} `;
      if (terms.size >= maxTerms || phrases.length >= maxPhrasesLength) return { terms: [...terms].slice(0, maxTerms), phrases };
    }
    phrases += '\n';
  }
  terms.delete('');
  return { terms: [...terms], phrases };
}

/** The single values in documents, with the paths of their fields. Members of lists have the path of the list. */
function* eachValue(...documents: object[]): Generator<[path: string, text: string]> {
  for (const document of documents) for (const [key, value] of Object.entries(document)) yield* eachValueIn(key, value);
}

function* eachValueIn(path: string, value: unknown): Generator<[path: string, text: string]> {
  if (value === null || value === undefined) return;
  if (value instanceof Date) yield [path, value.toISOString()];
  else if (Array.isArray(value)) for (const member of value) yield* eachValueIn(path, member);
  else if (typeof value === 'object') {
    for (const [key, member] of Object.entries(value)) yield* eachValueIn(`${path}.${key}`, member);
  } else if (typeof value === 'string') yield [path, value];
  else if (typeof value === 'number' || typeof value === 'boolean') yield [path, String(value)];
}
