import { callerWithScope } from '../../http/authentication.js';
import { id, required } from '../../http/parameters.js';
import { Reply } from '../../http/reply.js';
import { routeDefiner, type RouteRequest } from '../../http/route.js';
import { anyObject, anyText, component, dateText, idText, listOf, objectOf, orNull, anyBoolean } from '../../http/schemas.js';
import { scopes } from '../../http/scopes.js';
import { InvalidError, LargeImageError } from '../../errors.js';
import type { HostRecords } from '../../core/host/host-records.js';
import { limitsOf } from '../../core/host/link-holder.js';
import type { Caller } from '../../host.js';
import type { Items } from '../items/items.js';
import type { LinkDocument } from './link.model.js';
import { linkKinds, type LinkSubject } from './link-kinds.js';
import { noLinkError, pageTokenPrefix, type Links, type NewLink } from './links.js';

const defineRoute = routeDefiner<{ links: Links; items: Items; records: HostRecords }>();

const kindSchema = { type: 'string', enum: linkKinds } as const;

const linkRequestFields = {
  name: { ...anyText, description: 'Purpose or recipient of the link. At most 200 characters.' },
  opens: {
    ...listOf(kindSchema),
    description: 'Interfaces that the link opens. Default: all that this server has, except `view`, the page of the image.',
  },
  associated: {
    ...anyBoolean,
    description: 'Whether the link also opens label, macro and other associated images. Default false.',
  },
  annotations: {
    ...anyBoolean,
    description: 'Whether the page that the link opens shows annotations. Default true.',
  },
  expires: {
    ...orNull(dateText),
    description: 'When the link expires. Default: in seven days. `null`: never, if the setting `links_without_end` allows it.',
  },
};

const linkRequestSchema = component('LinkRequest', objectOf({}, linkRequestFields));

const linkResponseFields = {
  _id: idText,
  subject: objectOf({ type: { type: 'string', enum: ['item', 'folder'] }, id: idText }),
  name: anyText,
  prefix: { ...anyText, description: 'First characters of the token.' },
  opens: listOf(kindSchema),
  associated: anyBoolean,
  annotations: anyBoolean,
  makerId: idText,
  created: dateText,
  expires: orNull(dateText),
  lastUsed: { ...orNull(dateText), description: 'Last use, to within a minute.' },
};

const linkSchema = component('Link', objectOf(linkResponseFields));

const newLinkSchema = component(
  'NewLink',
  objectOf({ ...linkResponseFields, token: { ...anyText, description: 'The token. It is shown only in this response.' } }),
);

function linkView({ digest: _digest, ...link }: LinkDocument) {
  const { _id, subject, name, prefix, opens, associated, annotations, makerId, created, expires, lastUsed } = link;
  return {
    _id,
    subject: { type: subject.type, id: subject.id },
    name,
    prefix,
    opens,
    associated,
    annotations,
    makerId,
    created,
    expires,
    lastUsed,
  };
}

/** A caller who is a user: `access: 'user'` admits nobody else. */
type User = Caller & { id: string };

/** Reads a body of {@link linkRequestSchema}. @throws InvalidError */
function readLinkRequest(body: Readonly<Record<string, unknown>>): Omit<NewLink, 'subject'> {
  const unknownName = Object.keys(body).find((name) => !(name in linkRequestFields));
  if (unknownName !== undefined) {
    const fieldNames = Object.keys(linkRequestFields).join(', ');
    throw new InvalidError(
      `Links have no member ${JSON.stringify(unknownName.slice(0, 40))}. They have ${fieldNames}.`,
      unknownName.slice(0, 40),
    );
  }
  const { name, opens, associated, annotations, expires } = body;
  const refuse = (field: string, rule: string): never => {
    throw new InvalidError(`${field} must be ${rule}.`, field);
  };
  if (name !== undefined && typeof name !== 'string') return refuse('name', 'text');
  if (associated !== undefined && typeof associated !== 'boolean') return refuse('associated', 'true or false');
  if (annotations !== undefined && typeof annotations !== 'boolean') return refuse('annotations', 'true or false');
  const isKindList = opens === undefined || (Array.isArray(opens) && opens.every((kind) => typeof kind === 'string'));
  if (!isKindList) return refuse('opens', `a list of ${linkKinds.join(', ')}`);
  const members = { name, associated, annotations, opens: opens as readonly string[] | undefined };
  if (expires === undefined || expires === null) return { ...members, expires };
  const date = typeof expires === 'string' ? new Date(expires) : new Date(NaN);
  return Number.isNaN(date.getTime()) ? refuse('expires', 'a date and time in ISO 8601, or null') : { ...members, expires: date };
}

