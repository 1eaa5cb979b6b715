import { isSliceOver, nextSlice } from '../../core/concurrency/slices.js';
import { callerName } from '../../core/concurrency/queues.js';
import type { WorkQueue } from '../../core/concurrency/work-queue.js';
import { BadParameterError } from '../../errors.js';
import type { Caller, HostAccess, StoredDocument } from '../../host.js';
import type { ItemQueries } from './item-queries.model.js';
import { parseMetadataQuery } from './metadata-query.js';

/** A search in metadata. */
export interface MetadataSearchRequest {
  /** Words and `"quoted phrases"`, all of which must be found; `key:<name>` selects the fields to search. */
  query: string;
  /** The kinds of documents to search: `item`, `folder`, or both. Other values are refused. */
  types: readonly unknown[];
  /** Level that the caller needs on a document to find it. */
  level: 0 | 1 | 2;
  /** Maximum number of results of each type; 0 means all. */
  limit: number;
  /** Number of matches of each type to skip. */
  offset: number;
}

/** The documents that match, by type; an empty list if the query has fields but no words. */
export type MetadataSearchResult = Partial<Record<'item' | 'folder', StoredDocument[]>> | [];

/**
 * The search mode `li_metadata`, for the host's own search route. Metadata can have any fields, so no index helps: every document
 * that has metadata and that the caller can see is read and compared here. No part of the query reaches the database.
 */
export class MetadataSearch {
  constructor(
    private readonly queries: ItemQueries,
    private readonly access: HostAccess,
    private readonly queue: WorkQueue,
  ) {}

  /** @throws BadParameterError for types other than item and folder. */
  async search(request: MetadataSearchRequest, caller: Caller | null): Promise<MetadataSearchResult> {
    const types = [...new Set(request.types)].map((type) => {
      if (type === 'item' || type === 'folder') return type;
      throw new BadParameterError("The metadata search is only able to search in {'folder', 'item'}.");
    });
    const matches = parseMetadataQuery(request.query);
    if (matches === 'incomplete-key') return Object.fromEntries(types.map((type) => [type, []]));
    if (matches === 'no-phrases') return [];
    const result: Partial<Record<'item' | 'folder', StoredDocument[]>> = {};
    return this.queue.run(
      async () => {
        for (const type of types) result[type] = await this.#searchType(type, { ...request, matches }, caller);
        return result;
      },
      { caller: callerName(caller) },
    );
  }

  async #searchType(
    type: 'item' | 'folder',
    {
      matches,
      level,
      limit,
      offset,
    }: Omit<MetadataSearchRequest, 'query' | 'types'> & { matches: (metadata: unknown) => boolean },
    caller: Caller | null,
  ): Promise<StoredDocument[]> {
    const results: StoredDocument[] = [];
    let matchCount = 0;
    for await (const document of this.queries.iterateWithMetadata(type, await this.access.filter(caller, type, level))) {
      if (isSliceOver()) await nextSlice();
      if (!matches(document[this.queries.fieldNames[type].meta])) continue;
      if (matchCount++ < offset) continue;
      results.push(document);
      if (limit > 0 && results.length >= limit) break;
    }
    return results;
  }
}
