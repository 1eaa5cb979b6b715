import { folderSchema, rootPathSchema } from '../http/schemas.js';
import {
  BadParameterError,
  boolean,
  id,
  json,
  required,
  text,
  withDefault,
  type RouteDefinition,
  listOf,
  objectOf,
  anyInteger,
} from '../../larger-host.js';
import { defineRoute, type HostContext } from '../context.js';
import type { FolderDocument } from './folder.model.js';
import { createAccessFilter, levelOn, loadPrincipal, requireLevel } from '../access/access.js';
import { copyFolder, emptyFolder, moveFolder, removeFolder, requireRemovableFolders } from './folder-trees.js';
import {
  loadAncestors,
  countChildren,
  createFolder,
  loadFolder,
  loadParent,
  setFolderMetadata,
  updateFolder,
} from './folders.js';
import { setFolderAccess } from '../access/folder-access.js';
import { createFindFilter, findTextParameter } from './finding/find-filter.js';
import { replyWithPage } from './lists.js';
import { createMetadataUpdate } from './metadata.js';
import { createWordsFilter } from '../resources/resources.js';
import { listFolderEntries, replyWithZip } from '../files/zip.js';
import {
  createAccessRoutes,
  createReadAuthorizer,
  downloadRoute,
  createMetadataRoutes,
  createReadRoutes,
  createRemovalRoutes,
  type DocumentKind,
} from './document.routes.js';
import {
  byId,
  byLowerName,
  copyAnnotations,
  folderParentType,
  metadata,
  returnsMessage,
  scopes,
  searchText,
} from '../http/parameters.js';
import { folderView, resourceView } from '../views.js';

const kind: DocumentKind<FolderDocument> = { type: 'folder', load: loadFolder, view: folderView, schema: folderSchema };
const authorizeReading = createReadAuthorizer(kind);