/** The item or folder of a request. The caller must be allowed to read it. */
async function loadSubject(
  { params, caller }: Pick<RouteRequest, 'params' | 'caller'>,
  { items }: { items: Items },
): Promise<LinkSubject> {
  const { itemId, folderId } = params as { itemId?: string; folderId?: string };
  if (itemId !== undefined) return { type: 'item', id: (await items.load(itemId, 0, caller)).id };
  return { type: 'folder', id: (await items.loadFolder(folderId!, 0, caller)).id };
}

/**
 * Like {@link loadSubject}, but the caller must be allowed to make links to the subject. A link allows reading, so the caller's token
 * must allow reading too.
 */
async function loadSubjectToShare(
  request: Pick<RouteRequest, 'params' | 'caller' | 'verified'>,
  { links, items }: { links: Links; items: Items },
): Promise<LinkSubject> {
  const { params, caller, verified } = request;
  if (callerWithScope(verified, scopes.read) === null) {
    throw new LargeImageError('login-required', `Creating a link also needs a token with the scope ${scopes.read}.`);
  }
  const level = await links.levelToMakeLinks();
  if (level === null)
    throw new LargeImageError('forbidden', 'This server does not allow creating links (setting large_image.links).');
  const subject = await loadSubject({ params, caller }, { items });
  if (level === 1) await (subject.type === 'item' ? items.load(subject.id, 1, caller) : items.loadFolder(subject.id, 1, caller));
  links.requireMakerLookup();
  return subject;
}

const listRoute = {
  method: 'get',
  access: 'user',
  scope: scopes.read,
  returns: { schema: listOf(linkSchema) },
  errors: ['unknown-id', 'access-denied', 'invalid'],
  description: 'Users who administer it see all links, others only their own. Links are listed for 30 days after they expire.',
  authorize: loadSubject,
} as const;

const createRoute = {
  method: 'post',
  access: 'user',
  scope: scopes.write,
  body: 'json-object',
  bodyOptional: true,
  accepts: linkRequestSchema,
  returns: { schema: newLinkSchema },
  errors: ['unknown-id', 'access-denied', 'forbidden', 'invalid', 'conflict', 'not-implemented'],
  authorize: loadSubjectToShare,
} as const;

const itemPath = { itemId: required(id({ description: 'The id of the item.' })) };
const folderPath = { folderId: required(id({ description: 'The id of the folder.' })) };

interface LinkRouteInput {
  authorized: LinkSubject;
  caller: Caller | null;
}

async function listLinks({ authorized: subject, caller }: LinkRouteInput, { links }: { links: Links }) {
  const listsAll = await links.administers(subject, caller!);
  return (await links.list(subject, caller as User, { all: listsAll })).map(linkView);
}

async function makeLink(
  { authorized: subject, caller, body }: LinkRouteInput & { body: Record<string, unknown> | undefined },
  { links }: { links: Links },
): Promise<Reply> {
  const { link, token } = await links.make({ subject, ...readLinkRequest(body ?? {}) }, caller as User);
  return Reply.json({ ...linkView(link), token }, { headers: { 'Cache-Control': 'no-store' } });
}

