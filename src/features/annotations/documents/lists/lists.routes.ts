import { AccessDeniedError, InvalidError, LevelDeniedError } from '../../../../errors.js';
import type { Caller } from '../../../../host.js';
import type { Items } from '../../../items/items.js';
import { itemSchema, listOf, mapOf, anyBoolean, anyInteger } from '../../../../http/schemas.js';
import { scopes } from '../../../../http/scopes.js';
import { defineRoute } from '../../context.js';
import { id, integer, isId, required, text, withDefault } from '../../../../http/parameters.js';
import { Reply } from '../../../../http/reply.js';
import { annotationEventStream } from './event-stream.js';
import { annotationPaging, parsePaging } from '../../parameters.js';
import { annotationListSchema } from '../../schemas.js';
import { replyPage } from '../../replies.js';
import { filteredView, privateHeaders, jsonWithoutElements } from '../../views.js';

/**
 * Checks that the caller may read an item. The error names the item, while errors of other routes name its folder.
 *
 * @throws UnknownIdError, AccessDeniedError
 */
async function requireItem(items: Items, itemId: string, caller: Caller | null): Promise<void> {
  try {
    await items.load(itemId, 0, caller);
  } catch (error) {
    if (!(error instanceof AccessDeniedError)) throw error;
    throw new LevelDeniedError(0, `item ${itemId}`, caller?.id);
  }
}

const find = defineRoute({
  method: 'get',
  path: '/annotation',
  forLinks: true,
  summary: 'List annotations that you can read, without elements.',
  access: 'public',
  scope: scopes.read,
  query: {
    itemId: id({ description: 'Annotations of this item.' }),
    userId: text({ description: 'Annotations made by this user.' }),
    text: text({ description: 'Annotations with one of these words in name or description.' }),
    name: text({ description: 'Annotations with exactly this name.' }),
    ...annotationPaging('lowerName', 1),
  },
  returns: { schema: annotationListSchema },
  errors: ['invalid', 'bad-parameter', 'unknown-id', 'access-denied'],
  async handle({ query, caller }, { items, annotations }) {
    const paging = parsePaging(query);
    if (query.itemId !== undefined) await requireItem(items, query.itemId, caller);
    const { itemId, userId: creatorId, name, text: words } = query;
    const search = { itemId, creatorId: creatorId === '' ? undefined : creatorId, name, text: words };
    return replyPage(await annotations.lists.findPage(search, paging, caller), async (annotation) =>
      jsonWithoutElements(filteredView(annotation, await annotations.permissions.findShownLevel(annotation, caller))),
    );
  },
});

const listDeleted = defineRoute({
  method: 'get',
  path: '/annotation/deleted',
  summary: 'List the deleted annotations of an item that you can restore, without elements.',
  description: 'Reverting one (`PUT annotation/:id/history/revert`) restores it.',
  access: 'public',
  scope: scopes.read,
  query: {
    itemId: required(id({ description: 'Deleted annotations of this item.' })),
    ...annotationPaging('updated', -1),
  },
  returns: { schema: annotationListSchema },
  errors: ['invalid', 'bad-parameter', 'unknown-id', 'access-denied'],
  async handle({ query, caller }, { items, annotations }) {
    await requireItem(items, query.itemId, caller);
    return replyPage(await annotations.lists.listDeleted(query.itemId, parsePaging(query), caller), async (annotation) =>
      jsonWithoutElements(filteredView(annotation, await annotations.permissions.findShownLevel(annotation, caller))),
    );
  },
});

const events = defineRoute({
  method: 'get',
  path: '/annotation/events',
  forLinks: true,
  summary: 'Get the changes of the annotations of an item as server-sent events.',
  description:
    'Each event is `data: {"total": …, "version": …, "writable": …, "administered": …}`: how many annotations of the item you can read, the ' +
    'newest of their versions (`null` without any), and how many of them you can change and administer. The first is sent immediately, others within about three seconds of a change, no matter in which process it happens. A token in the ' +
    'cookie or the parameter `token` is accepted.',
  access: 'public',
  scope: scopes.read,
  cookie: true,
  query: {
    itemId: required(id({ description: 'The item.' })),
    timeout: withDefault(integer({ minimum: 1, maximum: 3600, description: 'Seconds after which it ends.' }), 900),
  },
  returns: { types: ['text/event-stream'] },
  errors: ['bad-parameter', 'unknown-id', 'access-denied'],
  authorize: ({ query, caller }, { items }) => requireItem(items, query.itemId, caller),
  handle({ query: { itemId, timeout }, caller, signal }, { items, annotations, streamsEnd }) {
    const mayFollow = () =>
      requireItem(items, itemId, caller).then(
        () => true,
        () => false,
      );
    return annotationEventStream(annotations.lists, {
      itemId,
      caller,
      mayFollow,
      durationMs: timeout * 1000,
      signals: [signal, streamsEnd],
    });
  },
});

