import { scopes } from '../../../http/scopes.js';
import { defineRoute } from '../context.js';
import { boolean, withDefault } from '../../../http/parameters.js';
import { Reply } from '../../../http/reply.js';
import { accessQuery } from './access.routes.js';
import { annotationPaging, folderPath, parsePaging } from '../parameters.js';
import { annotationListSchema } from '../schemas.js';
import { replyPage } from '../replies.js';
import { privateHeaders, storedView, jsonWithoutElements } from '../views.js';

const recurseParameter = (defaultValue: boolean) =>
  withDefault(boolean({ description: 'Whether to include the folders below.' }), defaultValue);

const list = defineRoute({
  method: 'get',
  path: '/annotation/folder/:id',
  summary: 'List the annotations in a folder that you administer, without elements.',
  access: 'public',
  scope: scopes.read,
  params: folderPath,
  query: { recurse: recurseParameter(false), ...annotationPaging('created', -1) },
  returns: { schema: annotationListSchema },
  errors: ['invalid', 'bad-parameter'],
  async handle({ params, query, caller }, { annotations }) {
    const paging = parsePaging(query);
    const page = await annotations.lists.findFolderPage({ folderId: params.id, recurse: query.recurse, caller }, paging);
    return replyPage(page, (annotation) => jsonWithoutElements(storedView(annotation, { access: true })));
  },
});

const checkPresence = defineRoute({
  method: 'get',
  path: '/annotation/folder/:id/present',
  summary: 'Check whether a folder has annotations that you administer.',
  access: 'public',
  scope: scopes.read,
  params: folderPath,
  query: { recurse: recurseParameter(true) },
  returns: { schema: { type: 'boolean' } },
  errors: ['invalid'],
  async handle({ params, query, caller }, { annotations }) {
    const hasAny = await annotations.lists.hasAnyInFolder({ folderId: params.id, recurse: query.recurse, caller });
    return Reply.json(hasAny, { headers: privateHeaders });
  },
});

const mayCreate = defineRoute({
  method: 'get',
  path: '/annotation/folder/:id/create',
  summary: 'Check whether you can create annotations on the items of a folder.',
  access: 'user',
  scope: scopes.read,
  params: folderPath,
  returns: { schema: { type: 'boolean' } },
  errors: ['invalid', 'unknown-id', 'access-denied'],
  async handle({ params, caller }, { items, annotations }) {
    const folder = await items.loadFolder(params.id, 0, caller);
    if (await items.hasFolderLevel(folder, 1, caller)) return true;
    return annotations.permissions.hasCreationFlag(folder.id, caller);
  },
});

const setAccess = defineRoute({
  method: 'put',
  path: '/annotation/folder/:id/access',
  summary: 'Set the permissions on the annotations in a folder that you administer.',
  access: 'user',
  scope: scopes.own,
  params: folderPath,
  query: {
    recurse: recurseParameter(false),
    ...accessQuery,
    keepCreators: withDefault(
      boolean({ description: 'Whether creators to whom the new list gives access keep a higher level on their annotations.' }),
      false,
    ),
  },
  returns: { schema: { type: 'object', properties: { updated: { type: 'integer' } } } },
  errors: ['invalid', 'bad-parameter'],
  async handle({ params, query, caller }, { annotations }) {
    const selection = await annotations.lists.toSelection({ folderId: params.id, recurse: query.recurse, caller });
    // The new list may name everyone on the folder's own list, even users whom the caller cannot see.
    const folderPermissions = await annotations.permissions.findFolderPermissions(params.id);
    const change = await annotations.permissions.readChange(query, caller, folderPermissions?.access);
    return { updated: await annotations.bulkChanges.setAccess(selection, change, query) };
  },
});

const remove = defineRoute({
  method: 'delete',
  path: '/annotation/folder/:id',
  summary: 'Delete the annotations in a folder that you administer.',
  access: 'user',
  scope: scopes.write,
  params: folderPath,
  query: { recurse: recurseParameter(false) },
  returns: { schema: { type: 'object', properties: { deleted: { type: 'integer' } } } },
  errors: ['invalid'],
  async handle({ params, query, caller }, { annotations }) {
    const selection = await annotations.lists.toSelection({ folderId: params.id, recurse: query.recurse, caller });
    return { deleted: await annotations.bulkChanges.remove(selection) };
  },
});

/** Routes for the annotations in a folder. */
export const annotationFolderRoutes = [list, checkPresence, mayCreate, setAccess, remove];
