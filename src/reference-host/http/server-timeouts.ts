import { createServer, STATUS_CODES, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { Socket } from 'node:net';
import { errorBody, errorReplies } from '../../larger-host.js';

/** How long a server waits for clients, in milliseconds. */
export interface ServerTimeouts {
  /** Limit for the time until the next request on a connection begins. */
  keepAliveMs: number;
  /** Limit for the complete header of a request. */
  headersMs: number;
  /** Limit for a complete request, with its body. */
  requestMs: number;
  /** Limit for the next bytes of a body, and for the client to receive the next bytes of a response. */
  stallMs: number;
  /** Interval at which the limits for headers and requests are checked. */
  checkMs: number;
  /** How long a client can continue sending after its last response. */
  lingerMs: number;
}

const defaultTimeouts: ServerTimeouts = {
  // Proxies and clients close idle connections earlier, so that no connection is closed here while a request is on its way.
  keepAliveMs: 65_000,
  headersMs: 20_000,
  // The time for the largest file that can be uploaded (100 GiB), at 10 Mbit/s.
  requestMs: 24 * 60 * 60 * 1000,
  stallMs: 120_000,
  checkMs: 5000,
  lingerMs: 30_000,
};

/** Maximum size of a request's header in bytes. The address may contain a style with many bands. */
const maxHeadBytes = 64 * 1024;

/**
 * Maximum number of requests of one connection that wait for their responses. Few clients send a request before the
 * previous one is answered, and they send only a few.
 */
const maxPipelinedRequests = 100;

/**
 * A server that waits for slow clients, but not for clients that have stopped. A body may take up to `requestMs` while its bytes keep coming.
 * Responses that take long to make, and streams with rare events, do not end a connection.
 */
export function createServerWithTimeouts(listener: RequestListener, timeouts: Partial<ServerTimeouts> = {}): Server {
  const { keepAliveMs, headersMs, requestMs, stallMs, checkMs, lingerMs } = { ...defaultTimeouts, ...timeouts };
  const server = createServer({
    keepAliveTimeout: keepAliveMs,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: checkMs,
    maxHeaderSize: maxHeadBytes,
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => answerUnreadable(error, socket));
  const openRequests = new WeakMap<Socket, { request: IncomingMessage; byteCountsAtStall: string | null }>();
  const unansweredCounts = new WeakMap<Socket, number>();
  server.on('request', (request, response) => {
    const { socket } = request;
    // After the connection was destroyed, the parser still emits the other requests of the same packet, which can be more than a
    // thousand.
    if (socket.destroyed) return;
    const count = (unansweredCounts.get(socket) ?? 0) + 1;
    if (count > maxPipelinedRequests) {
      socket.destroy();
      return;
    }
    unansweredCounts.set(socket, count);
    const openRequest = { request, byteCountsAtStall: null };
    openRequests.set(socket, openRequest);
    closeAfterBody(request, lingerMs);
    response.once('close', () => {
      unansweredCounts.set(socket, unansweredCounts.get(socket)! - 1);
      if (openRequests.get(socket) === openRequest) openRequests.delete(socket);
    });
    listener(request, response);
  });
  // Node calls this function when no bytes have been sent or received for half of the limit. The first time, the server itself may not have
  // been reading. The second time in a row, the client has stopped.
  server.setTimeout(stallMs / 2, (socket: Socket) => {
    const openRequest = openRequests.get(socket);
    const byteCounts = `${socket.bytesRead} ${socket.writableLength}`;
    const isWaitingForClient = openRequest !== undefined && waitsForClient(openRequest.request, socket);
    if (openRequest === undefined || (isWaitingForClient && openRequest.byteCountsAtStall === byteCounts)) {
      socket.destroy();
      return;
    }
    openRequest.byteCountsAtStall = isWaitingForClient ? byteCounts : null;
    socket.setTimeout(stallMs / 2);
  });
  return server;
}

/** The error that answers a request. */
interface Refusal {
  code: 'headers-too-large' | 'request-timeout' | 'malformed-request';
  message: string;
}

/** Responses to requests that cannot be read, by the code of Node's error. */
const refusalsByErrorCode: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    code: 'headers-too-large',
    message: `Address and headers of a request may have ${maxHeadBytes} bytes in total. Send longer values in the body, if the route accepts one.`,
  },
  ERR_HTTP_REQUEST_TIMEOUT: { code: 'request-timeout', message: 'The request did not arrive in time.' },
};
const defaultRefusal: Refusal = { code: 'malformed-request', message: 'This is not a valid HTTP/1.1 request.' };

/** Closes a connection with a request that cannot be read. The request is answered first, if no response has begun. */
function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  const openResponse = (socket as Socket & { _httpMessage?: { headersSent: boolean } | null })._httpMessage;
  if (socket.writable && !(openResponse?.headersSent ?? false)) {
    const { code, message } = refusalsByErrorCode[error.code ?? ''] ?? defaultRefusal;
    const { status } = errorReplies[code];
    const body = JSON.stringify(errorBody({ code, message, details: {} }));
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
      'Content-Type: application/json',
      `Large-Image-Error: ${code}`,
      `Content-Length: ${Buffer.byteLength(body)}`,
      'X-Content-Type-Options: nosniff',
      'Connection: close',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  }
  socket.destroySoon();
}

/** Whether the client must act next: send more of the body, although the server has read everything so far, or receive more of the response. */
function waitsForClient(request: IncomingMessage, socket: Socket): boolean {
  return (!request.complete && request.readableLength === 0) || socket.writableLength > 0;
}

/**
 * Delays closing a connection after its last response. Node would close it immediately. If the client is still sending, as after a
 * refusal, that would reset the connection, and the client might lose the response. So the rest of the body is read for a while, and
 * dropped.
 */
function closeAfterBody(request: IncomingMessage, lingerMs: number): void {
  const { socket } = request;
  const close = () => Socket.prototype.destroySoon.call(socket);
  socket.destroySoon = () => {
    if (request.complete || request.destroyed) {
      close();
      return;
    }
    const timer = setTimeout(close, lingerMs);
    socket.once('close', () => clearTimeout(timer));
    socket.end();
    request.once('end', close).resume();
  };
}
