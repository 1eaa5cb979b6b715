import {
  anyInteger,
  anyText,
  batches,
  component,
  dateText,
  id,
  idText,
  integer,
  json,
  listOf,
  objectOf,
  orNull,
  required,
  anyBoolean,
  withDefault,
  InvalidError,
  withoutReadLimit,
  type RouteDefinition,
} from '../../larger-host.js';
import { loadPrincipal, type Principal } from '../access/access.js';
import { defineRoute, type HostContext } from '../context.js';
import { folderParentType, scopes } from '../http/parameters.js';
import { loadResources, parseResources } from '../resources/named-resources.js';
import { listFoldersBelow } from '../tree/folder-trees.js';
import { loadParent } from '../tree/folders.js';
import { replyWithList } from '../tree/lists.js';
import type { FolderOrItem } from '../tree/tree-documents.js';
import { removeFromTrash } from './emptying.js';
import { restoreFromTrash, type RestoredDocument } from './restoring.js';
import { loadRestorable, listTrash, readTrashPage } from './trash-list.js';
import type { TrashedDocument } from './trash-mark.js';
import { countItems, moveToTrash } from './trashing.js';

const dayMs = 24 * 60 * 60 * 1000;
/** Maximum number of documents that a request can name. Each document needs several writes, one after the other. */
const maxDocuments = 500;

const trashTypes = ['folder', 'item'] as const;
const resourcesParameter = json({ kind: 'object', description: 'Ids by type: {"item": [...], "folder": [...]}.' });
const documentType = { type: 'string', enum: [...trashTypes] } as const;

const extentMembers = {
  folders: { ...anyInteger, description: 'Folders below the folder.' },
  items: { ...anyInteger, description: 'Items in it, or 1 for an item.' },
  size: { ...anyInteger, description: 'Bytes of their files.' },
};
const extentSchema = component('Extent', objectOf(extentMembers));

const trashedSchema = component(
  'TrashedDocument',
  objectOf(
    {
      _id: idText,
      _modelType: documentType,
      name: anyText,
      path: { ...anyText, description: 'Its former path.' },
      trashed: { ...dateText, description: 'When it was moved to the trash.' },
      expires: { ...orNull(dateText), description: 'When it will be removed permanently; null for never.' },
      trashedBy: { ...orNull(anyText), description: 'Login of the user who moved it to the trash.' },
      isComplete: { ...anyBoolean, description: 'False while its contents are still being moved to the trash.' },
      isRemoving: {
        ...anyBoolean,
        description: 'Whether it is being removed permanently. Its counts then say how much is left.',
      },
    },
    extentMembers,
  ),
);

const restoredSchema = component(
  'RestoredDocument',
  objectOf({
    _id: idText,
    _modelType: documentType,
    name: anyText,
    parentType: { type: 'string', enum: ['folder', 'collection', 'user'] },
    parentId: idText,
    isRenamed: { ...anyBoolean, description: 'Whether it was renamed, because its name was taken.' },
    isMoved: { ...anyBoolean, description: 'Whether it is in another folder than before.' },
  }),
);

/** Loads documents. @throws AccessDeniedError if the caller may not remove all of them */
async function loadRemovable(
  context: HostContext,
  idsByType: Record<string, unknown>,
  principal: Principal,
): Promise<FolderOrItem[]> {
  const allReferences = parseResources(idsByType, trashTypes, { limit: maxDocuments });
  const documents: FolderOrItem[] = [];
  for (const [type, level] of [
    ['folder', 2],
    ['item', 1],
  ] as const) {
    const references = allReferences.filter(([each]) => each === type);
    // The cast is safe: references of these types lead only to folders and items.
    documents.push(...((await loadResources(context, references, principal, level)) as FolderOrItem[]));
  }
  return documents;
}

/** Counts the contents of folders and items, and adds up their sizes in bytes. */
async function computeExtent(context: HostContext, documents: readonly FolderOrItem[]) {
  const extent = { folders: 0, items: 0, size: 0 };
  for (const { type, doc } of documents) {
    if (type === 'item') {
      extent.items += 1;
      extent.size += doc.size;
      continue;
    }
    const foldersBelow = await listFoldersBelow(context, doc);
    extent.folders += foldersBelow.length;
    for (const batch of batches([doc, ...foldersBelow].map(({ _id }) => _id))) {
      const sum = await countItems(context, { folderId: { $in: [...batch] } }, withoutReadLimit);
      extent.items += sum.items;
      extent.size += sum.size;
    }
  }
  return extent;
}