/** Maximum number of items in one request for counts. */
const maxItems = 10_000;

const counts = defineRoute({
  method: 'get',
  path: '/annotation/counts',
  summary: 'Count the annotations of some items that you can read.',
  description: 'The member `referenced` names the items that image and pixelmap elements show; it is absent if there are none.',
  access: 'public',
  scope: scopes.read,
  query: { items: required(text({ description: 'Ids of items, separated by commas.' })) },
  returns: {
    schema: {
      type: 'object',
      properties: { referenced: mapOf(anyBoolean) },
      additionalProperties: { oneOf: [anyInteger, mapOf(anyBoolean)] },
    },
  },
  errors: ['bad-parameter', 'invalid', 'unknown-id', 'access-denied'],
  async handle({ query, caller }, { annotations }) {
    const ids = [...new Set(query.items.split(',').map((part) => part.trim()))].filter((part) => part !== '');
    for (const itemId of ids) if (!isId(itemId)) throw new InvalidError(`Invalid ObjectId: ${itemId}`, 'id');
    if (ids.length > maxItems) throw new InvalidError(`At most ${maxItems} items can be counted at once.`, 'items');
    const itemIds = ids.map((part) => part.toLowerCase());
    const { counts: countByItem, referenced } = await annotations.lists.countWithReferences(itemIds, caller);
    const result: Record<string, unknown> = {};
    for (const itemId of itemIds) result[itemId] = countByItem.get(itemId) ?? 0;
    if (referenced.size > 0) result.referenced = Object.fromEntries([...referenced].map((itemId) => [itemId, true]));
    return Reply.json(result, { headers: privateHeaders });
  },
});

const images = defineRoute({
  method: 'get',
  path: '/annotation/images',
  summary: 'List items that have annotations you can read, most recently annotated first.',
  access: 'public',
  scope: scopes.read,
  query: {
    creatorId: text({ description: 'Only items annotated by this user.' }),
    imageName: text({ description: "Beginning of the item's name, or of a word in it; letter case is ignored." }),
    ...annotationPaging('updated', -1),
  },
  returns: { schema: listOf(itemSchema) },
  errors: ['bad-parameter', 'unknown-id'],
  async handle({ query, caller }, { annotations, records }) {
    const { limit, offset, sort } = parsePaging(query);
    const [[field, direction] = ['_id', 1] as const] = sort;
    const { creatorId, imageName } = query;
    const search = { creatorId: creatorId === '' ? undefined : creatorId, imageName };
    const { items, total } = await annotations.lists.listImages(search, { limit, offset, sort: field, direction }, caller);
    const docs = items.map((item) => ({ ...records.itemView(item), _modelType: 'item' }));
    return Reply.json(docs, { headers: { 'Girder-Total-Count': total, ...privateHeaders } });
  },
});

const cleanupQuery = {
  age: withDefault(integer({ description: 'Days after which a version is old.' }), 30),
  versions: withDefault(integer({ description: 'Number of previous versions of each annotation to keep.' }), 10),
};

const versionCountsSchema = {
  type: 'object',
  properties: {
    ...Object.fromEntries(
      ['active', 'recentVersions', 'oldVersions', 'fromDeletedItems', 'abandonedVersions', 'removedVersions'].map((name) => [
        name,
        { type: 'integer' },
      ]),
    ),
    complete: { type: 'boolean', description: 'False if the work continues. The numbers are then those of the first 20 s.' },
  },
};

const countOldVersions = defineRoute({
  method: 'get',
  path: '/annotation/old',
  summary: 'Count the versions of annotations that a cleanup would remove.',
  access: 'admin',
  scope: scopes.read,
  query: cleanupQuery,
  returns: { schema: versionCountsSchema },
  errors: ['bad-parameter', 'invalid'],
  handle: ({ query }, { annotations }) =>
    annotations.cleanup.cleanUpOldVersionsInTime({ ageDays: query.age, keepCount: query.versions, shouldRemove: false }),
});

const removeOldVersions = defineRoute({
  method: 'delete',
  path: '/annotation/old',
  summary: 'Remove old versions of annotations, and annotations of items that no longer exist.',
  access: 'admin',
  scope: scopes.write,
  query: cleanupQuery,
  returns: { schema: versionCountsSchema },
  errors: ['bad-parameter', 'invalid'],
  handle: ({ query }, { annotations }) =>
    annotations.cleanup.cleanUpOldVersionsInTime({ ageDays: query.age, keepCount: query.versions, shouldRemove: true }),
});

/** Routes for lists of all annotations. */
export const annotationListRoutes = [find, listDeleted, events, counts, images, countOldVersions, removeOldVersions];
