import { BadParameterError } from '../../../errors.js';
import type { Caller, HostAccess, StoredDocument } from '../../../host.js';
import { batches } from '../../../core/database/id-batches.js';
import type { HostRecords } from '../../../core/host/host-records.js';
import type { ItemRecord } from '../../../core/host/records.js';
import type { AnnotationServices } from '../annotation-services.js';
import { parseMetadataQuery } from '../../items/metadata-query.js';
import type { MetadataSearchRequest } from '../../items/metadata-search.js';

/** Items looked up together. */
const itemsPerBatch = 200;

/**
 * The search mode `li_annotation_metadata`, for the host's own search route: items with annotations whose attributes hold what is searched
 * for. The caller must be allowed to read the annotation and the item. One annotation is looked at after the other, as no index knows
 * attributes of any name; nothing of the query reaches the database.
 */
export class AnnotationMetadataSearch {
  constructor(
    private readonly annotations: Pick<AnnotationServices, 'lists' | 'permissions'>,
    private readonly records: HostRecords,
    private readonly access: HostAccess,
  ) {}

  /** Items, each once, by the age of the first annotation that fits. @throws BadParameterError for other types than item. */
  async search(request: MetadataSearchRequest, caller: Caller | null): Promise<{ item: StoredDocument[] } | []> {
    const types = new Set(request.types);
    if (types.size !== 1 || !types.has('item')) {
      throw new BadParameterError("The metadata search is only able to search in ['item'].");
    }
    const matches = parseMetadataQuery(request.query);
    if (matches === 'unfinished') return { item: [] };
    if (matches === 'empty') return [];
    const { limit, offset } = request;
    const found: StoredDocument[] = [];
    let passed = 0;
    for await (const item of this.#readable(this.#itemIds(matches, caller), request.level, caller)) {
      if (passed++ < offset) continue;
      found.push(item.doc);
      if (limit > 0 && found.length >= limit) break;
    }
    return { item: found };
  }

  /** Items of annotations that fit, each once. */
  async *#itemIds(matches: (metadata: unknown) => boolean, caller: Caller | null): AsyncGenerator<string> {
    const { lists, permissions } = this.annotations;
    const seen = new Set<string>();
    for await (const { itemId, head } of lists.all({ ...(await permissions.permitted(caller, 0)), withAttributes: true })) {
      if (seen.has(itemId) || !matches(head.attributes)) continue;
      seen.add(itemId);
      yield itemId;
    }
  }

  async *#readable(ids: AsyncIterable<string>, level: 0 | 1 | 2, caller: Caller | null): AsyncGenerator<ItemRecord> {
    const filter = await this.access.filter(caller, 'item', level);
    let waiting: string[] = [];
    const matchWaiting = async () => {
      const items: ItemRecord[] = [];
      for (const part of batches(waiting)) {
        const byId = new Map((await this.records.findItems(part, filter)).map((item) => [item.id, item]));
        items.push(...part.flatMap((id) => byId.get(id) ?? []));
      }
      waiting = [];
      return items;
    };
    for await (const id of ids) {
      waiting.push(id);
      if (waiting.length >= itemsPerBatch) yield* await matchWaiting();
    }
    yield* await matchWaiting();
  }
}
