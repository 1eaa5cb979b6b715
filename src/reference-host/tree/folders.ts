import { Types, type QueryFilter } from 'mongoose';
import { InvalidError, UnknownIdError, announceStep, searchWords } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import type { AccessList, GrantedLevel } from '../access/access-list.model.js';
import type { CollectionDocument } from './collection.model.js';
import type { FolderDocument, FolderParentType, RootType } from './folder.model.js';
import type { UserDocument } from '../accounts/users/user.model.js';
import { checkName, computeSortableNames } from './names/checked-name.js';
import { createAccessFilter, levelOn, requireLevel, systemPrincipal, withUserLevel, type Principal } from '../access/access.js';
import { indexTerms, createUnindexedMark } from './finding/index-terms.js';
import { computeSearchFields } from './finding/terms.js';
import { prepareMetadata, writeMetadata, type MetadataUpdate } from './metadata.js';
import { claimFreeName, claimName, releaseName } from './names/names.js';
import { withTrashed } from '../trash/trash-mark.js';
import { stillExists } from '../upkeep/removal.js';

/** The parent of a folder. */
export type FolderParent =
  | { type: 'folder'; doc: FolderDocument }
  | { type: 'collection'; doc: CollectionDocument }
  | { type: 'user'; doc: UserDocument };

/** Loads a folder if the caller has this level on it. */
export async function loadFolder(
  { models }: HostContext,
  id: string | Types.ObjectId,
  principal: Principal,
  level: GrantedLevel,
): Promise<FolderDocument> {
  const folder = await models.folder.findById(id).lean<FolderDocument>();
  if (folder === null) throw new UnknownIdError('folder', String(id));
  requireLevel('folder', folder, principal, level);
  return folder;
}

/** Loads the parent that a parameter such as `parentId` names. @throws InvalidError `No such folder: …` if it does not exist. */
export async function loadParent(
  { models }: HostContext,
  type: FolderParentType,
  id: string,
  principal: Principal,
  level: GrantedLevel,
): Promise<FolderParent> {
  const doc = await (type === 'folder'
    ? models.folder.findById(id).lean<FolderDocument>()
    : type === 'collection'
      ? models.collection.findById(id).lean<CollectionDocument>()
      : models.user.findById(id).lean<UserDocument>());
  if (doc === null) throw new InvalidError(`No such ${type}: ${id}`, 'id');
  requireLevel(type, doc, principal, level);
  // The cast is safe: the document was read from the model of its type.
  return { type, doc } as FolderParent;
}

/** Loads the folder that a parameter names. @throws InvalidError `No such folder: …` if it does not exist. */
export async function loadTargetFolder(
  context: HostContext,
  id: string,
  principal: Principal,
  level: GrantedLevel,
): Promise<FolderDocument> {
  const parent = await loadParent(context, 'folder', id, principal, level);
  return parent.doc as FolderDocument;
}

/** Properties of a new folder. */
export interface NewFolder {
  /** By default a new id. */
  _id?: Types.ObjectId;
  name: string;
  description?: string | undefined;
  /** Whether everybody can read the folder. By default as in the parent, or `false` if the parent is a user. */
  public?: boolean | undefined;
  metadata?: Record<string, unknown> | undefined;
  /** Metadata of another folder, which is stored without checks. */
  copiedMetadata?: Record<string, unknown> | undefined;
  creatorId: Types.ObjectId | null;
  /** Whether to return an existing folder of this name, if `principal` may read it. */
  reuseExisting?: boolean | undefined;
  /** The principal whose permissions `reuseExisting` checks. By default, every existing folder may be returned. */
  principal?: Principal;
  /** Whether a number is appended to a name that is taken. Otherwise, a taken name is an error. */
  allowRename?: boolean | undefined;
}

/** The root (collection or user) of a parent. */
export function rootOf(parent: FolderParent): { baseParentType: RootType; baseParentId: Types.ObjectId } {
  if (parent.type !== 'folder') return { baseParentType: parent.type, baseParentId: parent.doc._id };
  return { baseParentType: parent.doc.baseParentType, baseParentId: parent.doc.baseParentId };
}

