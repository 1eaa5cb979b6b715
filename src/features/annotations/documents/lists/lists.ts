import type { Caller, HostAccess } from '../../../../host.js';
import type { AnnotationFilter, AnnotationPaging, AnnotationRecord } from '../annotation-record.js';
import { compareKeys, type AnnotationKey } from '../annotation-order.js';
import { searchWords } from '../annotation-documents.model.js';
import { batches } from '../../../../core/database/id-batches.js';
import type { ItemRecord } from '../../../../core/host/records.js';
import type { AnnotationDependencies } from '../annotation-dependencies.js';
import { LevelDeniedError, UnknownIdError } from '../../../../errors.js';

/** Conditions of a search for annotations. */
export interface AnnotationSearch {
  itemId?: string | undefined;
  creatorId?: string | undefined;
  name?: string | undefined;
  /** Words in the name or description. */
  text?: string | undefined;
}

/** A search in a folder for annotations that the caller administers. */
export interface FolderSearch {
  folderId: string;
  /** Whether to include annotations in subfolders. */
  recurse: boolean;
  caller: Caller | null;
}

/** A page of a list. */
export interface AnnotationPage {
  /** The annotations, which are read as they are consumed. */
  annotations: AsyncIterable<AnnotationRecord>;
  /** Number of annotations on all pages. */
  total: number;
}

/** Lists of the annotations that a caller may see. */
export class AnnotationLists {
  constructor(
    private readonly options: AnnotationDependencies,
    private readonly access: HostAccess,
  ) {}

  /** Finds a page of the active annotations that the caller may read. */
  async findPage(search: AnnotationSearch, paging: AnnotationPaging, caller: Caller | null): Promise<AnnotationPage> {
    const { permissions, model } = this.options;
    const { itemId, creatorId, name, text } = search;
    if (creatorId !== undefined) await permissions.requireUser(creatorId, caller);
    const filter: AnnotationFilter = {
      ...(await permissions.createPermittedFilter(caller, 0)),
      ...(itemId !== undefined && { itemIds: [itemId] }),
      ...(creatorId !== undefined && { creatorId }),
      ...(name !== undefined && name !== '' && { name }),
      ...(text !== undefined && text.trim() !== '' && { words: searchWords(text) }),
    };
    return { annotations: model.list(filter, paging), total: await model.count(filter) };
  }

  /** Lists a page of the deleted annotations of an item that the caller may change, and can therefore restore. */
  async listDeleted(itemId: string, paging: AnnotationPaging, caller: Caller | null): Promise<AnnotationPage> {
    const { permissions, model } = this.options;
    const filter: AnnotationFilter = {
      ...(await permissions.createPermittedFilter(caller, 1)),
      itemIds: [itemId],
      active: false,
    };
    return { annotations: model.list(filter, paging), total: await model.count(filter) };
  }

  /**
   * Lists the active annotations of an item that the caller may read, oldest first. One batch is in memory at a time. Ids are read first, so
   * that no cursor of the database stays open while the annotations are consumed, which may take hours.
   *
   * @param ids lists only these annotations. Default: all.
   */
  async *listInItem(itemId: string, caller: Caller | null, ids?: ReadonlySet<string>): AsyncGenerator<AnnotationRecord> {
    const { model, permissions } = this.options;
    const filter = { ...(await permissions.createPermittedFilter(caller, 0)), itemIds: [itemId] };
    const keys = (await model.findKeys(filter, [['_id', 1]], 0)).filter(({ id }) => ids?.has(id) ?? true);
    for await (const annotation of model.findByIds(keys.map(({ id }) => id))) if (annotation.active) yield annotation;
  }

  /**
   * Counts the active annotations of each item, and finds the items to which image and pixelmap elements of annotations refer.
   * Annotations that the caller may not read are left out.
   *
   * @throws UnknownIdError, AccessDeniedError if an item does not exist or the caller may not read it.
   */
  async countWithReferences(itemIds: readonly string[], caller: Caller | null) {
    const { model, permissions, records } = this.options;
    const filter = await this.access.filter(caller, 'item', 0);
    for (const batch of batches(itemIds)) {
      const readableIds = new Set((await records.findItems(batch, filter)).map(({ id }) => id));
      const unreadableId = batch.find((id) => !readableIds.has(id));
      if (unreadableId === undefined) continue;
      const item = await records.findItem(unreadableId);
      if (item === null) throw new UnknownIdError('item', unreadableId);
      throw new LevelDeniedError(0, `folder ${item.folderId}`, caller?.id);
    }
    const counts = await this.countReadableByItem(itemIds, caller);
    const referenced = await model.filterReferencedItems(await permissions.createPermittedFilter(caller, 0), itemIds);
    return { counts, referenced };
  }

  /** Counts the active annotations of each item that the caller may read. Access to the items is not checked. */
  async countReadableByItem(itemIds: readonly string[], caller: Caller | null): Promise<Map<string, number>> {
    const { model, permissions } = this.options;
    return model.countByItem({ ...(await permissions.createPermittedFilter(caller, 0)), itemIds });
  }

