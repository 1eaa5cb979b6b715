import type { Connection, Model } from 'mongoose';
import type { Host, HostFields, StoredDocument } from '../../host.js';
import { durable } from '../database/durable.js';
import { groupCalls } from '../database/group-calls.js';
import { batches, idsPerQuery } from '../database/id-batches.js';
import { idText } from '../database/id-text.js';
import { iterateInSlices, readInSlices } from '../database/read-limits.js';
import { createIndexes } from '../database/indexes.js';
import { FolderContents } from './folder-contents.js';
import { leaveOutHidden } from './hidden-items.js';
import { ItemFields } from './item-fields.js';
import { LargeImageMarkers, markerOf, scaleOf, missingFilesOf } from './large-image-markers.js';
import { refusedField, scaleField, SchemaExtension, waitingField } from './schema-extension.js';
import { scaleSuffix } from '../entered-scale.js';
import type { FileRecord, FolderRecord, HostParts, ItemRecord } from './records.js';

/** Default names of the host's fields. */
export const defaultFields: HostFields = {
  item: { name: 'name', folderId: 'folderId', created: 'created', updated: 'updated', size: 'size', meta: 'meta' },
  file: { name: 'name', itemId: 'itemId', mimeType: 'mimeType', size: 'size', created: 'created' },
  folder: { name: 'name', parentId: 'parentId', meta: 'meta' },
};

