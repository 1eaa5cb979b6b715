import { BadParameterError } from '../../../../errors.js';
import type { Caller, HostAccess, StoredDocument } from '../../../../host.js';
import { batches } from '../../../../core/database/id-batches.js';
import type { HostRecords } from '../../../../core/host/host-records.js';
import type { ItemRecord } from '../../../../core/host/records.js';
import type { AnnotationServices } from '../../annotation-services.js';
import { parseMetadataQuery } from '../../../items/metadata-query.js';
import type { MetadataSearchRequest } from '../../../items/metadata-search.js';

/** Number of items in one query. */
const itemsPerBatch = 200;

/**
 * The search mode `li_annotation_metadata` of the host's search route. It finds items with annotations whose attributes match, if the caller may
 * read both annotation and item. All annotations with attributes are read, because attributes can have any name, which no index supports.
 * The text of the search is never sent to the database.
 */
export class AnnotationMetadataSearch {
  constructor(
    private readonly annotations: Pick<AnnotationServices, 'lists' | 'permissions'>,
    private readonly records: HostRecords,
    private readonly access: HostAccess,
  ) {}

  /**
   * Finds the items, without duplicates, in the order of their oldest matching annotations.
   *
   * @throws BadParameterError for types other than `item`.
   */
  async search(request: MetadataSearchRequest, caller: Caller | null): Promise<{ item: StoredDocument[] } | []> {
    const types = new Set(request.types);
    if (types.size !== 1 || !types.has('item')) {
      throw new BadParameterError("The metadata search is only able to search in ['item'].");
    }
    const matcher = parseMetadataQuery(request.query);
    if (matcher === 'incomplete-key') return { item: [] };
    if (matcher === 'no-phrases') return [];
    const { limit, offset } = request;
    const docs: StoredDocument[] = [];
    let matchCount = 0;
    for await (const item of this.#loadPermittedItems(this.#findItemIds(matcher, caller), request.level, caller)) {
      if (matchCount++ < offset) continue;
      docs.push(item.doc);
      if (limit > 0 && docs.length >= limit) break;
    }
    return { item: docs };
  }

  /** Finds the ids of the items of matching annotations, without duplicates. */
  async *#findItemIds(matcher: (metadata: unknown) => boolean, caller: Caller | null): AsyncGenerator<string> {
    const { lists, permissions } = this.annotations;
    const seenItemIds = new Set<string>();
    for await (const { itemId, head } of lists.listAll({
      ...(await permissions.createPermittedFilter(caller, 0)),
      withAttributes: true,
    })) {
      if (seenItemIds.has(itemId) || !matcher(head.attributes)) continue;
      seenItemIds.add(itemId);
      yield itemId;
    }
  }

  async *#loadPermittedItems(ids: AsyncIterable<string>, level: 0 | 1 | 2, caller: Caller | null): AsyncGenerator<ItemRecord> {
    const filter = await this.access.filter(caller, 'item', level);
    let pendingIds: string[] = [];
    const readPending = async () => {
      const items: ItemRecord[] = [];
      for (const part of batches(pendingIds)) {
        const byId = new Map((await this.records.findItems(part, filter)).map((item) => [item.id, item]));
        items.push(...part.flatMap((id) => byId.get(id) ?? []));
      }
      pendingIds = [];
      return items;
    };
    for await (const id of ids) {
      pendingIds.push(id);
      if (pendingIds.length >= itemsPerBatch) yield* await readPending();
    }
    yield* await readPending();
  }
}
