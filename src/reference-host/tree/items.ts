import { Types } from 'mongoose';
import { InvalidError, UnknownIdError, announceStep, searchWords } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import type { GrantedLevel } from '../access/access-list.model.js';
import type { FileDocument } from '../files/file.model.js';
import type { FolderDocument } from './folder.model.js';
import type { ItemDocument } from './item.model.js';
import { checkName, computeSortableNames } from './names/checked-name.js';
import { requireLevel, type Principal } from '../access/access.js';
import { copyFile } from '../files/files.js';
import { prepareMetadata, writeMetadata, type MetadataUpdate } from './metadata.js';
import { indexTerms, createUnindexedMark } from './finding/index-terms.js';
import { computeSearchFields } from './finding/terms.js';
import { claimFreeName, claimFreeNames, releaseName, releaseNames } from './names/names.js';
import { addFolderSize, addRootSize } from './sizes.js';
import { withTrashed } from '../trash/trash-mark.js';

/** Loads an item and its folder, if the caller has this level on them. */
export async function loadItem(
  context: HostContext,
  id: string | Types.ObjectId,
  principal: Principal,
  level: GrantedLevel,
): Promise<{ item: ItemDocument; folder: FolderDocument }> {
  const item = await context.models.item.findById(id).lean<ItemDocument>();
  if (item === null) throw new UnknownIdError('item', String(id));
  const folder = await context.models.folder.findById(item.folderId).lean<FolderDocument>();
  if (folder === null) throw new UnknownIdError('item', String(id));
  requireLevel('folder', folder, principal, level);
  return { item, folder };
}

/** Properties of a new item. */
export interface NewItem {
  /** By default a new id. */
  _id?: Types.ObjectId;
  name: string;
  description?: string | undefined;
  metadata?: Record<string, unknown> | undefined;
  creatorId: Types.ObjectId | null;
  /** Whether to return an existing item with this name. */
  reuseExisting?: boolean | undefined;
  /** Bytes of the item's files, if the files are already recorded; by default 0. */
  size?: number;
  /** Fields that the plugin adds. */
  fields?: Record<string, unknown> | undefined;
}

/** Creates an item. A number is appended to a name that is taken. */
export async function createItem(context: HostContext, folder: FolderDocument, item: NewItem): Promise<ItemDocument> {
  const name = checkName('Item', item.name);
  const metadata = prepareMetadata(item.metadata);
  if (item.reuseExisting) {
    const existingItem = await context.models.item.findOne({ folderId: folder._id, name }).lean<ItemDocument>();
    if (existingItem !== null) return existingItem;
  }
  return insertItem(context, folder, toInitialItem({ ...item, name }, metadata));
}

/** Creates items, each with its own id, as {@link createItem} does. */
export async function createItems(
  context: HostContext,
  folder: FolderDocument,
  items: readonly NewItem[],
): Promise<ItemDocument[]> {
  return insertItems(
    context,
    folder,
    items.map((item) => toInitialItem({ ...item, name: checkName('Item', item.name) }, prepareMetadata(item.metadata))),
  );
}

function toInitialItem(item: NewItem, meta: Record<string, unknown>): InitialItem {
  return {
    ...item.fields,
    _id: item._id ?? new Types.ObjectId(),
    size: item.size ?? 0,
    name: item.name,
    description: item.description?.trim() ?? '',
    creatorId: item.creatorId,
    meta,
  };
}

type InitialItem = Pick<ItemDocument, '_id' | 'name' | 'description' | 'creatorId' | 'meta' | 'size'> & {
  [field: string]: unknown;
};

async function insertItem(context: HostContext, folder: FolderDocument, initialFields: InitialItem): Promise<ItemDocument> {
  const [item] = await insertItems(context, folder, [initialFields]);
  return item!;
}