/** Converts folders and items in the trash to the form that clients get. */
async function createTrashViews(context: HostContext, documents: readonly FolderOrItem[]): Promise<unknown[]> {
  const { models } = context;
  const days = await context.setting('core.trash_days');
  const loginsById = new Map<string, string>();
  for (const batch of batches(documents.flatMap(({ doc }) => doc.trashed?.by ?? []))) {
    for (const { _id, login } of await models.user.find({ _id: { $in: [...batch] } }, { login: 1 }).lean()) {
      loginsById.set(_id.toHexString(), login);
    }
  }
  return documents.map(({ type, doc }) => {
    const { entry: trashedAt = new Date(0), by, path = '', folders, items, size, removing = false } = doc.trashed ?? {};
    return {
      _id: doc._id,
      _modelType: type,
      name: doc.name,
      path,
      trashed: trashedAt,
      expires: days === 0 ? null : new Date(trashedAt.getTime() + days * dayMs),
      trashedBy: (by && loginsById.get(by.toHexString())) ?? null,
      isComplete: size !== undefined,
      isRemoving: removing,
      ...(size !== undefined && { folders, items, size }),
    };
  });
}

function restoredView({ type, id: _id, name, parentType, parentId, isRenamed, isMoved }: RestoredDocument) {
  return { _id, _modelType: type, name, parentType, parentId, isRenamed, isMoved };
}

/** Routes for the trash of folders and items. */
export const trashRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'get',
    path: '/resource/extent',
    summary: 'Count the contents of folders and items, and add up their sizes.',
    description: 'For a confirmation before they are removed; the caller must have permission to remove them.',
    access: 'user',
    scope: scopes.read,
    query: { resources: required(resourcesParameter) },
    returns: { schema: extentSchema },
    errors: ['bad-parameter', 'invalid', 'unknown-id', 'access-denied'],
    async handle({ query, caller }, context) {
      return computeExtent(context, await loadRemovable(context, query.resources, await loadPrincipal(context, caller)));
    },
  }),
  defineRoute({
    method: 'post',
    path: '/resource/trash',
    summary: 'Move several folders and items to the trash.',
    description:
      'They disappear with everything in them, and their names can be used again. They are removed permanently after the number of days in the setting core.trash_days.',
    access: 'user',
    scope: scopes.write,
    query: { resources: required(resourcesParameter) },
    returns: { schema: { type: 'null' } },
    errors: ['bad-parameter', 'invalid', 'unknown-id', 'access-denied'],
    async handle({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      await moveToTrash(context, await loadRemovable(context, query.resources, principal), principal.id);
      return null;
    },
  }),
  defineRoute({
    method: 'post',
    path: '/resource/restore',
    summary: 'Restore several folders and items from the trash.',
    description:
      'Each returns to its folder with its permissions, metadata, annotations and cached files. If its name is taken there, a number is appended. If its folder no longer exists, it is restored to the folder Restored of the caller. The response reports both.',
    access: 'user',
    scope: scopes.write,
    query: {
      resources: required(resourcesParameter),
      parentType: folderParentType,
      parentId: id({ description: 'Id of the parent to which to restore them instead.' }),
    },
    returns: { schema: listOf(restoredSchema) },
    errors: ['bad-parameter', 'invalid', 'unknown-id', 'access-denied', 'conflict'],
    async handle({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const { parentType = 'folder', parentId } = query;
      const target = parentId === undefined ? null : await loadParent(context, parentType, parentId, principal, 1);
      const documents = await loadRestorable(
        context,
        parseResources(query.resources, trashTypes, { limit: maxDocuments }),
        principal,
      );
      if (target !== null && target.type !== 'folder' && documents.some(({ type }) => type === 'item')) {
        throw new InvalidError(`Items must be in a folder, not in a ${target.type}.`, 'parentType');
      }
      const restoredViews: unknown[] = [];
      for (const each of documents)
        restoredViews.push(restoredView(await restoreFromTrash(context, each, { target, userId: principal.id! })));
      return restoredViews;
    },
  }),
  defineRoute({
    method: 'get',
    path: '/trash',
    summary: 'List the entries of the trash that you can restore, newest first.',
    access: 'user',
    scope: scopes.read,
    query: {
      limit: withDefault(integer({ minimum: 0, description: 'Maximum number of entries; 0 for all.' }), 50),
      offset: withDefault(integer({ minimum: 0, description: 'Number of entries to skip.' }), 0),
    },
    returns: { schema: listOf(trashedSchema) },
    async handle({ query, caller }, context) {
      const { entries, total } = await readTrashPage(context, await loadPrincipal(context, caller), query);
      return replyWithList(await createTrashViews(context, entries), total);
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/trash',
    summary: 'Permanently remove entries of the trash: the given ones, or all that you can restore.',
    access: 'user',
    scope: scopes.own,
    query: { resources: resourcesParameter },
    returns: { schema: { type: 'null' } },
    errors: ['bad-parameter', 'invalid', 'unknown-id', 'access-denied'],
    async handle({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const documents: TrashedDocument[] = [];
      const addDocument = ({ type, doc }: FolderOrItem) => documents.push({ type, id: doc._id });
      if (query.resources === undefined) for await (const each of listTrash(context, principal)) addDocument(each);
      else (await loadRestorable(context, parseResources(query.resources, trashTypes), principal)).forEach(addDocument);
      if (documents.length > 0) await removeFromTrash(context, documents);
      return null;
    },
  }),
];
