import type { Model } from 'mongoose';
import type { StoredDocument } from '../../host.js';
import { idsPerQuery, groupInBatches } from '../../core/database/id-batches.js';
import { idText } from '../../core/database/id-text.js';
import { groupCalls } from '../../core/database/group-calls.js';
import { createIndexes } from '../../core/database/indexes.js';
import { rendering } from '../../tilesource/requests.js';
import { iterateInSlices } from '../../core/database/read-limits.js';
import type { HiddenItems } from '../../core/host/hidden-items.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { ItemRecord } from '../../core/host/records.js';

/** `thumbnail` for pictures, which are thumbnails, associated images and tile frames; `data` for histograms. */
export type CachedFileKind = 'thumbnail' | 'data';

/** Selects the files to count or remove. A member that is missing does not restrict the selection. */
export interface CachedFileFilter {
  kind: CachedFileKind;
  itemIds?: readonly unknown[];
  /** Selects only files with exactly this key. */
  key?: string;
  /** Selects only files whose key contains this text. */
  keyContains?: string;
}

/** Identifies a cached file: its record, and its key among the files of its item. */
export interface CachedFileId {
  _id: unknown;
  thumbnailKey: string;
}

/** An item and the state of its current image. Files made from another state are ignored. */
export interface ItemImageState {
  itemId: unknown;
  /** See `HostRecords.readImageState`. */
  imageState: string | null;
}

/** For each kind, the field that marks its files. */
export const kindFields = { thumbnail: 'isLargeImageThumbnail', data: 'isLargeImageData' } as const;

/** Queries for the cached files of items. */
export class CachedFileModel {
  readonly #files: Model<Record<string, unknown>>;
  readonly #findGrouped = groupCalls((requests: readonly FindRequest[]) => this.#findMany(requests));
  readonly #listIdsGrouped = groupCalls((requests: readonly ListRequest[]) => this.#listManyIds(requests), { maxSize: 20 });

  constructor(
    records: HostRecords,
    private readonly hiddenItems: HiddenItems,
  ) {
    this.#files = records.parts.files;
  }

  async createIndexes(): Promise<void> {
    const indexes = Object.values(kindFields).flatMap(
      (field) =>
        [
          { key: { attachedToId: 1, attachedToType: 1, [field]: 1, thumbnailKey: 1 } },
          { key: { attachedToId: 1, attachedToType: 1, [field]: 1, _id: -1 } },
          // This index is for counts over all items.
          { key: { [field]: 1, attachedToType: 1, thumbnailKey: 1 } },
        ] as const,
    );
    await createIndexes(this.#files.collection, indexes);
  }

  /** The newest file with this key that was made from the current image of the item. */
  find({ itemId, imageState }: ItemImageState, kind: CachedFileKind, key: string): Promise<StoredDocument | null> {
    return this.#findGrouped({ itemId, kind, key, imageState });
  }

  async #findMany(requests: readonly FindRequest[]): Promise<(StoredDocument | null)[]> {
    const docByKindItemAndKey = new Map<string, StoredDocument>();
    for (const kind of kindsOf(requests)) {
      const requestsOfKind = requests.filter((request) => request.kind === kind);
      const docs = await this.#files
        .find({ ...itemsQuery(kind, requestsOfKind), thumbnailKey: { $in: unique(requestsOfKind.map(({ key }) => key)) } })
        .sort({ _id: -1 })
        .lean<StoredDocument[]>();
      const imageStateByItem = new Map(requestsOfKind.map(({ itemId, imageState }) => [String(itemId), imageState]));
      for (const doc of docs) {
        const kindItemAndKey = `${kind}\n${String(doc.attachedToId)}\n${String(doc.thumbnailKey)}`;
        if (!docByKindItemAndKey.has(kindItemAndKey) && isCurrentFile(doc, imageStateByItem.get(String(doc.attachedToId))))
          docByKindItemAndKey.set(kindItemAndKey, doc);
      }
    }
    return requests.map(({ itemId, kind, key }) => docByKindItemAndKey.get(`${kind}\n${String(itemId)}\n${key}`) ?? null);
  }

  /** Finds the existing files of the items with one query. @returns a text `<item id>\n<key>` for each existing file. */
  async findExisting(items: readonly ItemImageState[], kind: CachedFileKind, keys: readonly string[]): Promise<Set<string>> {
    const imageStateByItem = new Map(items.map(({ itemId, imageState }) => [String(itemId), imageState]));
    const docs = await this.#files
      .find(
        {
          attachedToId: { $in: items.map(({ itemId }) => itemId) },
          attachedToType: 'item',
          [kindFields[kind]]: true,
          thumbnailKey: { $in: [...keys] },
        },
        { attachedToId: 1, thumbnailKey: 1, largeImageState: 1 },
      )
      .lean<{ attachedToId: unknown; thumbnailKey: string; largeImageState?: string }[]>();
    const currentDocs = docs.filter((doc) => isCurrentFile(doc, imageStateByItem.get(String(doc.attachedToId))));
    return new Set(currentDocs.map(({ attachedToId, thumbnailKey }) => `${String(attachedToId)}\n${thumbnailKey}`));
  }

