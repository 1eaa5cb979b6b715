import { Types } from 'mongoose';
import { AccessDeniedError } from '../../index.js';
import { InvalidError, UnknownIdError, searchWords } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import type { AccessList, GrantedLevel } from '../access/access-list.model.js';
import type { CollectionDocument } from './collection.model.js';
import { checkName, computeSortableNames } from './names/checked-name.js';
import { requireLevel, withUserLevel, type Principal } from '../access/access.js';
import { isDuplicateKey } from '../duplicate-key.js';
import { removeFoldersIn } from './folder-trees.js';
import { createAccessUpdate, setAccessRecursively, type AccessChange } from '../access/folder-access.js';
import { indexTerms, createUnindexedMark } from './finding/index-terms.js';
import { computeSearchFields } from './finding/terms.js';
import { writeMetadata, type MetadataUpdate } from './metadata.js';
import { removeWithBelongings } from '../upkeep/removal.js';

/** Loads a collection on which the principal has at least this level. */
export async function loadCollection(
  { models }: HostContext,
  id: string,
  principal: Principal,
  level: GrantedLevel,
): Promise<CollectionDocument> {
  const collection = await models.collection.findById(id).lean<CollectionDocument>();
  if (collection === null) throw new UnknownIdError('collection', id);
  requireLevel('collection', collection, principal, level);
  return collection;
}

/** @throws AccessDeniedError if the principal cannot create collections. */
export async function requireMayCreateCollections(context: HostContext, principal: Principal): Promise<void> {
  if (principal.admin) return;
  const { open, users, groups } = await context.setting('core.collection_create_policy');
  const id = principal.id?.toHexString();
  const isListedInPolicy =
    id !== undefined && (users.includes(id) || principal.groups.some((group) => groups.includes(group.toHexString())));
  if (!(open && id !== undefined) && !isListedInPolicy) {
    throw new AccessDeniedError('You are not authorized to create collections.');
  }
}

/** Creates a collection, which its creator administers. @throws InvalidError if the name is taken. */
export async function createCollection(
  { models }: HostContext,
  {
    name,
    description,
    isPublic,
    creatorId,
  }: { name: string; description: string | null; isPublic: boolean; creatorId: Types.ObjectId | null },
): Promise<CollectionDocument> {
  const checkedName = checkName('Collection', name);
  const emptyList: AccessList = { users: [], groups: [] };
  const now = new Date();
  const collection: CollectionDocument = {
    _id: new Types.ObjectId(),
    name: checkedName,
    ...computeSortableNames(checkedName),
    description,
    creatorId,
    created: now,
    updated: now,
    size: 0,
    meta: {},
    words: searchWords(checkedName, description),
    ...computeSearchFields({ name: checkedName, description }),
    access: creatorId === null ? emptyList : withUserLevel(emptyList, creatorId, 2),
    public: isPublic,
  };
  try {
    await models.collection.create(collection);
  } catch (error) {
    throw toDuplicateNameError(error);
  }
  return collection;
}

function toDuplicateNameError(error: unknown): unknown {
  return isDuplicateKey(error) ? new InvalidError('A collection with that name already exists.', 'name') : error;
}

/** Changes name and description of a collection. */
export async function updateCollection(
  { models }: HostContext,
  collection: CollectionDocument,
  changes: { name?: string | undefined; description?: string | undefined },
): Promise<CollectionDocument> {
  const name = changes.name === undefined ? collection.name : checkName('Collection', changes.name);
  const description = changes.description?.trim() ?? collection.description;
  const fields = {
    name,
    ...computeSortableNames(name),
    description,
    words: searchWords(name, description),
    ...createUnindexedMark(),
    updated: new Date(),
  };
  let updatedCollection: CollectionDocument | null;
  try {
    updatedCollection = await models.collection
      .findOneAndUpdate({ _id: collection._id }, { $set: fields }, { returnDocument: 'after' })
      .lean<CollectionDocument>();
  } catch (error) {
    throw toDuplicateNameError(error);
  }
  if (updatedCollection === null) throw new UnknownIdError('collection', collection._id.toHexString());
  await indexTerms(models.collection, updatedCollection);
  return updatedCollection;
}

/** Changes the metadata of a collection. */
export async function setCollectionMetadata(
  { models }: HostContext,
  collection: CollectionDocument,
  update: MetadataUpdate,
): Promise<CollectionDocument> {
  const updatedCollection = await writeMetadata(models.collection, collection, update);
  if (updatedCollection === null) throw new UnknownIdError('collection', collection._id.toHexString());
  return updatedCollection;
}

/**
 * Replaces the permissions of a collection, and of the folders below it that `administrator` administers. If `administrator` is `null`, only
 * the collection itself is changed.
 */
export async function setCollectionAccess(
  context: HostContext,
  collection: CollectionDocument,
  change: AccessChange,
  administrator: Principal | null,
): Promise<CollectionDocument> {
  return setAccessRecursively(context, { type: 'collection', id: collection._id, change, administrator }, async () => {
    const updatedCollection = await context.models.collection
      .findOneAndUpdate({ _id: collection._id }, { $set: createAccessUpdate(change) }, { returnDocument: 'after' })
      .lean<CollectionDocument>();
    if (updatedCollection === null) throw new UnknownIdError('collection', collection._id.toHexString());
    return updatedCollection;
  });
}

/** Removes a collection with everything in it. */
export function removeCollection(context: HostContext, collection: CollectionDocument): Promise<void> {
  return removeWithBelongings(context, 'collection', collection, ({ _id }) => removeFoldersIn(context, _id));
}