/** Creates a folder. It inherits the permissions of its parent, and its creator administers it. */
export async function createFolder(context: HostContext, parent: FolderParent, folder: NewFolder): Promise<FolderDocument> {
  const { models } = context;
  const requestedName = checkName('Folder', folder.name);
  const metadata = folder.copiedMetadata ?? prepareMetadata(folder.metadata);
  if (folder.reuseExisting) {
    const existingFolder = await models.folder.findOne({ parentId: parent.doc._id, name: requestedName }).lean<FolderDocument>();
    if (existingFolder !== null && levelOn(existingFolder, folder.principal ?? systemPrincipal) >= 0) return existingFolder;
  }
  const _id = folder._id ?? new Types.ObjectId();
  const nameOwner = { parentId: parent.doc._id, ownerType: 'folder' as const, ownerId: _id };
  const name = folder.allowRename ? await claimFreeName(context, nameOwner, requestedName) : requestedName;
  if (!folder.allowRename) await claimFolderName(context, nameOwner, name);
  announceStep('folder:named');
  const now = new Date();
  const { access, isPublic, publicFlags } = inheritAccess(parent, folder.creatorId);
  const description = folder.description?.trim() ?? '';
  const createdFolder: FolderDocument = {
    _id,
    name,
    ...computeSortableNames(name),
    description,
    parentId: parent.doc._id,
    parentCollection: parent.type,
    ...rootOf(parent),
    creatorId: folder.creatorId,
    created: now,
    updated: now,
    size: 0,
    meta: metadata,
    words: searchWords(name, description),
    ...computeSearchFields({ name, description, meta: metadata }),
    access,
    public: folder.public ?? isPublic,
    ...(publicFlags && { publicFlags }),
  };
  try {
    // The driver is used directly, because Mongoose would interpret `$` keys in metadata as operators.
    await models.folder.collection.insertOne(createdFolder);
    announceStep('folder:recorded');
    if (!(await parentExists(context, parent))) {
      await models.folder.deleteOne({ _id }, withTrashed);
      throw new InvalidError(`No such ${parent.type}: ${parent.doc._id.toHexString()}`, 'id');
    }
  } catch (error) {
    // A folder that has been stored in spite of the error keeps its name.
    if (!(await stillExists(context, 'folder', _id))) await releaseName(context, nameOwner, name);
    throw error;
  }
  await context.events.emit('folder.saved', { folder: { ...createdFolder } });
  return createdFolder;
}

async function parentExists({ models }: HostContext, { type, doc }: FolderParent): Promise<boolean> {
  const _id = doc._id;
  if (type === 'folder') return (await models.folder.exists({ _id })) !== null;
  return (await (type === 'collection' ? models.collection.exists({ _id }) : models.user.exists({ _id }))) !== null;
}

function inheritAccess(parent: FolderParent, creatorId: Types.ObjectId | null) {
  const parentAccess: AccessList = parent.type === 'user' ? { users: [], groups: [] } : parent.doc.access;
  const accessWithOwner = parent.type === 'user' ? withUserLevel(parentAccess, parent.doc._id, 2) : parentAccess;
  return {
    access: creatorId === null ? accessWithOwner : withUserLevel(accessWithOwner, creatorId, 2),
    isPublic: parent.type === 'user' ? false : parent.doc.public,
    publicFlags: parent.type === 'user' ? undefined : parent.doc.publicFlags,
  };
}

async function claimFolderName(
  context: HostContext,
  nameOwner: { parentId: Types.ObjectId; ownerType: 'folder'; ownerId: Types.ObjectId },
  name: string,
): Promise<void> {
  const otherOwner = await claimName(context, nameOwner, name);
  if (otherOwner === null) return;
  throw new InvalidError(`${otherOwner === 'item' ? 'An item' : 'A folder'} with that name already exists here.`, 'name');
}

/** Changes name, description and metadata of a folder. @throws InvalidError if the name is taken. */
export async function updateFolder(
  context: HostContext,
  folder: FolderDocument,
  changes: { name?: string | undefined; description?: string | undefined; metadata?: MetadataUpdate | undefined },
): Promise<FolderDocument> {
  const name = changes.name === undefined ? folder.name : checkName('Folder', changes.name);
  const description = changes.description?.trim() ?? folder.description;
  const fields = {
    name,
    ...computeSortableNames(name),
    description,
    words: searchWords(name, description),
    ...createUnindexedMark(),
  };
  const write = () => writeFolder(context, folder, fields);
  const undertaking = { kind: 'naming', type: 'folder', id: folder._id, before: new Date() } as const;
  const updatedFolder = name === folder.name ? await write() : await context.journal.undertake(undertaking, write);
  return changes.metadata ? setFolderMetadata(context, updatedFolder, changes.metadata) : updatedFolder;
}