  /**
   * Reads the state of an item's annotations for a caller: how many the caller may read, change and administer, and their newest version
   * number. Each change of the list changes the state.
   */
  async readState(itemId: string, caller: Caller | null) {
    const { annotations, total } = await this.findPage({ itemId }, { limit: 1, offset: 0, sort: [['_version', -1]] }, caller);
    let version: number | null = null;
    for await (const newest of annotations) version = newest.version;
    const countAtLevel = async (level: 1 | 2) =>
      total === 0
        ? 0
        : this.options.model.count({
            ...(await this.options.permissions.createPermittedFilter(caller, level)),
            itemIds: [itemId],
          });
    return { total, version, writable: await countAtLevel(1), administered: await countAtLevel(2) };
  }

  /**
   * Lists a page of the items that have active annotations. Items and annotations that the caller may not read are left out.
   *
   * @returns `total`: the number of items on all pages.
   */
  async listImages(
    query: { creatorId?: string | undefined; imageName?: string | undefined },
    paging: { limit: number; offset: number; sort: string; direction: 1 | -1 },
    caller: Caller | null,
  ): Promise<{ items: ItemRecord[]; total: number }> {
    const { model, permissions, records } = this.options;
    const { creatorId, imageName } = query;
    if (creatorId !== undefined) await permissions.requireUser(creatorId, caller);
    const permitted = await permissions.createPermittedFilter(caller, 0);
    const idBatches = model.listItemIds(
      { ...permitted, ...(creatorId !== undefined && { creatorId }) },
      paging.sort,
      paging.direction,
    );
    const filter = await this.access.filter(caller, 'item', 0);
    const matchesName = makeNameMatcher(imageName ?? '');
    const endOffset = paging.limit === 0 ? Infinity : paging.offset + paging.limit;
    const items: ItemRecord[] = [];
    let total = 0;
    for await (const batch of idBatches) {
      const itemsById = new Map((await records.findItems(batch, filter)).map((item) => [item.id, item]));
      for (const id of batch) {
        const item = itemsById.get(id);
        if (item === undefined || !matchesName(item.name)) continue;
        if (total >= paging.offset && total < endOffset) items.push(item);
        total += 1;
      }
    }
    return { items, total };
  }

  /**
   * Lists the ids of a folder's items that have active annotations, in ascending order. Items and annotations that the caller may not read
   * are left out.
   */
  async listImagesInFolder({ folderId, recurse, caller }: FolderSearch): Promise<string[]> {
    const { model, permissions, records } = this.options;
    const permitted = await permissions.createPermittedFilter(caller, 0);
    const filter = await this.access.filter(caller, 'item', 0);
    const imageIds: string[] = [];
    for await (const itemIds of records.listItemIdsIn(folderId, { recurse })) {
      const counts = await model.countByItem({ ...permitted, itemIds });
      for (const batch of batches([...counts.keys()])) {
        for (const { id } of await records.findItems(batch, filter)) imageIds.push(id);
      }
    }
    return imageIds.sort();
  }

  /** Converts a search to plain data, which can be stored and evaluated again later. */
  async toSelection({ folderId, recurse, caller }: FolderSearch) {
    return { folderId, recurse, ...(await this.options.permissions.createPermittedFilter(caller, 2, { byListOnly: true })) };
  }

  /** Makes filters for the annotations of a search, one for each batch of items. */
  async *#makeFolderFilters(search: FolderSearch): AsyncGenerator<AnnotationFilter> {
    const { folderId, recurse, ...permitted } = await this.toSelection(search);
    for await (const itemIds of this.options.records.listItemIdsIn(folderId, { recurse })) yield { ...permitted, itemIds };
  }

  /**
   * Finds a page of the annotations of a search. Only sort keys are held in memory: the keys of all batches of items are merged into one
   * list.
   */
  async findFolderPage(search: FolderSearch, { limit, offset, sort }: AnnotationPaging): Promise<AnnotationPage> {
    const { model } = this.options;
    const endOffset = limit === 0 ? Infinity : offset + limit;
    let total = 0;
    let keys: AnnotationKey[] = [];
    for await (const filter of this.#makeFolderFilters(search)) {
      const batchKeys = await model.findKeys(filter, sort, endOffset === Infinity ? 0 : endOffset);
      total += batchKeys.length < endOffset ? batchKeys.length : await model.count(filter);
      for (const key of batchKeys) keys.push(key);
      if (keys.length > 2 * endOffset) keys = keys.sort((a, b) => compareKeys(a, b, sort)).slice(0, endOffset);
    }
    keys.sort((a, b) => compareKeys(a, b, sort));
    return { annotations: model.findByIds(keys.slice(offset, endOffset).map(({ id }) => id)), total };
  }

  /** Whether the search finds any annotation. */
  async hasAnyInFolder(search: FolderSearch): Promise<boolean> {
    for await (const filter of this.#makeFolderFilters(search)) {
      if ((await this.options.model.findKeys(filter, [], 1)).length > 0) return true;
    }
    return false;
  }

  /** Lists all matching annotations, which are read as they are consumed. */
  listAll(filter: AnnotationFilter): AsyncGenerator<AnnotationRecord> {
    return this.options.model.list(filter, { limit: 0, offset: 0, sort: [['_id', 1]] });
  }
}

/** Makes a function that returns whether a name, or a word in the name, begins with `start`. Letter case is ignored. */
function makeNameMatcher(start: string): (name: string) => boolean {
  const prefix = start.trim().toLowerCase();
  if (prefix === '') return () => true;
  return (name) => {
    const lowerName = name.toLowerCase();
    return lowerName.startsWith(prefix) || lowerName.split(/[^\p{L}\p{N}]+/u).some((word) => word.startsWith(prefix));
  };
}
