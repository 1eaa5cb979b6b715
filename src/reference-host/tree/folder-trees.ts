import { Types } from 'mongoose';
import pLimit from 'p-limit';
import { AccessDeniedError } from '../../index.js';
import {
  batches,
  iterateInSlices,
  idsPerQuery,
  groupInBatches,
  InvalidError,
  readInSlices,
  announceStep,
  withoutReadLimit,
} from '../../larger-host.js';
import { createAccessFilter, type Principal } from '../access/access.js';
import type { HostContext } from '../context.js';
import type { FolderDocument, RootType } from './folder.model.js';
import type { ItemDocument } from './item.model.js';
import { discardUploadsOf } from '../uploads/upload-removal.js';
import { loadAncestors, createFolder, writeFolder, rootOf, type FolderParent } from './folders.js';
import { removeItems, withoutLargeFields } from './item-removals.js';
import { copyItemAs } from './items.js';
import { releaseNames, releaseOldNames } from './names/names.js';
import { correctSizes, createRootSizeComputer } from './recount.js';
import { withTrashed } from '../trash/trash-mark.js';
import { removeWithBelongings } from '../upkeep/removal.js';
import { addRootSize, rootModel } from './sizes.js';

/** The collection or user at the root of a tree of folders. */
type RootFields = { baseParentType: RootType; baseParentId: Types.ObjectId };

/** Removes a folder with everything in it. */
export function removeFolder(context: HostContext, folder: FolderDocument): Promise<void> {
  return removeWithBelongings(context, 'folder', folder, (removed) => removeFolderLeftovers(context, removed));
}

/** Removes everything that belonged to a folder after its record was removed. Can be repeated. */
export async function removeFolderLeftovers(context: HostContext, folder: FolderDocument): Promise<void> {
  await releaseNames(context, [folder._id]);
  await removeContents(context, folder._id, selectContents(folder));
  await context.events.emit('folder.removed', { folder: { ...folder } });
}

/** Removes everything in a folder, but not the folder. If this takes longer than clients wait, it continues in the background. */
export function emptyFolder(context: HostContext, { _id }: FolderDocument): Promise<void> {
  const before = new Date();
  return context.journal.undertakeWithoutUndo({ kind: 'emptying', id: _id, before }, () =>
    removeContentsCreatedUntil(context, _id, before),
  );
}

/** @throws AccessDeniedError if the caller may not remove one of the folders directly in a folder */
export async function requireRemovableFolders(
  { models }: HostContext,
  folder: FolderDocument,
  principal: Principal,
): Promise<void> {
  const childFilter = { parentId: folder._id };
  const [childCount, removableCount] = await Promise.all([
    models.folder.countDocuments(childFilter),
    models.folder.countDocuments({ ...childFilter, ...createAccessFilter(principal, 2) }),
  ]);
  if (removableCount < childCount)
    throw new AccessDeniedError('The folder contains folders that you have no permission to remove.');
}

/** Removes the contents of a folder that were created no later than `before`. Can be repeated. */
export function removeContentsCreatedUntil(context: HostContext, folderId: Types.ObjectId, before: Date): Promise<void> {
  return removeContents(context, folderId, { filter: { created: { $lte: before } }, options: {} });
}

/**
 * Selects the contents to remove with a folder. If the folder is in the trash, these are the contents that were moved to the trash with it.
 * Otherwise, these are the contents that are not in the trash.
 */
function selectContents({ trashed }: FolderDocument): ContentsSelection {
  return trashed === undefined ? { filter: {}, options: {} } : { filter: { 'trashed.root': trashed.root }, options: withTrashed };
}

/** Filter and query options that select contents of a folder. */
interface ContentsSelection {
  filter: { created?: { $lte: Date }; 'trashed.root'?: Types.ObjectId };
  options: Partial<typeof withTrashed>;
}

async function removeContents(
  context: HostContext,
  folderId: Types.ObjectId,
  { filter, options }: ContentsSelection,
): Promise<void> {
  const { models } = context;
  await discardUploadsOf(context, [folderId]);
  const items = models.item.find({ folderId, ...filter }, withoutLargeFields, { ...withoutReadLimit, ...options }).lean();
  for await (const batch of groupInBatches(iterateInSlices<ItemDocument>(items), idsPerQuery)) {
    await removeItems(context, batch);
    announceStep('folder-removal:items');
  }
  const folders = models.folder.find({ parentId: folderId, ...filter }, null, options).lean();
  for (const child of await readInSlices<FolderDocument>(folders)) await removeFolder(context, child);
}