async function insertItems(
  context: HostContext,
  folder: FolderDocument,
  initialItems: readonly InitialItem[],
): Promise<ItemDocument[]> {
  const { models } = context;
  const namesWithOwners = initialItems.map(({ _id, name }) => {
    return { owner: { parentId: folder._id, ownerType: 'item' as const, ownerId: _id }, name };
  });
  const items: ItemDocument[] = [];
  try {
    const names = await claimFreeNames(context, namesWithOwners);
    announceStep('item:named');
    const now = new Date();
    for (const [index, initialItem] of initialItems.entries()) {
      const name = names[index]!;
      items.push({
        ...initialItem,
        name,
        ...computeSortableNames(name),
        folderId: folder._id,
        baseParentType: folder.baseParentType,
        baseParentId: folder.baseParentId,
        created: now,
        updated: now,
        words: searchWords(name, initialItem.description),
        ...computeSearchFields({ ...initialItem, name }),
      });
    }
    // The driver is used directly: copies have fields of the plugin, and Mongoose would interpret `$` keys in metadata as operators.
    await models.item.collection.insertMany(items);
    announceStep('item:recorded');
    if ((await models.folder.exists({ _id: folder._id })) === null) {
      await models.item.deleteMany({ _id: { $in: items.map(({ _id }) => _id) } }, withTrashed);
      throw new InvalidError(`No such folder: ${folder._id.toHexString()}`, 'id');
    }
  } catch (error) {
    // Items that have been stored in spite of the error keep their names.
    const ids = initialItems.map(({ _id }) => _id);
    const storedItems = await models.item.find({ _id: { $in: ids } }, { _id: 1 }, withTrashed).lean();
    const storedIds = new Set(storedItems.map(({ _id }) => _id.toHexString()));
    await releaseNames(
      context,
      ids.filter((id) => !storedIds.has(id.toHexString())),
    );
    throw error;
  }
  const size = items.reduce((sum, item) => sum + item.size, 0);
  if (size > 0) {
    await addFolderSize(context, folder._id, size);
    await addRootSize(context, items[0]!, size);
    announceStep('item:counted');
  }
  await Promise.all(items.map((item) => context.events.emit('item.saved', { item: { ...item } })));
  return items;
}

/** Properties of an item that can be changed. */
export interface ItemChanges {
  name?: string | undefined;
  description?: string | undefined;
  /** Metadata to merge. */
  metadata?: MetadataUpdate | undefined;
  /** Folder to which the item is moved. */
  folder?: FolderDocument | undefined;
}

/** Changes an item. A number is appended to a name that is taken. */
export function updateItem(context: HostContext, item: ItemDocument, changes: ItemChanges): Promise<ItemDocument> {
  const isRenamed = changes.name !== undefined && changes.name !== item.name;
  const isMoved = changes.folder !== undefined && !changes.folder._id.equals(item.folderId);
  if (!isRenamed && !isMoved) return writeItemChanges(context, item, changes);
  const undertaking = { kind: 'naming', type: 'item', id: item._id, before: new Date() } as const;
  return context.journal.undertake(undertaking, () => writeItemChanges(context, item, changes));
}

async function writeItemChanges(context: HostContext, item: ItemDocument, changes: ItemChanges): Promise<ItemDocument> {
  const { models } = context;
  const folderId = changes.folder?._id ?? item.folderId;
  const requestedName = changes.name === undefined ? item.name : checkName('Item', changes.name);
  const isMoved = !folderId.equals(item.folderId);
  const nameOwner = { parentId: folderId, ownerType: 'item' as const, ownerId: item._id };
  const name = isMoved || requestedName !== item.name ? await claimFreeName(context, nameOwner, requestedName) : item.name;
  const description = changes.description?.trim() ?? item.description;
  const { baseParentType, baseParentId } = changes.folder ?? item;
  const updatedItem = await models.item
    .findOneAndUpdate(
      // If another request has moved or renamed the item since it was read, nothing is written, and the change is repeated below.
      { _id: item._id, folderId: item.folderId, name: item.name },
      {
        $set: {
          name,
          ...computeSortableNames(name),
          description,
          words: searchWords(name, description),
          ...createUnindexedMark(),
          folderId,
          baseParentType,
          baseParentId,
          updated: new Date(),
        },
      },
      { returnDocument: 'after' },
    )
    .lean<ItemDocument>();
  announceStep('item-move:placed');
  if (updatedItem !== null) await indexTerms(models.item, updatedItem);
  else {
    const currentItem = await models.item.findById(item._id).lean<ItemDocument>();
    // The claim of the name is kept, because the other request may have given the item the same name. An unneeded claim counts as abandoned
    // later.
    if (currentItem !== null) return writeItemChanges(context, currentItem, changes);
    if (isMoved || name !== item.name) await releaseName(context, nameOwner, name);
    throw new UnknownIdError('item', item._id.toHexString());
  }
  if (isMoved || name !== item.name) {
    await releaseName(context, { parentId: item.folderId, ownerId: item._id }, item.name);
  }
  announceStep('item-move:named');
  if (isMoved) {
    await addFolderSize(context, item.folderId, -updatedItem.size);
    await addFolderSize(context, folderId, updatedItem.size);
    await addRootSize(context, item, -updatedItem.size);
    await addRootSize(context, updatedItem, updatedItem.size);
    await context.events.emit('access.changed', {});
  }
  return changes.metadata ? setItemMetadata(context, updatedItem, changes.metadata) : emitSaved(context, updatedItem);
}

