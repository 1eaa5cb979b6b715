import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { Types } from 'mongoose';
import type { WebSocket } from 'ws';
import { checkedPrefix, errorBody, toWire } from '../../larger-host.js';
import { verifyToken, userScope } from '../accounts/tokens/tokens.js';
import type { HostContext } from '../context.js';
import type { UpgradeHandler } from '../http/upgrades.js';
import { isInstalled, describeMissingPackages } from '../../optional-packages.js';
import { followNotifications } from './notifications.js';

/**
 * Interval in milliseconds between checks of a connection. A check ends the connection if the client has not answered since the last
 * check, or if its token has become invalid.
 */
const checkMs = 3000;
/** Time in milliseconds that a client has to close its connection, before it is cut off. */
const closePatienceMs = 3000;
/** Largest message of a client in bytes. Clients need not send any. */
const maxPayloadBytes = 1024;
const closeCodes = { invalid: 3000, goingAway: 1001, failed: 1011, tryLater: 1013 } as const;
/** Number of web sockets that a user may have open in this process. */
const maxSocketsPerUser = 50;

/**
 * Creates a handler that sends a user's messages by a web socket at `/notifications/me?token=…`, each as one text. Web clients of Girder 5 use
 * the web socket instead of the event stream. Without the package `ws`, the response is 501.
 */
export async function createNotificationUpgradeHandler(context: HostContext): Promise<UpgradeHandler> {
  const path = `${context.apiRoot.replace(/\/api\/v1$/, '')}/notifications/me`;
  const isForNotifications = ({ headers, url = '' }: IncomingMessage): boolean => {
    if (headers.upgrade?.toLowerCase() !== 'websocket' || context.closing.aborted) return false;
    const requestPath = url.split('?', 1)[0]!;
    // A proxy may have left its path (`core.server_root`) at the beginning.
    return requestPath.endsWith(path) && checkedPrefix(requestPath.slice(0, -path.length)) !== null;
  };
  if (!isInstalled('ws')) return (request, socket) => isForNotifications(request) && answerNotInstalled(socket);
  const { WebSocketServer } = await import('ws');
  const socketServer = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: maxPayloadBytes,
  });
  const socketCountByUser = new Map<string, number>();
  return (request, socket, head) => {
    if (!isForNotifications(request)) return false;
    const [, query = ''] = request.url!.split('?', 2);
    const token = new URLSearchParams(query).get('token');
    socketServer.handleUpgrade(
      request,
      socket,
      head,
      (openedSocket) => void sendNotifications(context, openedSocket, { token, socketCountByUser }),
    );
    return true;
  };
}

/** Answers that web sockets need a package that is not installed. */
function answerNotInstalled(socket: Duplex): true {
  const message = `Web sockets are not available: ${describeMissingPackages('ws')}.`;
  const body = JSON.stringify(errorBody({ code: 'not-implemented', message, details: {} }));
  const head = [
    'HTTP/1.1 501 Not Implemented',
    'Content-Type: application/json',
    'Large-Image-Error: not-implemented',
    `Content-Length: ${body.length}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  return true;
}

/** Sends messages until the client disconnects, the token expires, or the host closes. */
async function sendNotifications(
  context: HostContext,
  socket: WebSocket,
  { token, socketCountByUser }: { token: string | null; socketCountByUser: Map<string, number> },
): Promise<void> {
  const endController = new AbortController();
  const endConnection = (code: number, reason: string) => {
    endController.abort();
    socket.close(code, reason);
    setTimeout(() => socket.terminate(), closePatienceMs).unref();
  };
  const endAsInvalid = () =>
    endConnection(closeCodes.invalid, token === null || token === '' ? 'Token is required' : 'Invalid token');
  socket.on('error', () => socket.terminate());
  socket.once('close', () => endController.abort());
  const unsubscribe = context.events.on('token.revoked', (revocation) =>
    revocation.token === token ? endAsInvalid() : undefined,
  );
  const checkTimer = checkRegularly(socket, async () => {
    if ((await findUserOfToken(context, token)) === null) endAsInvalid();
  });
  let countedUserId: string | undefined;
  try {
    const userId = await findUserOfToken(context, token);
    if (userId === null) return endAsInvalid();
    const userKey = userId.toHexString();
    const socketCount = socketCountByUser.get(userKey) ?? 0;
    if (socketCount >= maxSocketsPerUser)
      return endConnection(closeCodes.tryLater, `At most ${maxSocketsPerUser} web sockets per user`);
    socketCountByUser.set(userKey, socketCount + 1);
    countedUserId = userKey;
    const messages = followNotifications(
      context,
      { userId },
      { since: new Date(), silenceMs: Infinity, signal: endController.signal },
    );
    for await (const message of messages) await sendMessage(socket, JSON.stringify(toWire(message)));
    endConnection(closeCodes.goingAway, '');
  } catch (error) {
    if (!endController.signal.aborted) context.logger.warn({ err: error }, 'Host:Notifications:Broken');
    endConnection(closeCodes.failed, '');
  } finally {
    clearInterval(checkTimer);
    unsubscribe();
    if (countedUserId !== undefined) {
      const remainingCount = (socketCountByUser.get(countedUserId) ?? 1) - 1;
      if (remainingCount > 0) socketCountByUser.set(countedUserId, remainingCount);
      else socketCountByUser.delete(countedUserId);
    }
  }
}

/** The user who signed in with a token; `null` for other tokens. */
async function findUserOfToken(context: HostContext, token: string | null): Promise<Types.ObjectId | null> {
  const caller = token === null || token === '' ? null : await verifyToken(context, token);
  return caller?.id != null && caller.scopes.includes(userScope) ? new Types.ObjectId(caller.id) : null;
}

/**
 * Checks every few seconds that the client is connected, and calls `check`. Errors of `check` are ignored, because without a
 * database, for example, the token may still be valid.
 */
function checkRegularly(socket: WebSocket, check: () => Promise<void>): NodeJS.Timeout {
  let isAlive = true;
  socket.on('pong', () => (isAlive = true));
  return setInterval(() => {
    if (!isAlive) return socket.terminate();
    isAlive = false;
    socket.ping();
    check().catch(() => undefined);
  }, checkMs).unref();
}

/** Sends a message. Resolves when the message has been written to the socket, so that no messages pile up for a slow client. */
function sendMessage(socket: WebSocket, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.send(text, (error) => (error ? reject(error) : resolve()));
  });
}