/**
 * Writes fields of a folder. If name or parent change, the new name is claimed first, and the old name is released at the end.
 *
 * @throws InvalidError if the name is taken in the parent, or if another request has renamed or moved the folder.
 */
export async function writeFolder(
  context: HostContext,
  folder: FolderDocument,
  changes: Partial<FolderDocument>,
): Promise<FolderDocument> {
  const { parentId, name } = { ...folder, ...changes };
  const needsNewClaim = name !== folder.name || !parentId.equals(folder.parentId);
  const nameOwner = { parentId, ownerType: 'folder' as const, ownerId: folder._id };
  if (needsNewClaim) await claimFolderName(context, nameOwner, name);
  const updatedFolder = await context.models.folder
    .findOneAndUpdate(
      { _id: folder._id, parentId: folder.parentId, name: folder.name },
      { $set: { ...changes, updated: new Date() } },
      { returnDocument: 'after' },
    )
    .lean<FolderDocument>();
  if (updatedFolder === null) {
    if ((await context.models.folder.exists({ _id: folder._id })) === null) {
      if (needsNewClaim) await releaseName(context, nameOwner, name);
      throw new UnknownIdError('folder', folder._id.toHexString());
    }
    // The claim is kept, because the other request may have given the folder the same name. An unneeded claim counts as abandoned later.
    throw new InvalidError('Someone else renamed or moved the folder in the meantime.', 'name');
  }
  if (updatedFolder.unindexed) await indexTerms(context.models.folder, updatedFolder);
  announceStep('folder-change:recorded');
  if (needsNewClaim) await releaseName(context, { parentId: folder.parentId, ownerId: folder._id }, folder.name);
  await context.events.emit('folder.saved', { folder: { ...updatedFolder } });
  return updatedFolder;
}

/** Changes the metadata of a folder. */
export async function setFolderMetadata(
  context: HostContext,
  folder: FolderDocument,
  update: MetadataUpdate,
): Promise<FolderDocument> {
  const updatedFolder = await writeMetadata(context.models.folder, folder, update);
  if (updatedFolder === null) throw new UnknownIdError('folder', folder._id.toHexString());
  await context.events.emit('folder.saved', { folder: { ...updatedFolder } });
  return updatedFolder;
}

/** Counts the items and the readable folders directly in a folder. */
export async function countChildren({ models }: HostContext, folder: FolderDocument, principal: Principal) {
  const [nItems, nFolders] = await Promise.all([
    models.item.countDocuments({ folderId: folder._id }),
    models.folder.countDocuments({ parentId: folder._id, ...(createAccessFilter(principal, 0) as QueryFilter<FolderDocument>) }),
  ]);
  return { nItems, nFolders };
}

/** Loads the folders above a folder and their root, from the root down. Access is not checked. */
export async function loadAncestors(context: HostContext, folder: FolderDocument): Promise<FolderParent[]> {
  const { models } = context;
  const ancestors: FolderParent[] = [];
  const seenIds = new Set([folder._id.toHexString()]);
  let topmostFolder = folder;
  while (topmostFolder.parentCollection === 'folder') {
    const parent = await models.folder.findById(topmostFolder.parentId).lean<FolderDocument>();
    // A folder that appears twice means that two simultaneous moves have made a circle, which has no root.
    if (parent === null || seenIds.has(parent._id.toHexString())) return ancestors;
    seenIds.add(parent._id.toHexString());
    ancestors.unshift({ type: 'folder', doc: parent });
    topmostFolder = parent;
  }
  if (topmostFolder.parentCollection === 'collection') {
    const doc = await models.collection.findById(topmostFolder.parentId).lean<CollectionDocument>();
    if (doc !== null) ancestors.unshift({ type: 'collection', doc });
  } else {
    const doc = await models.user.findById(topmostFolder.parentId).lean<UserDocument>();
    if (doc !== null) ancestors.unshift({ type: 'user', doc });
  }
  return ancestors;
}
