import { create as contentDisposition } from 'content-disposition';
import { idText } from '../../core/database/id-text.js';
import { BadParameterError, InvalidError } from '../../errors.js';
import type { Caller } from '../../host.js';
import { boolean, id, integer, isId, oneOf, required, withDefault } from '../../http/parameters.js';
import { Reply } from '../../http/reply.js';
import { routeDefiner } from '../../http/route.js';
import { anyInteger, idText as anId, listOf, nothing, objectOf, anyBoolean } from '../../http/schemas.js';
import { scopes } from '../../http/scopes.js';
import type { Items } from '../items/items.js';
import type { CommentModel } from './comment.model.js';
import { exportComments, exportFormats, exportFileName, type ExportFormat } from './comment-export.js';
import {
  commentSchema,
  editSchema,
  exportSchema,
  inboxSchema,
  newCommentSchema,
  placesSchema,
  replySchema,
} from './comment-schemas.js';
import type { CommentViews } from './comment-views.js';
import type { Comments } from './comments.js';
import type { Inbox } from './inbox.js';

/** The context of the routes. */
interface CommentContext {
  comments: Comments;
  model: CommentModel;
  views: CommentViews;
  inbox: Inbox;
  items: Items;
}

/** A caller who is a user: `access: 'user'` admits nobody else. */
type User = Caller & { id: string };

const defineRoute = routeDefiner<CommentContext>();

const maxEntriesPerPage = 100;
const maxMarkedComments = 1000;

const itemPath = { itemId: required(id({ description: 'The id of the item.' })) };
const commentPath = { id: required(id({ description: 'The id of the comment.' })) };

const paging = {
  limit: withDefault(integer({ minimum: 1, maximum: maxEntriesPerPage, description: 'Maximum number of entries.' }), 50),
  offset: withDefault(integer({ minimum: 0, description: 'Number of entries to skip.' }), 0),
};

const stateQuery = { state: oneOf(['open', 'resolved'], { description: 'Only threads in this state. Default: all.' }) };

const readRoute = { method: 'get', access: 'public', scope: scopes.read } as const;
const writeRoute = { access: 'user', scope: scopes.write } as const;

const list = defineRoute({
  ...readRoute,
  path: '/item/:itemId/comment',
  summary: 'List the first comment of each thread on an item, newest first.',
  description: 'The header `Girder-Total-Count` is the total number.',
  params: itemPath,
  query: { ...stateQuery, ...paging },
  returns: { schema: listOf(commentSchema) },
  errors: ['invalid', 'bad-parameter', 'unknown-id', 'access-denied'],
  authorize: ({ params, caller }, { items }) => items.load(params.itemId, 0, caller),
  async handle({ authorized: item, query, caller }, { model, views }) {
    const { threads, total } = await model.listThreads(item.id, query.state, query);
    return Reply.json(await views.viewsOf(threads, caller), { headers: { 'Girder-Total-Count': total } });
  },
});

const places = defineRoute({
  ...readRoute,
  path: '/item/:itemId/comment/places',
  summary: 'List the positions of the comments on an item, newest first, for marks on the image.',
  params: itemPath,
  query: stateQuery,
  returns: { schema: placesSchema },
  errors: ['invalid', 'bad-parameter', 'unknown-id', 'access-denied'],
  authorize: ({ params, caller }, { items }) => items.load(params.itemId, 0, caller),
  handle: async ({ authorized: item, query }, { model }) =>
    (await model.listPlaces(item.id, query.state)).map(({ _id, place, resolved }) => ({
      _id: idText(_id),
      place,
      state: resolved === null ? 'open' : 'resolved',
    })),
});

const download = defineRoute({
  ...readRoute,
  path: '/item/:itemId/comment/export',
  summary: 'Download the comments on an item with their replies, positions, shapes, authors, dates and states.',
  cookie: true,
  params: itemPath,
  query: {
    format: withDefault<ExportFormat>(oneOf(['csv', 'json', 'geojson'], { description: 'Format of the file.' }), 'csv'),
  },
  returns: { schema: exportSchema, types: ['text/csv', 'application/json', 'application/geo+json'] },
  errors: ['invalid', 'bad-parameter', 'unknown-id', 'access-denied'],
  authorize: ({ params, caller }, { items }) => items.load(params.itemId, 0, caller),
  handle: ({ authorized: item, query: { format }, caller }, { model, views }) =>
    Reply.stream(exportComments(item.id, format, { model, views, caller }), exportFormats[format], {
      headers: { 'Content-Disposition': contentDisposition(exportFileName(item.name, format)) },
    }),
});