/** Changes the metadata of an item. */
export async function setItemMetadata(context: HostContext, item: ItemDocument, update: MetadataUpdate): Promise<ItemDocument> {
  const updatedItem = await writeMetadata(context.models.item, item, update);
  if (updatedItem === null) throw new UnknownIdError('item', item._id.toHexString());
  return emitSaved(context, updatedItem);
}

/** Sets the time of an item's last change to now. */
export async function touchItem(context: HostContext, id: Types.ObjectId): Promise<void> {
  const updatedItem = await context.models.item
    .findOneAndUpdate({ _id: id }, { $set: { updated: new Date() } }, { returnDocument: 'after' })
    .lean<ItemDocument>();
  if (updatedItem !== null) await emitSaved(context, updatedItem);
}

async function emitSaved(context: HostContext, item: ItemDocument): Promise<ItemDocument> {
  await context.events.emit('item.saved', { item: { ...item } });
  return item;
}

/** The files of an item, sorted by name. Attached files are left out. */
export async function listFiles({ models }: HostContext, item: Pick<ItemDocument, '_id'>): Promise<FileDocument[]> {
  return models.file.find({ itemId: item._id }).sort({ name: 1, _id: 1 }).lean<FileDocument[]>();
}

/** Options of {@link copyItem}. */
export interface ItemCopyOptions {
  name?: string | undefined;
  description?: string | undefined;
  creatorId: Types.ObjectId | null;
  /** Whether the annotations of the item are copied too; by default true. */
  copyAnnotations?: boolean | undefined;
}

/**
 * Copies an item with its files, its metadata and the fields of the plugin. If copying takes longer than clients wait, because the item has
 * many annotations, it continues in the background.
 */
export function copyItem(
  context: HostContext,
  source: ItemDocument,
  folder: FolderDocument,
  options: ItemCopyOptions,
): Promise<ItemDocument> {
  const _id = new Types.ObjectId();
  let copiedItem: ItemDocument | null = null;
  const onCopy = (copy: ItemDocument) => void (copiedItem = copy);
  const work = () => copyItemAs(context, source, { ...options, _id, folder, onCopy });
  return context.journal.undertakeOrReturnPartialResult({ kind: 'making', type: 'item', id: _id }, work, () => copiedItem);
}

/** Does the work of {@link copyItem}. The caller must undo an interrupted copy. */
export async function copyItemAs(
  context: HostContext,
  source: ItemDocument,
  {
    name,
    description,
    creatorId,
    copyAnnotations,
    _id,
    folder,
    onCopy,
  }: ItemCopyOptions & {
    _id: Types.ObjectId;
    folder: FolderDocument;
    /** Called when the copy exists, without its annotations. */
    onCopy?: (copy: ItemDocument) => void;
  },
): Promise<ItemDocument> {
  const copy = await insertItem(context, folder, {
    ...source,
    _id,
    size: 0,
    name: name === undefined ? source.name : checkName('Item', name),
    description: description?.trim() ?? source.description,
    creatorId,
    copyOfItem: source._id,
  });
  const copiedIdsByFileId = new Map<string, string>();
  for (const file of await listFiles(context, source)) {
    const copiedFile = await copyFile(context, file, copy, creatorId);
    copiedIdsByFileId.set(file._id.toHexString(), copiedFile._id.toHexString());
  }
  const copyWithFiles = (await context.models.item.findById(_id).lean<ItemDocument>()) ?? copy;
  onCopy?.(copyWithFiles);
  await context.events.emit('item.copied', {
    source: { ...source },
    item: { ...copyWithFiles },
    fileIds: copiedIdsByFileId,
    userId: creatorId?.toHexString() ?? null,
    copyAnnotations: copyAnnotations !== false,
  });
  announceStep('item-copy:announced');
  return (await context.models.item.findById(_id).lean<ItemDocument>()) ?? copyWithFiles;
}
