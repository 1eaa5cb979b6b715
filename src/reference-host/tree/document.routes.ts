import type { Caller } from '../../index.js';
import { accessSchema, boolean, objectOf, withDefault, type RouteDefinition, type Schema } from '../../larger-host.js';
import { defineRoute, type HostContext } from '../context.js';
import type { AccessControlled, GrantedLevel } from '../access/access-list.model.js';
import { describeAccessList, loadPrincipal, type Principal } from '../access/access.js';
import type { AccessChange } from '../access/folder-access.js';
import { createMetadataRemoval, createMetadataUpdate, type MetadataUpdate } from './metadata.js';
import { readAccessChange, accessQuery, addAccessList } from '../access/access.routes.js';
import { byId, returnsMessage, scopes } from '../http/parameters.js';

/** A kind of document with its own routes: how to load, show and change it. */
export interface DocumentKind<D> {
  /** First part of the routes' paths, and the word for the document in messages. */
  type: 'collection' | 'folder' | 'item' | 'user';
  /** @throws UnknownIdError, AccessDeniedError */
  load: (context: HostContext, id: string, principal: Principal, level: GrantedLevel) => Promise<D>;
  view: (document: D, principal: Principal) => Record<string, unknown>;
  /** Schema of the result of `view`. */
  schema: Schema;
}

type Routes = RouteDefinition<HostContext>[];

const loadErrors = ['unknown-id', 'access-denied'] as const;
const changeErrors = ['unknown-id', 'invalid', 'access-denied'] as const;

/** GET of one document. */
export function createReadRoutes<D>({ type, load, view, schema }: DocumentKind<D>): Routes {
  return [
    defineRoute({
      method: 'get',
      path: `/${type}/:id`,
      summary: `Get one ${type}.`,
      access: 'public',
      scope: scopes.read,
      params: byId,
      returns: { schema },
      errors: loadErrors,
      async handle({ params, caller }, context) {
        const principal = await loadPrincipal(context, caller);
        return view(await load(context, params.id, principal, 0), principal);
      },
    }),
  ];
}

/** DELETE of one document with everything in it. */
export function createRemovalRoutes<D>(
  { type, load }: DocumentKind<D>,
  options: { level: 1 | 2; remove(context: HostContext, document: D): Promise<void>; nameOf(document: D): string },
): Routes {
  return [
    defineRoute({
      method: 'delete',
      path: `/${type}/:id`,
      summary: `Remove one ${type} with everything in it.`,
      access: 'user',
      scope: options.level === 2 ? scopes.own : scopes.write,
      params: byId,
      returns: returnsMessage,
      errors: loadErrors,
      async handle({ params, caller }, context) {
        const document = await load(context, params.id, await loadPrincipal(context, caller), options.level);
        await options.remove(context, document);
        return { message: `Deleted ${type} ${options.nameOf(document)}.` };
      },
    }),
  ];
}

/** The schema of a document with its list of permissions. */
function withAccessSchema(schema: Schema): Schema {
  return { allOf: [schema, objectOf({ access: accessSchema })] };
}

/**
 * GET and PUT of the access list.
 *
 * @param setAccess changes the list. `administrator` is the caller if the folders below get the same list, otherwise `null`.
 */
export function createAccessRoutes<D extends AccessControlled>(
  { type, load, view, schema }: DocumentKind<D>,
  setAccess: (context: HostContext, document: D, change: AccessChange, administrator: Principal | null) => Promise<D>,
): Routes {
  const sharedMembers = {
    path: `/${type}/:id/access`,
    access: 'user',
    scope: scopes.own,
    params: byId,
  } as const;
  return [
    defineRoute({
      ...sharedMembers,
      method: 'get',
      summary: `Get the permissions of one ${type}.`,
      returns: { schema: accessSchema },
      errors: loadErrors,
      async handle({ params, caller }, context) {
        return describeAccessList(context, await load(context, params.id, await loadPrincipal(context, caller), 2));
      },
    }),
    defineRoute({
      ...sharedMembers,
      method: 'put',
      summary: `Replace the permissions of one ${type}.`,
      returns: { schema: withAccessSchema(schema) },
      query: accessQuery,
      errors: changeErrors,
      async handle({ params, query, caller }, context) {
        const principal = await loadPrincipal(context, caller);
        const document = await load(context, params.id, principal, 2);
        const updatedDocument = await setAccess(
          context,
          document,
          await readAccessChange(context, query, caller, document),
          query.recurse ? principal : null,
        );
        return addAccessList(context, view(updatedDocument, principal), updatedDocument);
      },
    }),
  ];
}

/** PUT and DELETE of metadata. */
export function createMetadataRoutes<D>(
  { type, load, view, schema }: DocumentKind<D>,
  setMetadata: (context: HostContext, document: D, update: MetadataUpdate) => Promise<D>,
): Routes {
  const authorize = createWriteAuthorizer({ load });
  const sharedMembers = {
    path: `/${type}/:id/metadata`,
    access: 'user',
    scope: scopes.write,
    params: byId,
    returns: { schema },
    errors: changeErrors,
  } as const;
  return [
    defineRoute({
      ...sharedMembers,
      method: 'put',
      summary: `Merge keys into the metadata of one ${type}.`,
      query: {
        allowNull: withDefault(boolean({ description: 'Whether null is a value; otherwise it removes the key.' }), false),
      },
      body: 'json-object',
      bodyName: 'metadata',
      authorize,
      async handle({ query, authorized: { document, principal }, body }, context) {
        return view(await setMetadata(context, document, createMetadataUpdate(body, query.allowNull)), principal);
      },
    }),
    defineRoute({
      ...sharedMembers,
      method: 'delete',
      summary: `Remove keys from the metadata of one ${type}.`,
      body: 'json-array',
      bodyName: 'fields',
      authorize,
      async handle({ authorized: { document, principal }, body }, context) {
        return view(await setMetadata(context, document, createMetadataRemoval(body)), principal);
      },
    }),
  ];
}

/** Members shared by all download routes, which browsers load without scripts. */
export const downloadRoute = {
  method: 'get',
  access: 'public',
  scope: scopes.read,
  cookie: true,
  params: byId,
  errors: ['unknown-id', 'access-denied', 'not-found'],
} as const;

/**
 * Creates a function that loads the document named in the path, and the caller's principal. It throws if the caller cannot read the
 * document.
 */
export function createReadAuthorizer<D>({ load }: Pick<DocumentKind<D>, 'load'>) {
  return async ({ params, caller }: { params: { id: string }; caller: Caller | null }, context: HostContext) => {
    const principal = await loadPrincipal(context, caller);
    return { document: await load(context, params.id, principal, 0), principal };
  };
}

/**
 * Creates a function that loads the document named in the path, and the caller's principal. It throws if the caller cannot change the
 * document.
 */
function createWriteAuthorizer<D>({ load }: Pick<DocumentKind<D>, 'load'>) {
  return async ({ params, caller }: { params: { id: string }; caller: Caller | null }, context: HostContext) => {
    const principal = await loadPrincipal(context, caller);
    return { document: await load(context, params.id, principal, 1), principal };
  };
}
