import { shownLevel, levelOn, type Principal } from './access/access.js';
import type { ApiKeyDocument } from './accounts/api-keys/api-key.model.js';
import type { CollectionDocument } from './tree/collection.model.js';
import type { FileDocument } from './files/file.model.js';
import type { FolderDocument } from './tree/folder.model.js';
import type { GroupDocument } from './groups/group.model.js';
import type { ItemDocument } from './tree/item.model.js';
import type { UploadDocument } from './uploads/upload.model.js';
import type { UserDocument } from './accounts/users/user.model.js';
import type { Resource } from './resources/resources.js';

/** Copies the listed fields, except fields that the document does not have. */
function pickFields<D extends object>(document: D, fields: readonly string[]): Record<string, unknown> {
  const pickedFields: Record<string, unknown> = {};
  for (const field of fields) {
    const value = (document as Record<string, unknown>)[field];
    if (value !== undefined) pickedFields[field] = value;
  }
  return pickedFields;
}

const itemFields = [
  '_id',
  'name',
  'description',
  'folderId',
  'creatorId',
  'created',
  'updated',
  'size',
  'meta',
  'baseParentType',
  'baseParentId',
  'copyOfItem',
  'fileMissing',
  'fileChanged',
  // The plugin writes these two fields.
  'largeImage',
  'largeImageRefused',
] as const;

/** An item as clients see it. */
export function itemView(item: ItemDocument): Record<string, unknown> {
  return { ...pickFields(item, itemFields), _modelType: 'item' };
}

/** A file as clients see it. */
export function fileView(file: FileDocument, principal: Principal, storeId?: unknown): Record<string, unknown> {
  const fields = ['_id', 'name', 'mimeType', 'size', 'itemId', 'exts', 'created', 'creatorId', 'updated', 'linkUrl'];
  const assetstore = principal.admin && file.storage.kind !== 'link' && storeId !== undefined ? { assetstoreId: storeId } : {};
  return { ...pickFields(file, fields), ...assetstore, _modelType: 'file' };
}

const folderFields = [
  '_id',
  'name',
  'description',
  'parentId',
  'parentCollection',
  'creatorId',
  'created',
  'updated',
  'size',
  'meta',
  'public',
  'publicFlags',
  'baseParentType',
  'baseParentId',
];

/** A folder as clients see it. */
export function folderView(folder: FolderDocument, principal: Principal): Record<string, unknown> {
  return { ...pickFields(folder, folderFields), _accessLevel: shownLevel(folder, principal), _modelType: 'folder' };
}

/** A collection as clients see it. */
export function collectionView(collection: CollectionDocument, principal: Principal): Record<string, unknown> {
  const fields = ['_id', 'name', 'description', 'public', 'publicFlags', 'created', 'updated', 'size', 'meta'];
  return { ...pickFields(collection, fields), _accessLevel: shownLevel(collection, principal), _modelType: 'collection' };
}

/** A group as clients see it. */
export function groupView(group: GroupDocument, principal: Principal): Record<string, unknown> {
  const fields = ['_id', 'name', 'description', 'public', 'created', 'updated'];
  return { ...pickFields(group, fields), _accessLevel: shownLevel(group, principal), _modelType: 'group' };
}

const userFields = ['_id', 'login', 'firstName', 'lastName', 'admin', 'public', 'created'];
const privateUserFields = ['email', 'groups', 'groupInvites', 'status', 'emailVerified', 'size'];

/** A user as clients see it. Private fields are only for the user and for site administrators. */
export function userView(user: UserDocument, principal: Principal): Record<string, unknown> {
  const seesPrivateFields = principal.seesPrivate && levelOn(user, principal) >= 2;
  return {
    ...pickFields(user, userFields),
    ...(seesPrivateFields && { ...pickFields(user, privateUserFields), otp: false }),
    _accessLevel: shownLevel(user, principal),
    _modelType: 'user',
  };
}

/** An API key as its owner sees it. */
export function apiKeyView(key: ApiKeyDocument): Record<string, unknown> {
  const fields = ['_id', 'name', 'prefix', 'active', 'scope', 'tokenDuration', 'userId', 'created', 'lastUse'];
  return { ...pickFields(key, fields), _accessLevel: 2, _modelType: 'api_key' };
}

/** An upload as clients see it. */
export function uploadView(upload: UploadDocument): Record<string, unknown> {
  const { itemId: _itemId, startedBy: _startedBy, ...fields } = upload;
  return fields;
}

/** A document of any model in the tree. */
export function resourceView(resource: Resource, principal: Principal): Record<string, unknown> {
  switch (resource.type) {
    case 'item':
      return itemView(resource.doc);
    case 'folder':
      return folderView(resource.doc, principal);
    case 'collection':
      return collectionView(resource.doc, principal);
    case 'user':
      return userView(resource.doc, principal);
  }
}
