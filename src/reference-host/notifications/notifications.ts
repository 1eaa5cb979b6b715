import { Types } from 'mongoose';
import type { HostNotification } from '../../index.js';
import type { HostContext } from '../context.js';
import type { NotificationDocument } from './notification.model.js';

/** How long a message is kept that says nothing about it. */
const defaultLifetimeMs = 60 * 60 * 1000;
/** How often an open stream looks for messages that other processes wrote. */
const pollMs = 1000;
/** Messages of other processes may appear a little after the time written on them. */
const overlapMs = 2000;

/** Whose messages: a user's, or an anonymous session's. */
export type NotificationOwner = { userId: Types.ObjectId } | { tokenId: Types.ObjectId };

/** Keeps a message for a user, and wakes the user's open streams. */
export async function notifyUser(
  { models, wakeStreams }: HostContext,
  { userId, type, data, expires }: HostNotification,
): Promise<void> {
  const now = new Date();
  await models.notification.collection.insertOne({
    _id: new Types.ObjectId(),
    type,
    data,
    userId: new Types.ObjectId(userId),
    tokenId: null,
    time: now,
    updated: now,
    expires: expires ?? new Date(now.getTime() + defaultLifetimeMs),
  });
  for (const wake of wakeStreams) wake();
}

/** Messages changed after a date, oldest first. */
export async function listNotifications(
  { models }: HostContext,
  owner: NotificationOwner,
  since: Date | null,
): Promise<NotificationDocument[]> {
  const filter = { ...owner, expires: { $gt: new Date() }, ...(since && { updated: { $gt: since } }) };
  return models.notification.find(filter).sort({ updated: 1, _id: 1 }).limit(1000).lean<NotificationDocument[]>();
}

/** A message as it goes over the wire. */
export function notificationView({ _id, type, data, time, updated, expires, userId, tokenId }: NotificationDocument) {
  return {
    _id,
    type,
    data,
    time,
    updated,
    startTime: time.getTime() / 1000,
    updatedTime: updated.getTime() / 1000,
    expires,
    ...(userId === null ? { tokenId } : { userId }),
  };
}

/** Server-sent events: the messages of one owner as they come, until `silenceMs` pass without one. */
export function streamNotifications(
  context: HostContext,
  owner: NotificationOwner,
  {
    since,
    silenceMs,
    signal,
    format,
  }: {
    since: Date;
    silenceMs: number;
    signal: AbortSignal;
    /** JSON text of a message. */
    format: (message: object) => string;
  },
): AsyncIterable<string> {
  const ended = AbortSignal.any([signal, context.closing]);
  async function* messages(): AsyncGenerator<string> {
    let seen = new Set<string>();
    let from = since;
    let heardAt = Date.now();
    // A first line at once: proxies and browsers then know that the stream is open.
    yield ': open\n\n';
    while (!ended.aborted && Date.now() - heardAt < silenceMs) {
      const found = await listNotifications(context, owner, from);
      const fresh = found.filter(({ _id }) => !seen.has(_id.toHexString()));
      for (const message of fresh) {
        const _girderTime = Math.floor(message.updated.getTime() / 1000);
        yield `data: ${format({ ...notificationView(message), _girderTime })}\n\n`;
        heardAt = Date.now();
      }
      seen = new Set(found.map(({ _id }) => _id.toHexString()));
      from = new Date(Math.max(since.getTime(), Date.now() - overlapMs));
      if (fresh.length === 0) await untilWoken(context, Math.min(pollMs, heardAt + silenceMs - Date.now()), ended);
    }
  }
  return messages();
}

function untilWoken({ wakeStreams }: HostContext, milliseconds: number, ended: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      wakeStreams.delete(finish);
      ended.removeEventListener('abort', finish);
      resolve();
    };
    const timer = setTimeout(finish, Math.max(0, milliseconds));
    wakeStreams.add(finish);
    ended.addEventListener('abort', finish);
    if (ended.aborted) finish();
  });
}
