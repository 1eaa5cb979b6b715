import { Types } from 'mongoose';
import type { HostNotification } from '../../index.js';
import type { HostContext } from '../context.js';
import { overlapMs, type NotificationOwner } from './notification-feed.js';
import type { NotificationDocument } from './notification.model.js';

/** How long a message without a date of expiry is kept. */
const defaultLifetimeMs = 60 * 60 * 1000;

/** Stores a message for a user, and wakes the user's open streams. */
export async function notifyUser(
  { models, notificationFeed }: HostContext,
  { userId, type, data, expires }: HostNotification,
): Promise<void> {
  const now = new Date();
  const owner = { userId: new Types.ObjectId(userId) };
  await models.notification.collection.insertOne({
    _id: new Types.ObjectId(),
    type,
    data,
    ...owner,
    tokenId: null,
    time: now,
    updated: now,
    expires: expires ?? new Date(now.getTime() + defaultLifetimeMs),
  });
  notificationFeed.wake(owner);
}

/** Messages that were changed after a date, oldest first. */
export async function listNotifications(
  { models }: HostContext,
  owner: NotificationOwner,
  since: Date | null,
): Promise<NotificationDocument[]> {
  const filter = { ...owner, expires: { $gt: new Date() }, ...(since && { updated: { $gt: since } }) };
  return models.notification.find(filter).sort({ updated: 1, _id: 1 }).limit(1000).lean<NotificationDocument[]>();
}

/** A message in the form that clients get. */
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

/** Whether the setting allows streams. Open streams end when the setting is switched off. */
export async function isStreamEnabled(context: HostContext): Promise<boolean> {
  return context.setting('core.enable_notification_stream');
}

/** Options of a stream. */
interface StreamOptions {
  /** Messages that were changed after this date are sent first. */
  since: Date;
  /** Time without a message after which the stream ends, in milliseconds. */
  silenceMs: number;
  signal: AbortSignal;
}

/** Yields the new messages of an owner, until none comes for `silenceMs` or streams are switched off. */
export async function* followNotifications(
  context: HostContext,
  owner: NotificationOwner,
  { since, silenceMs, signal }: StreamOptions,
): AsyncGenerator<ReturnType<typeof notificationView> & { _girderTime: number }> {
  const endSignal = AbortSignal.any([signal, context.closing]);
  const stream = context.notificationFeed.open(owner);
  try {
    let sentIds = new Set<string>();
    let searchedFrom = since;
    let lastSentAt = Date.now();
    while (!endSignal.aborted && Date.now() - lastSentAt < silenceMs && (await isStreamEnabled(context))) {
      const notifications = await listNotifications(context, owner, searchedFrom);
      const newMessages = notifications.filter(({ _id }) => !sentIds.has(_id.toHexString()));
      for (const message of newMessages) {
        yield { ...notificationView(message), _girderTime: Math.floor(message.updated.getTime() / 1000) };
        lastSentAt = Date.now();
      }
      sentIds = new Set(notifications.map(({ _id }) => _id.toHexString()));
      searchedFrom = new Date(Math.max(since.getTime(), Date.now() - overlapMs));
      if (newMessages.length === 0) await stream.waitUntilWoken(lastSentAt + silenceMs - Date.now(), endSignal);
    }
  } finally {
    stream.close();
  }
}

/** Yields the new messages as server-sent events. @param options `format` converts a message to JSON text */
export async function* streamNotifications(
  context: HostContext,
  owner: NotificationOwner,
  { format, ...options }: StreamOptions & { format: (message: object) => string },
): AsyncGenerator<string> {
  // A first line is sent immediately, so that proxies and browsers know that the stream is open.
  yield ': open\n\n';
  for await (const message of followNotifications(context, owner, options)) yield `data: ${format(message)}\n\n`;
}
