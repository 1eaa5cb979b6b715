import { realpath, stat } from 'node:fs/promises';
import type { Types } from 'mongoose';
import type { HostContext } from '../../context.js';
import type { CollectionDocument } from '../../tree/collection.model.js';
import { refreshFileInPlace } from '../../files/in-place.js';
import type { FileDocument } from '../../files/file.model.js';
import type { FolderDocument } from '../../tree/folder.model.js';
import type { UserDocument } from '../../accounts/users/user.model.js';
import { systemPrincipal } from '../../access/access.js';
import { createCollection, setCollectionAccess } from '../../tree/collections.js';
import { createFolder, type FolderParent } from '../../tree/folders.js';
import { createUser } from '../../accounts/users/users.js';
import { withTrashed } from '../../trash/trash-mark.js';

/** Login of the administrator that `npm start` creates. */
export const adminLogin = 'admin';

/** A function that makes an item from a file on this machine, without copying it. */
export type RegisterFileInPlace = (file: {
  path: string;
  folder: FolderDocument;
  itemName: string;
  creatorId: Types.ObjectId | null;
}) => Promise<{ item: { _id: Types.ObjectId } }>;

/**
 * If there is no user yet, creates the user `admin`, who becomes administrator as the first user.
 *
 * @returns the user `admin`, or `null` if there are only other users; and whether `password` is the user's password
 */
export async function ensureAdmin(
  context: HostContext,
  password: string,
): Promise<{ user: UserDocument | null; isPasswordCorrect: boolean }> {
  if ((await context.models.user.exists({})) === null) {
    const profile = { login: adminLogin, email: 'admin@localhost.localdomain', firstName: 'Site', lastName: 'Administrator' };
    return { user: await createUser(context, { ...profile, password }), isPasswordCorrect: true };
  }
  const user = await context.models.user.findOne({ login: adminLogin }).lean<UserDocument>();
  if (user === null) return { user, isPasswordCorrect: false };
  return { user, isPasswordCorrect: await context.passwords.verifyPassword(password, user.passwordHash, { lane: 'known' }) };
}

/** Adds the slide to the collection `Examples` as an item, if it is not there yet. @returns the id of the item */
export async function addSyntheticSlide(
  context: HostContext,
  slide: { path: string; creatorId: Types.ObjectId | null; isPublic: boolean; register: RegisterFileInPlace },
): Promise<Types.ObjectId> {
  const collection = await ensureCollection(context, { ...slide, name: 'Examples', description: 'Supplied with the server.' });
  const folder = await ensureFolder(context, collection, ['Slides'], slide.creatorId);
  return ensureItemOfFile(context, { ...slide, folder, itemName: 'Synthetic tissue slide' });
}

async function ensureItemOfFile(
  context: HostContext,
  file: {
    path: string;
    folder: FolderDocument;
    itemName: string;
    creatorId: Types.ObjectId | null;
    register: RegisterFileInPlace;
  },
): Promise<Types.ObjectId> {
  const { models } = context;
  const { folder, itemName, creatorId } = file;
  const path = await realpath(file.path);
  const existingFiles = await models.file.find({ 'storage.kind': 'in-place', 'storage.path': path }).lean<FileDocument[]>();
  const itemIds = existingFiles.flatMap(({ itemId }) => (itemId === null ? [] : [itemId]));
  const existingItem =
    itemIds.length === 0
      ? null
      : await models.item.exists({ _id: { $in: itemIds }, folderId: folder._id }).setOptions(withTrashed);
  if (existingItem !== null) {
    for (const existingFile of existingFiles) await refreshFileInPlace(context, existingFile);
    return existingItem._id;
  }
  // If an item of this name has a file that no longer exists, the data folder was moved, and the item gets the new path.
  const item = await models.item.findOne({ folderId: folder._id, name: itemName }).lean();
  const oldFile = item === null ? null : await models.file.findOne({ itemId: item._id, 'storage.kind': 'in-place' }).lean();
  if (
    item !== null &&
    oldFile?.storage.kind === 'in-place' &&
    !(await isFile(oldFile.storage.path)) &&
    (await stat(path)).size === oldFile.size
  ) {
    await models.file.updateOne({ _id: oldFile._id }, { $set: { 'storage.path': path } });
    return item._id;
  }
  return (await file.register({ path, folder, itemName, creatorId })).item._id;
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (entry) => entry.isFile(),
    () => false,
  );
}

/**
 * Finds or creates the collection with this name. The command line decides whether everyone can see the collection. If an earlier start
 * decided differently, the collection and all its folders are changed.
 */
export async function ensureCollection(
  context: HostContext,
  collection: { name: string; description: string; creatorId: Types.ObjectId | null; isPublic: boolean },
): Promise<CollectionDocument> {
  const { name, isPublic } = collection;
  const existingCollection = await context.models.collection.findOne({ name }).lean<CollectionDocument>();
  if (existingCollection === null) return createCollection(context, collection);
  if (existingCollection.public === isPublic) return existingCollection;
  return setCollectionAccess(
    context,
    existingCollection,
    { access: existingCollection.access, public: isPublic },
    systemPrincipal,
  );
}

/** Finds or creates the folders of a path below a collection. @returns the last folder */
export async function ensureFolder(
  context: HostContext,
  collection: CollectionDocument,
  names: readonly string[],
  creatorId: Types.ObjectId | null,
): Promise<FolderDocument> {
  let parent: FolderParent = { type: 'collection', doc: collection };
  for (const name of names) {
    parent = { type: 'folder', doc: await createFolder(context, parent, { name, creatorId, reuseExisting: true }) };
  }
  if (parent.type !== 'folder') throw new Error('Items must be in a folder: at least one name is needed.');
  return parent.doc;
}
