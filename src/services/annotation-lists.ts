import type { Caller, HostAccess } from '../host.js';
import type { AnnotationFilter, AnnotationPaging, AnnotationRecord } from '../models/annotation-record.js';
import { batches, searchWords } from '../models/annotation.js';
import type { ItemRecord } from '../models/host-records.js';
import type { AnnotationsOptions } from './annotation-writer.js';
import { AccessDeniedError, UnknownIdError } from '../errors.js';

/** Which annotations a list shows. */
export interface AnnotationSearch {
  itemId?: string | undefined;
  creatorId?: string | undefined;
  name?: string | undefined;
  /** Words of name or description. */
  text?: string | undefined;
}

/** Lists of annotations as a caller may see them. */
export class AnnotationLists {
  constructor(
    private readonly options: AnnotationsOptions,
    private readonly access: HostAccess,
  ) {}

  /** Active annotations that the caller may read, a page of them, and how many there are. */
  async find(
    search: AnnotationSearch,
    paging: AnnotationPaging,
    caller: Caller | null,
  ): Promise<{ annotations: AnnotationRecord[]; total: number }> {
    const { permissions } = this.options;
    const { itemId, creatorId, name, text } = search;
    if (creatorId !== undefined && !(await permissions.userExists(creatorId))) throw new UnknownIdError('user', creatorId);
    const filter: AnnotationFilter = {
      ...(await permissions.permitted(caller, 0)),
      ...(itemId !== undefined && { itemIds: [itemId] }),
      ...(creatorId !== undefined && { creatorId }),
      ...(name !== undefined && name !== '' && { name }),
      ...(text !== undefined && text.trim() !== '' && { words: searchWords(text) }),
    };
    return this.#page(filter, paging);
  }

  async #page(filter: AnnotationFilter, paging: AnnotationPaging) {
    const { model } = this.options;
    const annotations: AnnotationRecord[] = [];
    for await (const annotation of model.list(filter, paging)) annotations.push(annotation);
    return { annotations, total: await model.count(filter) };
  }

  /** The active annotations of an item that the caller may read, oldest first; one is held at a time. */
  async *ofItem(itemId: string, caller: Caller | null, level: 0 | 1 | 2 = 0): AsyncGenerator<AnnotationRecord> {
    const permitted = await this.options.permissions.permitted(caller, level);
    yield* this.options.model.list({ ...permitted, itemIds: [itemId] }, { limit: 0, offset: 0, sort: [['_id', 1]] });
  }

  /** How many active annotations an item has, whoever may see them. */
  async countOf(itemId: string): Promise<number> {
    return this.options.model.count({ itemIds: [itemId] });
  }

  /**
   * Number of active, readable annotations of each item, and the items that image and pixelmap elements of active, readable
   * annotations show.
   *
   * @throws UnknownIdError, AccessDeniedError when an item is not there or not for the caller.
   */
  async counts(itemIds: readonly string[], caller: Caller | null) {
    const { model, permissions, records } = this.options;
    const filter = await this.access.filter(caller, 'item', 0);
    for (const part of batches(itemIds)) {
      const readable = new Set((await records.findItems(part, filter)).map(({ id }) => id));
      const missing = part.find((id) => !readable.has(id));
      if (missing === undefined) continue;
      const item = await records.findItem(missing);
      if (item === null) throw new UnknownIdError('item', missing);
      throw new AccessDeniedError(`Read access denied for folder ${item.folderId} (user ${caller?.id ?? 'None'}).`);
    }
    const permitted = await permissions.permitted(caller, 0);
    const counts = await model.countByItem({ ...permitted, itemIds });
    const referenced = await model.referencedItems(permitted, itemIds);
    return { counts, referenced };
  }

  /** Items with active annotations that the caller may read, a page of them, and how many there are. */
  async images(
    query: { creatorId?: string | undefined; imageName?: string | undefined },
    paging: { limit: number; offset: number; sort: string; direction: 1 | -1 },
    caller: Caller | null,
  ): Promise<{ items: ItemRecord[]; total: number }> {
    const { model, permissions, records } = this.options;
    const { creatorId, imageName } = query;
    if (creatorId !== undefined && !(await permissions.userExists(creatorId))) throw new UnknownIdError('user', creatorId);
    const permitted = await permissions.permitted(caller, 0);
    const ids = await model.itemIds(
      { ...permitted, ...(creatorId !== undefined && { creatorId }) },
      paging.sort,
      paging.direction,
    );
    const filter = await this.access.filter(caller, 'item', 0);
    const matches = nameMatcher(imageName ?? '');
    const end = paging.limit === 0 ? Infinity : paging.offset + paging.limit;
    const items: ItemRecord[] = [];
    let total = 0;
    for (const part of batches(ids)) {
      const found = new Map((await records.findItems(part, filter)).map((item) => [item.id, item]));
      for (const id of part) {
        const item = found.get(id);
        if (item === undefined || !matches(item.name)) continue;
        if (total >= paging.offset && total < end) items.push(item);
        total += 1;
      }
    }
    return { items, total };
  }

  /** What lists of a folder are about: annotations of its items that the caller administers by their lists. */
  async inFolder(folderId: string, recurse: boolean, caller: Caller | null): Promise<AnnotationFilter> {
    const { permissions, records } = this.options;
    const permitted = await permissions.permitted(caller, 2, { byListOnly: true });
    return { ...permitted, itemIds: await records.itemIdsIn(folderId, { recurse }) };
  }

  /** A page of a folder's list, and how many there are. */
  async folderPage(filter: AnnotationFilter, paging: AnnotationPaging) {
    return this.#page(filter, paging);
  }

  /** All annotations that fit, one held at a time. */
  all(filter: AnnotationFilter): AsyncGenerator<AnnotationRecord> {
    return this.options.model.list(filter, { limit: 0, offset: 0, sort: [['_id', 1]] });
  }
}

/** Whether the name, or a word in it, begins with a text; in any case. */
function nameMatcher(start: string): (name: string) => boolean {
  const wanted = start.trim().toLowerCase();
  if (wanted === '') return () => true;
  return (name) => {
    const lower = name.toLowerCase();
    return lower.startsWith(wanted) || lower.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(wanted));
  };
}