const begin = defineRoute({
  ...writeRoute,
  method: 'post',
  path: '/item/:itemId/comment',
  summary: 'Comment on an item: on a position, a shape, or the whole image.',
  description: 'Only for users who can annotate the item.',
  params: itemPath,
  body: 'json-object',
  accepts: newCommentSchema,
  returns: { schema: commentSchema },
  errors: ['invalid', 'unknown-id', 'not-found', 'access-denied', 'forbidden', 'conflict'],
  authorize: ({ params, caller }, { comments }) => comments.loadItemToComment(params.itemId, caller),
  handle: async ({ authorized: item, body, caller }, { comments, views }) =>
    views.viewOf(await comments.beginThread(item, body, caller as User), caller),
});

const inboxList = defineRoute({
  method: 'get',
  path: '/comment/inbox',
  summary: 'List the comments that mention you or reply to you, newest first.',
  description:
    'A reply is in the inbox of everybody who has written in its thread before. Of the newest 1000 comments, those on items that you can currently read are listed. The header `Girder-Total-Count` is their total number.',
  access: 'user',
  scope: scopes.read,
  query: { unread: withDefault(boolean({ description: 'Only unread ones.' }), false), ...paging },
  returns: { schema: inboxSchema },
  errors: ['bad-parameter'],
  async handle({ query: { unread, limit, offset }, caller }, { inbox }) {
    const { entries, total } = await inbox.list(caller as User, { onlyUnread: unread, limit, offset });
    return Reply.json(entries, { headers: { 'Girder-Total-Count': total } });
  },
});

const inboxCount = defineRoute({
  method: 'get',
  path: '/comment/inbox/count',
  summary: 'Count the comments that mention you or reply to you.',
  access: 'user',
  scope: scopes.read,
  returns: { schema: objectOf({ total: anyInteger, unread: anyInteger }) },
  handle: ({ caller }, { inbox }) => inbox.count(caller as User),
});

/** Reads which comments to mark. @throws InvalidError, BadParameterError */
function readMarkRequest({ read, ids, threadId, ...unknownMembers }: Readonly<Record<string, unknown>>) {
  const [unknownName] = Object.keys(unknownMembers);
  if (unknownName !== undefined)
    throw new InvalidError(`${JSON.stringify(unknownName.slice(0, 40))} is not one of read, ids, threadId.`);
  if (typeof read !== 'boolean') throw new InvalidError('read must be true or false.', 'read');
  const isIdText = (value: unknown): value is string => typeof value === 'string' && isId(value);
  if (threadId !== undefined && !isIdText(threadId)) throw new InvalidError('threadId must be an id.', 'threadId');
  if (ids === undefined) return { read, selection: { ...(threadId !== undefined && { threadId }) } };
  if (!Array.isArray(ids) || !ids.every(isIdText)) throw new InvalidError('ids must be a list of ids.', 'ids');
  if (ids.length > maxMarkedComments) throw new BadParameterError(`ids can have at most ${maxMarkedComments} entries.`);
  return { read, selection: { ids, ...(threadId !== undefined && { threadId }) } };
}

const mark = defineRoute({
  ...writeRoute,
  method: 'put',
  path: '/comment/inbox',
  summary: 'Mark comments in your inbox as read or unread.',
  body: 'json-object',
  accepts: objectOf(
    { read: anyBoolean },
    {
      ids: { ...listOf(anId), description: 'Only these comments, at most 1000. Default: all.' },
      threadId: { ...anId, description: 'Only comments in this thread.' },
    },
  ),
  returns: { schema: objectOf({ total: anyInteger, unread: anyInteger }) },
  errors: ['invalid', 'bad-parameter'],
  authorize: ({ caller }) => caller as User,
  async handle({ authorized: user, body }, { model, inbox }) {
    const { read, selection } = readMarkRequest(body);
    await model.setRead(user.id, read, selection);
    return inbox.count(user);
  },
});