/** Removes the folders directly in a folder, collection or user. */
export async function removeFoldersIn(context: HostContext, parentId: Types.ObjectId): Promise<void> {
  const folders = context.models.folder.find({ parentId }).lean();
  for (const child of await readInSlices<FolderDocument>(folders)) await removeFolder(context, child);
}

/** All folders below a folder, parents before children. */
export async function listFoldersBelow(
  { models }: Pick<HostContext, 'models'>,
  folder: Pick<FolderDocument, '_id'>,
): Promise<FolderDocument[]> {
  const descendants: FolderDocument[] = [];
  const seenIds = new Set([folder._id.toHexString()]);
  let parentIds = [folder._id];
  while (parentIds.length > 0) {
    const childIds: Types.ObjectId[] = [];
    for (const batch of batches(parentIds)) {
      for (const child of await readInSlices<FolderDocument>(models.folder.find({ parentId: { $in: [...batch] } }).lean())) {
        const childId = child._id.toHexString();
        if (seenIds.has(childId)) continue;
        seenIds.add(childId);
        descendants.push(child);
        childIds.push(child._id);
      }
    }
    parentIds = childIds;
  }
  return descendants;
}

/** @throws InvalidError if the target is the folder itself or is inside it. */
async function requireNoCircle(context: HostContext, folder: FolderDocument, target: FolderParent): Promise<void> {
  if (target.type !== 'folder') return;
  const doc = (await context.models.folder.findById(target.doc._id).lean<FolderDocument>()) ?? target.doc;
  const ancestors = [target, ...(await loadAncestors(context, doc))];
  if (ancestors.some((parent) => parent.doc._id.equals(folder._id))) {
    throw new InvalidError('You may not move a folder underneath itself.');
  }
}

/** Moves a folder into `target`. @throws InvalidError if the target is the folder itself or is inside it, or if the name is taken there. */
export async function moveFolder(context: HostContext, folder: FolderDocument, target: FolderParent): Promise<FolderDocument> {
  await requireNoCircle(context, folder, target);
  const { baseParentId, baseParentType } = folder;
  const from = { baseParentId, baseParentType };
  return context.journal.undertake({ kind: 'move', id: folder._id, before: new Date(), from }, () =>
    moveToParent(context, folder, target),
  );
}

async function moveToParent(context: HostContext, folder: FolderDocument, target: FolderParent): Promise<FolderDocument> {
  const root = rootOf(target);
  const movedFolder = await writeFolder(context, folder, { parentId: target.doc._id, parentCollection: target.type, ...root });
  announceStep('move:placed');
  try {
    // The check is repeated, because two simultaneous moves may have put two folders below each other.
    await requireNoCircle(context, folder, target);
  } catch (error) {
    const { parentId, parentCollection, baseParentId, baseParentType } = folder;
    await writeFolder(context, movedFolder, { parentId, parentCollection, baseParentId, baseParentType });
    throw error;
  }
  if (!root.baseParentId.equals(folder.baseParentId)) {
    const bytes = await setRootOfTree(context, movedFolder, root);
    await addRootSize(context, folder, -bytes);
    await addRootSize(context, root, bytes);
    announceStep('move:counted');
  }
  await context.events.emit('access.changed', {});
  return movedFolder;
}

/** Sets the root of a folder and of everything below it. @returns the total size of all these folders in bytes */
export async function setRootOfTree({ models }: HostContext, folder: FolderDocument, root: RootFields): Promise<number> {
  const folders = [folder, ...(await listFoldersBelow({ models }, folder))];
  for (const batch of batches(folders.map(({ _id }) => _id))) {
    await models.folder.updateMany({ _id: { $in: [...batch] } }, { $set: root });
    await models.item.updateMany({ folderId: { $in: [...batch] } }, { $set: root });
    announceStep('move:rooted');
  }
  return folders.reduce((bytes, { size }) => bytes + size, 0);
}

/** Finishes an interrupted move. Can be repeated. */
export async function finishMove(
  context: HostContext,
  { id, before, from }: { id: Types.ObjectId; before: Date; from: RootFields },
): Promise<void> {
  const { models, events } = context;
  const folder = await models.folder.findById(id).lean<FolderDocument>();
  if (folder === null) return;
  await releaseOldNames(context, { ...folder, ownerId: id }, before);
  const [rootDocument] = await loadAncestors(context, folder);
  if (rootDocument === undefined || rootDocument.type === 'folder') return;
  const newRoot = { baseParentType: rootDocument.type, baseParentId: rootDocument.doc._id };
  await setRootOfTree(context, folder, newRoot);
  for (const root of [from, newRoot]) {
    await correctSizes(rootModel(context, root.baseParentType) as never, createRootSizeComputer(context), [root.baseParentId]);
  }
  await events.emit('access.changed', {});
}