/** Returns a text; any other value becomes an empty text. */
function textOrEmpty(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

type AnyModel = Model<Record<string, unknown>>;

/** Finds the documents with these ids, each as a separate object; `null` for ids that do not exist. */
async function findByIds(model: AnyModel, ids: readonly string[]): Promise<(StoredDocument | null)[]> {
  const [firstId] = ids;
  if (firstId !== undefined && ids.length === 1) return [await model.findById(firstId).lean<StoredDocument>()];
  const docs = await readInSlices<StoredDocument>(model.find({ _id: { $in: [...new Set(ids)] } }).lean());
  const docById = new Map(docs.map((doc) => [idText(doc._id), doc]));
  return ids.map((id) => {
    const doc = docById.get(id) ?? docById.get(id.toLowerCase());
    return doc === undefined ? null : { ...doc };
  });
}

/** Yields documents by ascending id. The documents are read in pages, because a cursor may expire while the caller uses them. */
async function* iterateById(
  model: AnyModel,
  filter: Record<string, unknown>,
  { after = null, projection = {} }: { after?: string | null; projection?: Record<string, 1> } = {},
): AsyncGenerator<StoredDocument> {
  for (let lastId: unknown = after; ;) {
    const query = model
      .find({ $and: [filter, ...(lastId === null ? [] : [{ _id: { $gt: lastId } }])] }, projection)
      .sort({ _id: 1 })
      .limit(idsPerQuery);
    const page = await readInSlices<StoredDocument>(query.lean());
    yield* page;
    if (page.length < idsPerQuery) return;
    lastId = page.at(-1)!._id;
  }
}

/**
 * The host's items, files and folders. Adds the plugin's fields to their schemas, and offers the queries that several features
 * need.
 */
export class HostRecords {
  readonly connection: Connection;
  readonly markers: LargeImageMarkers;
  readonly contents: FolderContents;
  /** The host's models and fields, for features that store their records in fields of the host's documents. */
  readonly parts: HostParts;
  readonly itemFields: ItemFields;
  readonly #fields: HostFields;
  readonly #items: AnyModel;
  readonly #files: AnyModel;
  readonly #findItemDocument = groupCalls((ids: readonly string[]) => findByIds(this.#items, ids));
  readonly #findFileDocument = groupCalls((ids: readonly string[]) => findByIds(this.#files, ids));
  readonly #findFilesOfItem = groupCalls((items: readonly ItemRecord[]) => this.#findFilesOfItems(items));
  readonly #folders: AnyModel;
  readonly #extension: SchemaExtension;

  constructor(host: Pick<Host, 'models' | 'fields'>) {
    const { models, fields } = host;
    // The host defines the types of its documents. Here they are read by the names in `fields`.
    [this.#items, this.#files, this.#folders] = [models.item, models.file, models.folder] as unknown as AnyModel[] as [
      AnyModel,
      AnyModel,
      AnyModel,
    ];
    this.connection = this.#items.db;
    this.#extension = new SchemaExtension(this.#items, this.#files);
    // From here on, hidden items do not exist for the plugin.
    this.#items = leaveOutHidden(this.#items);
    const itemOf = (doc: StoredDocument) => this.itemOf(doc);
    const fileOf = (doc: StoredDocument) => this.fileOf(doc);
    this.markers = new LargeImageMarkers(this.#items, itemOf);
    this.#fields = {
      item: { ...defaultFields.item, ...fields?.item },
      file: { ...defaultFields.file, ...fields?.file },
      folder: { ...defaultFields.folder, ...fields?.folder },
    };
    const folderOf = (doc: StoredDocument) => this.folderOf(doc);
    const [items, files, folders] = [this.#items, this.#files, this.#folders];
    this.parts = { items, files, folders, fields: this.#fields, itemOf, fileOf, folderOf };
    this.contents = new FolderContents(this.parts);
    this.itemFields = new ItemFields(this.#items, this.#fields.item.meta);
  }

  /** Removes the plugin's fields from the schemas. Stored values are kept. */
  restoreSchemas(): void {
    this.#extension.restore();
  }

  /** Creates indexes for queries on the plugin's fields of items. */
  async createIndexes(): Promise<void> {
    await createIndexes(this.#items.collection, [
      { key: { 'largeImage.fileId': 1 } },
      { key: { 'largeImage.expected': 1 } },
      { key: { [refusedField]: 1 }, sparse: true },
    ]);
  }

  itemOf(doc: StoredDocument): ItemRecord {
    const names = this.#fields.item;
    const changedAt = doc[names.updated] ?? doc[names.created];
    return {
      id: idText(doc._id),
      name: textOrEmpty(doc[names.name]),
      folderId: idText(doc[names.folderId]),
      changedAtMs: changedAt instanceof Date ? changedAt.getTime() : 0,
      largeImage: markerOf(doc.largeImage),
      missingFiles: missingFilesOf(doc[waitingField]),
      scale: scaleOf(doc[scaleField]),
      doc,
    };
  }

  fileOf(doc: StoredDocument): FileRecord {
    const names = this.#fields.file;
    return {
      id: idText(doc._id),
      name: textOrEmpty(doc[names.name]),
      itemId: doc[names.itemId] == null ? null : idText(doc[names.itemId]),
      mimeType: textOrEmpty(doc[names.mimeType]) || 'application/octet-stream',
      size: Number(doc[names.size] ?? 0),
      doc,
    };
  }

  folderOf(doc: StoredDocument): FolderRecord {
    const names = this.#fields.folder;
    return {
      id: idText(doc._id),
      name: textOrEmpty(doc[names.name]),
      parentId: doc[names.parentId] == null ? null : idText(doc[names.parentId]),
      doc,
    };
  }

  /** Finds the items of exactly this name in a folder, oldest first. A host may allow several such items. */
  async findItemsByName(folder: FolderRecord, name: string, limit: number): Promise<ItemRecord[]> {
    const { name: nameField, folderId } = this.#fields.item;
    const query = this.#items
      .find({ [folderId]: folder.doc._id, [nameField]: name })
      .sort({ _id: 1 })
      .limit(limit);
    return (await readInSlices<StoredDocument>(query.lean())).map((doc) => this.itemOf(doc));
  }

  /** Finds a sibling of a folder by its name; `null` if there is none, or the folder has no parent. */
  async findSiblingFolder(folder: FolderRecord, name: string): Promise<FolderRecord | null> {
    const { name: nameField, parentId } = this.#fields.folder;
    const parent = folder.doc[parentId];
    if (parent == null) return null;
    const doc = await this.#folders
      .findOne({ [parentId]: parent, [nameField]: name, _id: { $ne: folder.doc._id } })
      .lean<StoredDocument>();
    return doc === null ? null : this.folderOf(doc);
  }

  /** The models and names of fields with which lists of items and folders are read. */
  get listModels() {
    const { item, folder } = this.#fields;
    const names = {
      item: { name: item.name, folder: item.folderId, meta: item.meta },
      folder: { parent: folder.parentId, meta: folder.meta },
    };
    return { items: this.#items, folders: this.#folders, names };
  }

  async findItem(id: string): Promise<ItemRecord | null> {
    const doc = await this.#findItemDocument(id);
    return doc === null ? null : this.itemOf(doc);
  }

  async findFile(id: string): Promise<FileRecord | null> {
    const doc = await this.#findFileDocument(id);
    return doc === null ? null : this.fileOf(doc);
  }

  /**
   * Returns a text that changes when the file, tile source or scale of an item's image changes. `null` if the item has no image.
   */
  async readImageState({ largeImage, scale }: ItemRecord): Promise<string | null> {
    const { fileId, sourceName = '' } = largeImage ?? {};
    if (fileId === undefined) return null;
    const file = await this.findFile(fileId);
    const created = file?.doc[this.#fields.file.created];
    return `${fileId}:${sourceName}:${file?.size ?? ''}:${created instanceof Date ? created.getTime() : ''}${scaleSuffix(scale)}`;
  }

  async findFolder(id: string): Promise<FolderRecord | null> {
    const doc = await this.#folders.findById(id).lean<StoredDocument>();
    return doc === null ? null : this.folderOf(doc);
  }

  /** Converts an item to its form in lists: its large image, and the fields that the plugin knows, under their default names. */
  itemView({ doc }: ItemRecord): Record<string, unknown> {
    const view: Record<string, unknown> = { _id: doc._id };
    for (const [name, field] of Object.entries(this.#fields.item)) view[name] = doc[field];
    for (const name of ['description', 'creatorId', 'lowerName', 'baseParentId', 'baseParentType', 'largeImage']) {
      view[name] = doc[name];
    }
    return view;
  }

  /** Finds the items with these ids that exist and match a filter on the model. */
  async findItems(ids: readonly string[], filter: Readonly<Record<string, unknown>> = {}): Promise<ItemRecord[]> {
    const query = this.#items.find({ $and: [{ _id: { $in: [...ids] } }, filter] });
    return (await readInSlices<StoredDocument>(query.lean())).map((doc) => this.itemOf(doc));
  }

  /** Returns the ids among `ids` whose items exist and match a filter on the model. */
  async filterExistingItems(ids: readonly string[], filter: Readonly<Record<string, unknown>> = {}): Promise<string[]> {
    const docs = await this.#items.find({ $and: [{ _id: { $in: [...ids] } }, filter] }, { _id: 1 }).lean<StoredDocument[]>();
    return docs.map((doc) => idText(doc._id));
  }

  /** Lists the ids of the items in a folder, optionally also in the folders below it, in batches of at most {@link idsPerQuery}. */
  async *listItemIdsIn(folderId: string, { recurse }: { recurse: boolean }): AsyncGenerator<string[]> {
    const { folderId: folderField } = this.#fields.item;
    const seenFolderIds = new Set([folderId]);
    let levelIds = [folderId];
    let ids: string[] = [];
    while (levelIds.length > 0) {
      const idsBelow: string[] = [];
      for (const folderIds of batches(levelIds)) {
        const itemQuery = this.#items.find({ [folderField]: { $in: [...folderIds] } }, { _id: 1 }).lean();
        for await (const item of iterateInSlices<StoredDocument>(itemQuery)) {
          if (ids.push(idText(item._id)) < idsPerQuery) continue;
          yield ids;
          ids = [];
        }
        if (recurse) for (const id of await this.#childFolderIds(folderIds)) if (!seenFolderIds.has(id)) idsBelow.push(id);
      }
      for (const id of idsBelow) seenFolderIds.add(id);
      levelIds = idsBelow;
    }
    if (ids.length > 0) yield ids;
  }

  async #childFolderIds(parents: readonly string[]): Promise<string[]> {
    const query = { [this.#fields.folder.parentId]: { $in: [...parents] } };
    const docs = await this.#folders.find(query, { _id: 1 }).lean<StoredDocument[]>();
    return docs.map((doc) => idText(doc._id));
  }

  /** Metadata of an item or folder; `undefined` if there is none. */
  metadataOf(record: ItemRecord | FolderRecord): unknown {
    return record.doc[this.#fields['folderId' in record ? 'item' : 'folder'].meta];
  }

  /** Finds other items of an item's folder that match a filter on the model, oldest first. With `imagesOnly`, only large images. */
  async findSiblingItems(
    item: ItemRecord,
    { filter, imagesOnly, limit }: { filter: Readonly<Record<string, unknown>>; imagesOnly: boolean; limit: number },
  ): Promise<ItemRecord[]> {
    const { folderId } = this.#fields.item;
    const siblings = { [folderId]: item.doc[folderId], _id: { $ne: item.doc._id } };
    const images = imagesOnly ? [{ 'largeImage.fileId': { $exists: true, $ne: null } }] : [];
    const query = this.#items
      .find({ $and: [siblings, filter, ...images] })
      .sort({ _id: 1 })
      .limit(limit);
    const docs = await readInSlices<StoredDocument>(query.lean());
    return docs.map((doc) => this.itemOf(doc));
  }

  /** Finds the files of an item, oldest first, without those that are only attached to it. */
  async findFilesOfItem(item: ItemRecord): Promise<FileRecord[]> {
    return this.#findFilesOfItem(item);
  }

  async #findFilesOfItems(items: readonly ItemRecord[]): Promise<FileRecord[][]> {
    const [firstItem] = items;
    const idCondition =
      firstItem !== undefined && items.length === 1 ? firstItem.doc._id : { $in: items.map(({ doc }) => doc._id) };
    const query = this.#files.find({ [this.#fields.file.itemId]: idCondition }).sort({ _id: 1 });
    const files = (await readInSlices<StoredDocument>(query.lean())).map((doc) => this.fileOf(doc));
    const filesByItem = new Map(items.map(({ id }) => [id, [] as FileRecord[]]));
    for (const file of files) filesByItem.get(file.itemId ?? '')?.push(file);
    return items.map(({ id }) => filesByItem.get(id)!);
  }

  /** Yields the items of a folder by ascending id, optionally only those after an id. Each item is read only when it is needed. */
  async *listItemsOfFolder(folder: FolderRecord, after: string | null = null): AsyncGenerator<ItemRecord> {
    const inFolder = { [this.#fields.item.folderId]: folder.doc._id };
    for await (const { _id } of iterateById(this.#items, inFolder, { after, projection: { _id: 1 } })) {
      const item = await this.findItem(idText(_id));
      if (item !== null) yield item;
    }
  }

  /** Yields the folders directly below a folder that match a filter, by ascending id, optionally only from an id on. */
  async *listChildFolders(
    folder: FolderRecord,
    filter: Record<string, unknown>,
    from: string | null = null,
  ): AsyncGenerator<FolderRecord> {
    const below = { [this.#fields.folder.parentId]: folder.doc._id };
    const conditions = { $and: [below, filter, ...(from === null ? [] : [{ _id: { $gte: from } }])] };
    for await (const doc of iterateById(this.#folders, conditions)) yield this.folderOf(doc);
  }

  /** Creates an item through the model, for hosts without `createItem`. */
  async insertItem(item: { name: string; folder: FolderRecord; fields?: Record<string, unknown> }): Promise<ItemRecord> {
    const names = this.#fields.item;
    const now = new Date();
    const [created] = await this.#items.create(
      [
        {
          ...item.fields,
          [names.name]: item.name,
          [names.folderId]: item.folder.doc._id,
          [names.created]: now,
          [names.updated]: now,
        },
      ],
      durable.writeConcern,
    );
    return this.itemOf(created!.toObject() as StoredDocument);
  }

  /** Moves a file to another item, for hosts without `files.move`. */
  async moveFile(file: FileRecord, item: ItemRecord): Promise<void> {
    await this.#files.updateOne({ _id: file.doc._id }, { $set: { [this.#fields.file.itemId]: item.doc._id } }, durable);
  }

  /** Removes an item that {@link HostRecords.insertItem} has made. */
  async deleteItem(item: ItemRecord): Promise<void> {
    await this.#items.deleteOne({ _id: item.doc._id }, durable);
  }
}
