import { BadParameterError } from '../errors.js';
import type { Caller, HostAccess, StoredDocument } from '../host.js';
import type { ItemQueries } from '../models/item-queries.js';

/** What is searched for (administration.md, section 14). */
export interface MetadataSearchRequest {
  /** Words and `"quoted phrases"`, all of which must be found; `key:<name>` names the fields they are looked for in. */
  query: string;
  /** Models: item, folder. */
  types: readonly unknown[];
  /** Level that the caller must have on what is found. */
  level: 0 | 1 | 2;
  /** For each type; 0: all. */
  limit: number;
  offset: number;
}

/** Documents of the host's models by type; a bare empty list when the query names fields and nothing to look for. */
export type MetadataSearchResult = Partial<Record<'item' | 'folder', StoredDocument[]>> | [];

const keyPrefix = 'key:';
const maxPhrases = 50;

/**
 * The search mode `li_metadata`, for the host's own search route. Metadata have any fields, so no index helps: everything that the caller
 * may see and that has metadata is read, one document at a time, and compared here; nothing of the query reaches the database.
 */
export class MetadataSearch {
  constructor(
    private readonly queries: ItemQueries,
    private readonly access: HostAccess,
  ) {}

  /** @throws BadParameterError for other types than item and folder. */
  async search(request: MetadataSearchRequest, caller: Caller | null): Promise<MetadataSearchResult> {
    const types = [...new Set(request.types)].map((type) => {
      if (type === 'item' || type === 'folder') return type;
      throw new BadParameterError("The metadata search is only able to search in {'folder', 'item'}.");
    });
    const query = request.query.trim();
    const nothing = () => Object.fromEntries(types.map((type) => [type, []]));
    // Somebody is still typing the first word.
    if (keyPrefix.startsWith(query)) return nothing();
    const words = splitQuery(query);
    const fields = words.filter((word) => word.startsWith(keyPrefix)).map((word) => word.slice(keyPrefix.length));
    const phrases = [...new Set(words.filter((word) => !word.startsWith(keyPrefix)))].map(matcherOf);
    if (phrases.length === 0) return [];
    if (phrases.length > maxPhrases) throw new BadParameterError(`A search may have at most ${maxPhrases} phrases.`);
    const result: Partial<Record<'item' | 'folder', StoredDocument[]>> = {};
    for (const type of types) result[type] = await this.#searchOne(type, { fields, phrases, ...request }, caller);
    return result;
  }

  async #searchOne(
    type: 'item' | 'folder',
    {
      fields,
      phrases,
      level,
      limit,
      offset,
    }: Omit<MetadataSearchRequest, 'query' | 'types'> & { fields: readonly string[]; phrases: readonly Matcher[] },
    caller: Caller | null,
  ): Promise<StoredDocument[]> {
    const found: StoredDocument[] = [];
    let passed = 0;
    for await (const document of this.queries.withMetadata(type, await this.access.filter(caller, type, level))) {
      const values = valuesOf(document[this.queries.names[type].meta], fields);
      if (!phrases.every((matches) => values.some(matches))) continue;
      if (passed++ < offset) continue;
      found.push(document);
      if (limit > 0 && found.length >= limit) break;
    }
    return found;
  }
}

type Matcher = (value: unknown) => boolean;

/** Words at blanks; quotes of either kind keep blanks together. */
function splitQuery(query: string): string[] {
  const words: string[] = [];
  for (const match of query.matchAll(/(?:[^\s"']+|"[^"]*"?|'[^']*'?)+/g)) {
    const word = match[0].replace(/"([^"]*)"?|'([^']*)'?/g, (_, double?: string, single?: string) => double ?? single ?? '');
    if (word !== '') words.push(word);
  }
  return words;
}

/** Texts that contain the phrase in any case; numbers from the phrase up to its next last digit. */
function matcherOf(phrase: string): Matcher {
  const lower = phrase.toLowerCase();
  const range = rangeOf(phrase);
  return (value) => {
    if (typeof value === 'string') return value.toLowerCase().includes(lower);
    return typeof value === 'number' && range !== null && range(value);
  };
}

function rangeOf(phrase: string): ((value: number) => boolean) | null {
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(phrase)) return null;
  const number = Number(phrase);
  if (!Number.isFinite(number)) return null;
  const unit = lastDigitUnit(phrase);
  return (value) =>
    value === number ||
    (number > 0 && value >= number && value < number + unit) ||
    (number < 0 && value <= number && value > number - unit);
}

/** What one of the last significant digit is worth: of 5 one, of 120 ten, of 1.25 a hundredth. */
function lastDigitUnit(phrase: string): number {
  const [mantissa = '', exponent = '0'] = phrase.toLowerCase().split('e');
  const [whole = '', decimals = ''] = mantissa.split('.');
  const zeros = decimals === '' ? (/0*$/.exec(whole)?.[0].length ?? 0) : -decimals.length;
  return 10 ** (zeros + Number(exponent));
}

/** Values of the named fields, or of all at the top; of a list its entries. */
function valuesOf(meta: unknown, fields: readonly string[]): unknown[] {
  if (typeof meta !== 'object' || meta === null) return [];
  const found = fields.length === 0 ? Object.values(meta) : fields.flatMap((field) => atPath(meta, field.split('.')));
  return found.flatMap((value: unknown) => (Array.isArray(value) ? (value as unknown[]) : [value]));
}

function atPath(value: unknown, path: readonly string[]): unknown[] {
  if (path.length === 0) return [value];
  if (Array.isArray(value)) return value.flatMap((entry: unknown) => atPath(entry, path));
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, path[0]!)) return [];
  return atPath((value as Record<string, unknown>)[path[0]!], path.slice(1));
}