/** Routes for folders. */
export const folderRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'get',
    path: '/folder',
    summary: 'List the folders of a folder, collection or user, or search for folders.',
    access: 'public',
    scope: scopes.read,
    query: {
      parentType: folderParentType,
      parentId: id(),
      name: text({ description: 'Only the folder with exactly this name.' }),
      text: searchText,
      find: findTextParameter,
      ...byLowerName,
    },
    returns: { schema: listOf(folderSchema) },
    errors: ['bad-parameter', 'invalid', 'access-denied'],
    async handle({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const filter = {
        ...createAccessFilter(principal, 0),
        ...createWordsFilter(query.text),
        ...createFindFilter(query.find),
        ...(query.name !== undefined && { name: query.name }),
      };
      if (query.parentType !== undefined && query.parentId !== undefined) {
        const parent = await loadParent(context, query.parentType, query.parentId, principal, 0);
        Object.assign(filter, { parentId: parent.doc._id });
      } else if (!query.text && !query.find) throw new BadParameterError('Invalid search mode.');
      return replyWithPage(context.models.folder, filter, query, (folder) => folderView(folder, principal));
    },
  }),
  defineRoute({
    method: 'post',
    path: '/folder',
    summary: 'Create a folder.',
    access: 'user',
    scope: scopes.write,
    query: {
      parentType: withDefault(folderParentType, 'folder'),
      parentId: required(id()),
      name: required(text()),
      description: text(),
      reuseExisting: boolean({ description: 'Whether to return an existing folder with this name.' }),
      public: boolean({ description: 'Whether everybody can read it; by default as in the parent.' }),
      metadata,
    },
    returns: { schema: folderSchema },
    errors: ['invalid', 'access-denied'],
    async handle({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const { parentType, parentId, ...folder } = query;
      const parent = await loadParent(context, parentType, parentId, principal, 1);
      return folderView(await createFolder(context, parent, { ...folder, creatorId: principal.id, principal }), principal);
    },
  }),
  defineRoute({
    method: 'get',
    path: '/folder/:id/details',
    summary: 'Count the items and folders of a folder.',
    access: 'public',
    scope: scopes.read,
    params: byId,
    returns: { schema: objectOf({ nItems: anyInteger, nFolders: anyInteger }) },
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      return countChildren(context, await loadFolder(context, params.id, principal, 0), principal);
    },
  }),
  defineRoute({
    method: 'get',
    path: '/folder/:id/rootpath',
    summary: 'Get the path to a folder: its root, then the folders above it.',
    access: 'public',
    scope: scopes.read,
    params: byId,
    returns: { schema: rootPathSchema },
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const ancestors = await loadAncestors(context, await loadFolder(context, params.id, principal, 0));
      return ancestors
        .filter((parent) => levelOn(parent.doc, principal) >= 0)
        .map((parent) => ({ type: parent.type, object: resourceView(parent, principal) }));
    },
  }),
  defineRoute({
    method: 'put',
    path: '/folder/:id',
    summary: 'Change or move a folder.',
    access: 'user',
    scope: scopes.write,
    params: byId,
    query: { name: text(), description: text(), parentType: folderParentType, parentId: id(), metadata },
    returns: { schema: folderSchema },
    errors: ['unknown-id', 'invalid', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      let folder = await loadFolder(context, params.id, principal, 1);
      const update = query.metadata === undefined ? undefined : createMetadataUpdate(query.metadata, false);
      if (query.parentId !== undefined && query.parentType !== undefined) {
        const parent = await loadParent(context, query.parentType, query.parentId, principal, 1);
        if (!parent.doc._id.equals(folder.parentId)) folder = await moveFolder(context, folder, parent);
      }
      const { name, description } = query;
      return folderView(await updateFolder(context, folder, { name, description, metadata: update }), principal);
    },
  }),
  defineRoute({
    method: 'delete',
    path: '/folder/:id/contents',
    summary: 'Remove everything in a folder.',
    description:
      'If the caller has no permission to remove one of the folders in it, the request is refused and nothing is removed.',
    access: 'user',
    scope: scopes.write,
    params: byId,
    returns: returnsMessage,
    errors: ['unknown-id', 'access-denied'],
    async handle({ params, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const folder = await loadFolder(context, params.id, principal, 1);
      await requireRemovableFolders(context, folder, principal);
      await emptyFolder(context, folder);
      return { message: `Cleaned folder ${folder.name}.` };
    },
  }),
  defineRoute({
    method: 'post',
    path: '/folder/:id/copy',
    summary: 'Copy a folder with everything in it that you can read.',
    access: 'user',
    scope: scopes.write,
    params: byId,
    query: {
      parentType: folderParentType,
      parentId: id(),
      name: text(),
      description: text(),
      public: boolean(),
      progress: boolean(),
      copyAnnotations,
    },
    returns: { schema: folderSchema },
    errors: ['unknown-id', 'invalid', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const folder = await loadFolder(context, params.id, principal, 0);
      const parentType = query.parentType ?? folder.parentCollection;
      const parent = await loadParent(context, parentType, query.parentId ?? folder.parentId.toHexString(), principal, 1);
      requireLevel(parent.type, parent.doc, principal, 1);
      const copy = await copyFolder(context, folder, parent, {
        name: query.name,
        description: query.description,
        public: query.public,
        creatorId: principal.id,
        copyAnnotations: query.copyAnnotations,
        isReadable: (child) => levelOn(child, principal) >= 0,
      });
      return folderView(copy, principal);
    },
  }),
  defineRoute({
    ...downloadRoute,
    path: '/folder/:id/download',
    summary: 'Download a folder as an archive.',
    query: { mimeFilter: json({ kind: 'array', description: 'Only files of these types.' }) },
    returns: { types: ['application/zip'] },
    authorize: authorizeReading,
    handle({ query, authorized: { document, principal }, caller }, context) {
      const mimeTypes = query.mimeFilter && new Set(query.mimeFilter.map(String));
      return replyWithZip(context, caller, document.name, listFolderEntries(context, document, principal, { mimeTypes }));
    },
  }),
  ...createReadRoutes(kind),
  ...createRemovalRoutes(kind, { level: 2, remove: removeFolder, nameOf: ({ name }) => name }),
  ...createAccessRoutes(kind, setFolderAccess),
  ...createMetadataRoutes(kind, setFolderMetadata),
];
