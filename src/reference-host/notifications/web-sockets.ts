import { Types } from 'mongoose';
import type { WebSocket } from 'ws';
import { toWire } from '../../index.js';
import { verifyToken, userScope } from '../accounts/tokens/tokens.js';
import type { HostContext } from '../context.js';
import type { Upgrading } from '../http/upgrades.js';
import { isInstalled } from '../packages.js';
import { newNotifications } from './notifications.js';

/** How often a connection is looked at: a client that has not answered since the last time is gone, and a token may have ended. */
const checkMs = 3000;
/** A client that is told to close and does not is left. */
const closePatienceMs = 3000;
/** Clients have nothing to say. */
const maxPayload = 1024;
const ended = { invalid: 3000, goingAway: 1001, failed: 1011, tryLater: 1013 } as const;
/** Web sockets that a user may have open in this process. */
const maxSockets = 50;

/**
 * Messages of a user by web socket beside the event stream, as web clients of Girder 5 take them: `/notifications/me?token=…`, a text a message.
 * Needs the package `ws`; without it nothing is taken.
 */
export async function notificationSockets(context: HostContext): Promise<Upgrading> {
  if (!isInstalled('ws')) return () => false;
  const { WebSocketServer } = await import('ws');
  const sockets = new WebSocketServer({ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload });
  const open = new Map<string, number>();
  const path = `${context.apiRoot.replace(/\/api\/v1$/, '')}/notifications/me`;
  return (request, socket, head) => {
    if (request.headers.upgrade?.toLowerCase() !== 'websocket') return false;
    const [asked = '', query = ''] = (request.url ?? '').split('?', 2);
    if (asked !== path || context.closing.aborted) return false;
    const token = new URLSearchParams(query).get('token');
    sockets.handleUpgrade(request, socket, head, (opened) => void send(context, opened, { token, open }));
    return true;
  };
}

/** Sends messages until the client goes, the token ends, or the host closes. */
async function send(
  context: HostContext,
  socket: WebSocket,
  { token, open }: { token: string | null; /** How many sockets users have. */ open: Map<string, number> },
): Promise<void> {
  const over = new AbortController();
  const end = (code: number, reason: string) => {
    over.abort();
    socket.close(code, reason);
    setTimeout(() => socket.terminate(), closePatienceMs).unref();
  };
  const invalid = () => end(ended.invalid, token === null || token === '' ? 'Token is required' : 'Invalid token');
  socket.on('error', () => socket.terminate());
  socket.once('close', () => over.abort());
  const offRevoked = context.events.on('token.revoked', (revoked) => (revoked.token === token ? invalid() : undefined));
  const check = watch(socket, async () => {
    if ((await userOf(context, token)) === null) invalid();
  });
  let user: string | undefined;
  try {
    const userId = await userOf(context, token);
    if (userId === null) return invalid();
    const key = userId.toHexString();
    const count = open.get(key) ?? 0;
    if (count >= maxSockets) return end(ended.tryLater, `At most ${maxSockets} web sockets a user`);
    open.set(key, count + 1);
    user = key;
    const messages = newNotifications(context, { userId }, { since: new Date(), silenceMs: Infinity, signal: over.signal });
    for await (const message of messages) await sent(socket, JSON.stringify(toWire(message)));
    end(ended.goingAway, '');
  } catch (error) {
    if (!over.signal.aborted) context.logger.warn({ err: error }, 'Host:Notifications:Broken');
    end(ended.failed, '');
  } finally {
    clearInterval(check);
    offRevoked();
    if (user !== undefined) {
      const rest = (open.get(user) ?? 1) - 1;
      if (rest > 0) open.set(user, rest);
      else open.delete(user);
    }
  }
}

/** Whose token it is, if it is one of somebody who signed in. */
async function userOf(context: HostContext, token: string | null): Promise<Types.ObjectId | null> {
  const caller = token === null || token === '' ? null : await verifyToken(context, token);
  return caller?.id != null && caller.scopes.includes(userScope) ? new Types.ObjectId(caller.id) : null;
}

/** Looks every few seconds whether the client is there, and does `check` then. A database that is away says nothing of a token. */
function watch(socket: WebSocket, check: () => Promise<void>): NodeJS.Timeout {
  let isThere = true;
  socket.on('pong', () => (isThere = true));
  return setInterval(() => {
    if (!isThere) return socket.terminate();
    isThere = false;
    socket.ping();
    check().catch(() => undefined);
  }, checkMs).unref();
}

/** Resolves when a message has been handed on: a slow client is waited for. */
function sent(socket: WebSocket, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.send(text, (error) => (error ? reject(error) : resolve()));
  });
}