  /** Ids and keys of an item's files, newest first. */
  listIds(item: ItemRecord, kind: CachedFileKind): Promise<CachedFileId[]> {
    return this.#listIdsGrouped({ itemId: item.doc._id, kind });
  }

  async #listManyIds(requests: readonly ListRequest[]): Promise<CachedFileId[][]> {
    const idsByKindAndItem = new Map<string, CachedFileId[]>();
    for (const kind of kindsOf(requests)) {
      const docs = await this.#files
        .find(
          itemsQuery(
            kind,
            requests.filter((request) => request.kind === kind),
          ),
          { thumbnailKey: 1, attachedToId: 1 },
        )
        .sort({ _id: -1 })
        .lean<(CachedFileId & { attachedToId: unknown })[]>();
      for (const { _id, thumbnailKey, attachedToId } of docs) {
        const kindAndItem = `${kind}\n${String(attachedToId)}`;
        const ids = idsByKindAndItem.get(kindAndItem);
        if (ids === undefined) idsByKindAndItem.set(kindAndItem, [{ _id, thumbnailKey }]);
        else ids.push({ _id, thumbnailKey });
      }
    }
    return requests.map(({ itemId, kind }) => idsByKindAndItem.get(`${kind}\n${String(itemId)}`) ?? []);
  }

  /** Records of an item's files, newest first. */
  async list(item: ItemRecord, kind: CachedFileKind): Promise<StoredDocument[]> {
    return this.#files
      .find(filterQuery({ kind, itemIds: [item.doc._id] }))
      .sort({ _id: -1 })
      .lean<StoredDocument[]>();
  }

  async findById(id: unknown): Promise<StoredDocument | null> {
    return this.#files.findById(id).lean<StoredDocument>();
  }

  /** Number of matching files, not counting files of hidden items. */
  async count(filter: CachedFileFilter): Promise<number> {
    let count = await this.#files.countDocuments(filterQuery(filter));
    for await (const ids of this.hiddenItems.iterateIds()) {
      count -= await this.#files.countDocuments({ $and: [filterQuery(filter), { attachedToId: { $in: ids } }] });
    }
    return Math.max(0, count);
  }

  /** Yields the matching records in batches. Records of hidden items are included only if the filter names the items. */
  async *iterateBatches(filter: CachedFileFilter): AsyncGenerator<StoredDocument[]> {
    const allDocs = iterateInSlices<StoredDocument>(this.#files.find(filterQuery(filter)).lean());
    for await (const docs of groupInBatches(allDocs, idsPerQuery)) {
      const itemIdOf = (doc: StoredDocument) => idText(doc.attachedToId);
      const hiddenIds = filter.itemIds === undefined ? await this.hiddenItems.filterHidden(docs.map(itemIdOf)) : null;
      yield hiddenIds === null ? docs : docs.filter((doc) => !hiddenIds.has(itemIdOf(doc)));
    }
  }

  /** Yields all records of a kind, in one batch for each item. The records in a batch are sorted from newest to oldest. */
  async *iterateBatchesByItem(kind: CachedFileKind): AsyncGenerator<StoredDocument[]> {
    const cursor = this.#files.find(filterQuery({ kind })).sort({ attachedToId: 1, _id: -1 }).lean();
    let docs: StoredDocument[] = [];
    for await (const doc of iterateInSlices<StoredDocument>(cursor)) {
      if (docs.length > 0 && String(docs[0]!.attachedToId) !== String(doc.attachedToId)) {
        yield docs;
        docs = [];
      }
      docs.push(doc);
    }
    if (docs.length > 0) yield docs;
  }
}

interface ListRequest {
  itemId: unknown;
  kind: CachedFileKind;
}

interface FindRequest extends ListRequest {
  key: string;
  imageState: string | null;
}

/**
 * The value of `largeImageState` of a file: the state of the image that it was made from, and, if the server made it, the version of
 * the rendering.
 */
export function fileState(imageState: string, maker: 'server' | 'client'): string {
  return maker === 'server' ? `${imageState}:${rendering.version}` : `${imageState}:client`;
}

/**
 * Whether a file was made from the current image of its item, with the current version of the rendering. Files without
 * `largeImageState` were stored by other programs, and count as current.
 */
export function isCurrentFile(
  { largeImageState }: Readonly<Record<string, unknown>>,
  imageState: string | null | undefined,
): boolean {
  if (largeImageState == null) return true;
  return imageState != null && (['server', 'client'] as const).some((maker) => largeImageState === fileState(imageState, maker));
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}

function kindsOf(requests: readonly ListRequest[]): CachedFileKind[] {
  return unique(requests.map(({ kind }) => kind));
}

function itemsQuery(kind: CachedFileKind, requests: readonly ListRequest[]): Record<string, unknown> {
  return {
    attachedToId: { $in: unique(requests.map(({ itemId }) => itemId)) },
    [kindFields[kind]]: true,
    attachedToType: 'item',
  };
}

function filterQuery({ kind, itemIds, key, keyContains }: CachedFileFilter): Record<string, unknown> {
  return {
    ...(itemIds !== undefined && { attachedToId: { $in: [...itemIds] } }),
    [kindFields[kind]]: true,
    attachedToType: 'item',
    ...(key !== undefined && { thumbnailKey: key }),
    ...(keyContains !== undefined && { thumbnailKey: { $regex: keyContains.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&') } }),
  };
}
