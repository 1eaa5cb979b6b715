import type { Model, Types } from 'mongoose';
import { BadParameterError, batches, iterateInSlices, InvalidError, isId, UnknownIdError } from '../../larger-host.js';
import type { AccessControlled, GrantedLevel } from '../access/access-list.model.js';
import { requireLevel, type Principal } from '../access/access.js';
import type { HostContext } from '../context.js';
import type { FolderDocument } from '../tree/folder.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import type { Resource } from './resources.js';

/** Models whose documents can be named together in one request. */
export const treeTypes = ['item', 'folder', 'collection', 'user'] as const;
export type TreeType = (typeof treeTypes)[number];

/** Parses the parameter `resources`. @returns type and id of each document. @throws BadParameterError, InvalidError */
export function parseResources(
  resources: Record<string, unknown>,
  allowedTypes: readonly TreeType[],
  { limit = Infinity } = {},
): [TreeType, string][] {
  // A document that the parameter names twice is returned once.
  const references = new Map<string, [TreeType, string]>();
  for (const [type, ids] of Object.entries(resources)) {
    const treeType = allowedTypes.find((name) => name === type);
    if (treeType === undefined)
      throw new BadParameterError(`Invalid resource type: ${type}. Allowed values: ${allowedTypes.join(', ')}.`);
    if (!Array.isArray(ids)) throw new BadParameterError(`Resources of type ${type} must be a list of ids.`);
    for (const entry of ids) {
      if (!isId(entry)) throw new InvalidError(`Invalid ObjectId: ${String(entry)}`, 'id');
      references.set(`${treeType} ${entry.toLowerCase()}`, [treeType, entry.toLowerCase()]);
    }
  }
  if (references.size === 0) throw new BadParameterError('No resources specified.');
  if (references.size > limit) throw new BadParameterError(`At most ${limit} resources are allowed, not ${references.size}.`);
  return [...references.values()];
}

type DocumentsById = Map<string, { _id: Types.ObjectId }>;

/** The documents of a model with these ids, read in batches. */
async function findByIds<D extends { _id: Types.ObjectId }>(model: Model<D>, ids: readonly string[]): Promise<Map<string, D>> {
  const documents = new Map<string, D>();
  for (const batch of batches([...new Set(ids)])) {
    const query = model.find({ _id: { $in: [...batch] } } as never).lean();
    for await (const document of iterateInSlices<D>(query)) documents.set(document._id.toHexString(), document);
  }
  return documents;
}

/**
 * Loads all documents of a request, in order, and checks the caller's level on each. This is done before any change, so that a
 * request is refused as a whole.
 *
 * @throws UnknownIdError, AccessDeniedError for the first document that does not exist, or on which the caller does not have the
 * level.
 */
export async function loadResources(
  { models }: HostContext,
  references: readonly [TreeType, string][],
  principal: Principal,
  level: GrantedLevel,
): Promise<Resource[]> {
  const idsOf = (requestedType: TreeType) => references.flatMap(([type, id]) => (type === requestedType ? [id] : []));
  const items = await findByIds<ItemDocument>(models.item, idsOf('item'));
  const itemFolderIds = [...items.values()].map(({ folderId }) => folderId.toHexString());
  const folders = await findByIds<FolderDocument>(models.folder, [...idsOf('folder'), ...itemFolderIds]);
  const documentsByType: Record<TreeType, DocumentsById> = {
    item: items,
    folder: folders,
    collection: await findByIds(models.collection, idsOf('collection')),
    user: await findByIds(models.user, idsOf('user')),
  };
  return references.map(([type, id]) => {
    const doc = documentsByType[type].get(id);
    // An item has the permissions of its folder.
    const accessDocument = type === 'item' ? folders.get(String(items.get(id)?.folderId)) : doc;
    if (doc === undefined || accessDocument === undefined) throw new UnknownIdError(type, id);
    requireLevel(type === 'item' ? 'folder' : type, accessDocument as AccessControlled & typeof doc, principal, level);
    // The cast is safe: the document was read from the model of its type.
    return { type, doc } as Resource;
  });
}

/** Loads the documents that still exist. */
export async function loadExistingResources(
  { models }: HostContext,
  references: readonly { type: string; id: Types.ObjectId }[],
): Promise<Resource[]> {
  const resources: Resource[] = [];
  for (const type of treeTypes) {
    const ids = references.flatMap((each) => (each.type === type ? [each.id.toHexString()] : []));
    const documents = await findByIds(models[type] as unknown as Model<Resource['doc']>, ids);
    // The cast is safe: the document was read from the model of its type.
    for (const doc of documents.values()) resources.push({ type, doc } as Resource);
  }
  return resources;
}

/** Loads a single document as {@link loadResources} does. @throws UnknownIdError, AccessDeniedError */
export async function loadResource(
  context: HostContext,
  type: TreeType,
  id: string,
  principal: Principal,
  level: GrantedLevel,
): Promise<Resource> {
  const [resource] = await loadResources(context, [[type, id.toLowerCase()]], principal, level);
  return resource!;
}
