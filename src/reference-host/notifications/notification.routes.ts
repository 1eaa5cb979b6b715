import { notificationSchema } from '../http/schemas.js';
import { LargeImageError, type Caller } from '../../index.js';
import {
  BadParameterError,
  date,
  eventStream,
  integer,
  text,
  toWire,
  withDefault,
  type RouteDefinition,
  listOf,
} from '../../larger-host.js';
import { Types } from 'mongoose';
import { defineRoute, type HostContext } from '../context.js';
import { isStreamEnabled, listNotifications, notificationView, streamNotifications } from './notifications.js';
import type { NotificationOwner } from './notification-feed.js';
import { findToken, userScope } from '../accounts/tokens/tokens.js';

/** The user or anonymous session whose messages a request gets. */
async function ownerOf(
  { caller, token }: { caller: Caller | null; token: string | null },
  context: HostContext,
): Promise<NotificationOwner> {
  if (caller?.id != null) return { userId: new Types.ObjectId(caller.id) };
  const session = token === null ? null : await findToken(context, token);
  if (session === null) throw new LargeImageError('login-required', 'You must be logged in or have a valid auth token.');
  return { tokenId: session._id };
}

/** Routes for messages to users, as a list or as an event stream. */
export const notificationRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'get',
    path: '/notification',
    summary: 'List your messages, oldest first.',
    access: 'token',
    scope: userScope,
    cookie: true,
    query: { since: date({ description: 'Only those changed after this date.' }) },
    returns: { schema: listOf(notificationSchema) },
    authorize: ownerOf,
    async handle({ query, authorized: owner }, context) {
      return (await listNotifications(context, owner, query.since ?? null)).map(notificationView);
    },
  }),
  defineRoute({
    method: 'get',
    path: '/notification/stream',
    summary: 'Get your messages as server-sent events.',
    access: 'token',
    scope: userScope,
    cookie: true,
    query: {
      timeout: withDefault(integer({ minimum: 1, maximum: 3600, description: 'Seconds of silence after which it ends.' }), 300),
      since: text({ description: 'Only those changed after this time, in seconds since 1970.' }),
    },
    returns: { types: ['text/event-stream'] },
    errors: ['unavailable'],
    authorize: ownerOf,
    async handle({ query, authorized: owner, signal }, context) {
      if (!(await isStreamEnabled(context))) {
        throw new LargeImageError('unavailable', 'The notification stream is not enabled.');
      }
      const stream = streamNotifications(context, owner, {
        since: parseSince(query.since),
        silenceMs: query.timeout * 1000,
        signal,
        format: (message) => JSON.stringify(toWire(message)),
      });
      return eventStream(stream);
    },
  }),
];

function parseSince(since: string | undefined): Date {
  if (since === undefined) return new Date();
  const seconds = /^\s*\d{1,11}(\.\d+)?\s*$/.test(since) ? Number(since) : NaN;
  if (Number.isNaN(seconds)) throw new BadParameterError(`Invalid value for integer parameter since: ${since}.`);
  return new Date(seconds * 1000);
}