const listOfItem = defineRoute({
  ...listRoute,
  path: '/item/:itemId/link',
  summary: 'List the links to an item.',
  params: itemPath,
  handle: listLinks,
});

const createForItem = defineRoute({
  ...createRoute,
  path: '/item/:itemId/link',
  summary: 'Create a link that gives people and programs without an account access to an item.',
  description: 'The link only reads this item, with the permissions that its creator has at the time of use.',
  params: itemPath,
  handle: makeLink,
});

const listOfFolder = defineRoute({
  ...listRoute,
  path: '/folder/:folderId/link',
  summary: 'List the links to a folder.',
  params: folderPath,
  handle: listLinks,
});

const createForFolder = defineRoute({
  ...createRoute,
  path: '/folder/:folderId/link',
  summary: 'Create a link that gives people and programs without an account access to the images of a folder.',
  description:
    'The link only reads the items in this folder, not those in its subfolders, with the permissions that its creator has at the time of use.',
  params: folderPath,
  handle: makeLink,
});

const manageRoute = {
  access: 'user',
  scope: scopes.write,
  params: { linkId: required(id({ description: 'The id of the link.' })) },
  errors: ['unknown-id', 'access-denied', 'invalid'],
  authorize: ({ params, caller }: { params: { linkId: string }; caller: Caller | null }, { links }: { links: Links }) =>
    links.load(params.linkId, caller as User),
} as const;

const get = defineRoute({
  ...manageRoute,
  method: 'get',
  scope: scopes.read,
  path: '/link/:linkId',
  summary: 'Get a link, without its token.',
  description: 'For its creator, and for users who administer the item or folder.',
  returns: { schema: linkSchema },
  handle: ({ authorized: link }) => linkView(link),
});

const getOpened = defineRoute({
  method: 'get',
  path: '/link/view',
  forLinks: true,
  summary:
    'Get the item that a link to the page of an image shows, with its metadata, and whether the page shows annotations and associated images.',
  description: `The token of the request is \`${pageTokenPrefix}\`, followed by the token of the link.`,
  access: 'public',
  scope: scopes.read,
  returns: {
    schema: component(
      'OpenedLink',
      objectOf({
        item: objectOf({ _id: idText, name: anyText, folderId: idText, updated: dateText, meta: anyObject }),
        annotations: anyBoolean,
        associated: anyBoolean,
        expires: orNull(dateText),
      }),
    ),
  },
  errors: ['login-required', 'too-often'],
  async handle({ caller }, { items, records }) {
    const limits = limitsOf(caller);
    if (limits === null) throw noLinkError();
    const item = await items.load(limits.itemId, 0, caller);
    const { id: _id, name, folderId, changedAtMs } = item;
    const meta = records.itemFields.get(item, 'meta') ?? {};
    return {
      item: { _id, name, folderId, updated: new Date(changedAtMs), meta },
      annotations: limits.allowsAnnotations,
      associated: limits.allowsAssociated,
      expires: caller?.expires ?? null,
    };
  },
});

const change = defineRoute({
  ...manageRoute,
  method: 'put',
  path: '/link/:linkId',
  summary: 'Change the name, the expiry or the interfaces of a link. Its token stays the same.',
  body: 'json-object',
  accepts: linkRequestSchema,
  returns: { schema: linkSchema },
  handle: async ({ authorized: link, body }, { links }) => linkView(await links.change(link, readLinkRequest(body))),
});

const revoke = defineRoute({
  ...manageRoute,
  method: 'delete',
  path: '/link/:linkId',
  summary: 'Revoke a link. Requests with its token, including running ones, are refused within five seconds.',
  returns: { schema: { type: 'null' } },
  async handle({ authorized: link }, { links }) {
    await links.revoke(link);
    return null;
  },
});

/** Routes that make and manage links. */
export const linkRoutes = [listOfItem, createForItem, listOfFolder, createForFolder, getOpened, get, change, revoke];