/** Options of {@link copyFolder}. */
export interface FolderCopyOptions {
  name?: string | undefined;
  description?: string | undefined;
  public?: boolean | undefined;
  creatorId: Types.ObjectId | null;
  /** Whether the annotations of the items are copied too; by default true. */
  copyAnnotations?: boolean | undefined;
  /** Whether the caller can read a folder. Folders that are not readable are left out with everything in them. */
  isReadable(folder: FolderDocument): boolean;
}

/**
 * Copies a folder with everything in it. A number is appended to a name that is taken. If copying takes longer than clients wait, it
 * continues in the background, and the copy of the folder itself is returned.
 */
export async function copyFolder(
  context: HostContext,
  source: FolderDocument,
  target: FolderParent,
  options: FolderCopyOptions,
): Promise<FolderDocument> {
  const _id = new Types.ObjectId();
  let copiedFolder: FolderDocument | null = null;
  const onCopy = (copy: FolderDocument) => void (copiedFolder = copy);
  return context.journal.undertakeOrReturnPartialResult(
    { kind: 'making', type: 'folder', id: _id },
    () => copyFolderAs(context, source, target, { ...options, _id, onCopy }),
    () => copiedFolder,
  );
}

/** Largest number of items and folders in a copy. The number is limited because an interrupted copy is undone as a whole. */
const maxCopiedDocuments = 5000;
/** Number of items that are copied at the same time. */
const maxConcurrentCopies = 4;

/** Does the work of {@link copyFolder}, without undoing an interrupted copy. */
async function copyFolderAs(
  context: HostContext,
  source: FolderDocument,
  target: FolderParent,
  options: FolderCopyOptions & { _id: Types.ObjectId; onCopy: (copy: FolderDocument) => void },
): Promise<FolderDocument> {
  // Everything is listed before the copy is created, because a folder can be copied into itself.
  const foldersBelow = await listFoldersBelow(context, source);
  const { creatorId, copyAnnotations } = options;
  const folderIds = [source, ...foldersBelow].map(({ _id }) => _id);
  const itemIdsByFolder = new Map<string, Types.ObjectId[]>(folderIds.map((id) => [id.toHexString(), []]));
  let documentCount = foldersBelow.length;
  for (const batch of batches(folderIds)) {
    const items = context.models.item.find({ folderId: { $in: [...batch] } }, { folderId: 1 }).lean();
    for (const { _id, folderId } of await readInSlices<Pick<ItemDocument, '_id' | 'folderId'>>(items)) {
      itemIdsByFolder.get(folderId.toHexString())?.push(_id);
      documentCount += 1;
    }
  }
  if (documentCount > maxCopiedDocuments) {
    throw new InvalidError(
      `A folder with at most ${maxCopiedDocuments} items and folders in it can be copied at once; this one has ${documentCount}. Copy its folders separately.`,
    );
  }
  const copy = await createFolder(context, target, {
    _id: options._id,
    name: options.name ?? source.name,
    description: options.description ?? source.description,
    public: options.public ?? source.public,
    copiedMetadata: source.meta,
    creatorId,
    allowRename: true,
  });
  options.onCopy(copy);
  const copiesBySourceId = new Map([[source._id.toHexString(), copy]]);
  const limitCopies = pLimit(maxConcurrentCopies);
  for (const folder of [source, ...foldersBelow]) {
    const sourceId = folder._id.toHexString();
    if (!copiesBySourceId.has(sourceId)) {
      const parent = copiesBySourceId.get(folder.parentId.toHexString());
      if (parent === undefined || !options.isReadable(folder)) continue;
      const { name, description, meta } = folder;
      const properties = { name, description, public: folder.public, copiedMetadata: meta, creatorId, allowRename: true };
      copiesBySourceId.set(sourceId, await createFolder(context, { type: 'folder', doc: parent }, properties));
    }
    const copyItemById = async (id: Types.ObjectId) => {
      const item = await context.models.item.findById(id).lean<ItemDocument>();
      if (item === null) return;
      await copyItemAs(context, item, {
        _id: new Types.ObjectId(),
        folder: copiesBySourceId.get(sourceId)!,
        creatorId,
        copyAnnotations,
      });
      announceStep('folder-copy:item');
    };
    await Promise.all((itemIdsByFolder.get(sourceId) ?? []).map((id) => limitCopies(() => copyItemById(id))));
  }
  return copy;
}