const get = defineRoute({
  ...readRoute,
  path: '/comment/:id',
  summary: 'Get a comment.',
  params: commentPath,
  returns: { schema: commentSchema },
  errors: ['invalid', 'unknown-id', 'access-denied'],
  authorize: ({ params, caller }, { comments }) => comments.load(params.id, caller),
  handle: ({ authorized: { comment }, caller }, { views }) => views.viewOf(comment, caller),
});

const replies = defineRoute({
  ...readRoute,
  path: '/comment/:id/reply',
  summary: 'List the replies in the thread of a comment, oldest first.',
  description: 'The header `Girder-Total-Count` is the total number.',
  params: commentPath,
  query: paging,
  returns: { schema: listOf(commentSchema) },
  errors: ['invalid', 'bad-parameter', 'unknown-id', 'access-denied'],
  authorize: ({ params, caller }, { comments }) => comments.load(params.id, caller),
  async handle({ authorized: { comment }, query, caller }, { model, views }) {
    const threadId = comment.threadId ?? comment._id;
    const replyViews = await views.viewsOf(await model.listReplies(threadId, query), caller);
    const total = (await model.countReplies([threadId])).get(idText(threadId)) ?? 0;
    return Reply.json(replyViews, { headers: { 'Girder-Total-Count': total } });
  },
});

const reply = defineRoute({
  ...writeRoute,
  method: 'post',
  path: '/comment/:id/reply',
  summary: 'Reply in the thread of a comment.',
  description: 'Only for users who can annotate the item.',
  params: commentPath,
  body: 'json-object',
  accepts: replySchema,
  returns: { schema: commentSchema },
  errors: ['invalid', 'unknown-id', 'access-denied', 'forbidden', 'conflict'],
  authorize: ({ params, caller }, { comments }) => comments.loadToWrite(params.id, caller),
  handle: async ({ authorized, body, caller }, { comments, views }) =>
    views.viewOf(await comments.reply(authorized, body, caller as User), caller),
});

const edit = defineRoute({
  ...writeRoute,
  method: 'put',
  path: '/comment/:id',
  summary: 'Change the text of a comment that you wrote.',
  params: commentPath,
  body: 'json-object',
  accepts: editSchema,
  returns: { schema: commentSchema },
  errors: ['invalid', 'unknown-id', 'access-denied', 'forbidden', 'conflict'],
  authorize: ({ params, caller }, { comments }) => comments.loadToEdit(params.id, caller),
  handle: async ({ authorized, body, caller }, { comments, views }) =>
    views.viewOf(await comments.edit(authorized, body, caller as User), caller),
});

const setState = defineRoute({
  ...writeRoute,
  method: 'put',
  path: '/comment/:id/state',
  summary: 'Resolve a thread, or open it again.',
  description: 'Only for users who can annotate the item. If several users resolve a thread, the first one is recorded.',
  params: commentPath,
  body: 'json-object',
  accepts: objectOf({ state: { type: 'string', enum: ['open', 'resolved'] } }),
  returns: { schema: commentSchema },
  errors: ['invalid', 'unknown-id', 'access-denied', 'forbidden'],
  authorize: ({ params, caller }, { comments }) => comments.loadToWrite(params.id, caller),
  handle: async ({ authorized, body, caller }, { comments, views }) =>
    views.viewOf(await comments.setState(authorized, body.state, caller as User), caller),
});

const remove = defineRoute({
  ...writeRoute,
  method: 'delete',
  path: '/comment/:id',
  summary: 'Delete a comment that you wrote, or one on an item that you administer.',
  description: 'Replies to it are kept. The first comment of their thread then has an empty text, and `deleted` is true.',
  params: commentPath,
  returns: { schema: nothing },
  errors: ['invalid', 'unknown-id', 'access-denied', 'forbidden'],
  authorize: ({ params, caller }, { comments }) => comments.loadToDelete(params.id, caller),
  async handle({ authorized }, { comments }) {
    await comments.remove(authorized);
    return null;
  },
});

/** Routes for comments and inboxes. */
export const commentRoutes = [
  list,
  places,
  download,
  begin,
  inboxList,
  inboxCount,
  mark,
  get,
  replies,
  reply,
  edit,
  setState,
  remove,
];
