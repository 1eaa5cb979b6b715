import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { errorReplies, LargeImageError, type ErrorCode } from '../errors.js';
import type { HostLogger } from '../host.js';
import { outageOf } from '../core/outage.js';
import { Reply, type ReplyHeaders } from './reply.js';
import { toWire } from './wire.js';

/** What is out of order is worth another try after this time. */
const usualPauseSeconds = 5;
const noCache = 'no-cache, must-revalidate';

/** Turns what a handler returned into an HTTP answer. */
export async function respond(response: ServerResponse, result: unknown): Promise<void> {
  const reply = result instanceof Reply ? result : Reply.json(result);
  const { content } = reply;
  for (const name in reply.headers) response.setHeader(name, reply.headers[name]!);
  if (!response.hasHeader('Cache-Control')) response.setHeader('Cache-Control', noCache);
  response.statusCode = reply.status;
  switch (content.kind) {
    case 'empty':
      response.end();
      return;
    case 'json':
      sendBytes(response, Buffer.from(JSON.stringify(toWire(content.value ?? null))), 'application/json');
      return;
    case 'content':
      sendBytes(response, content.body, content.type);
      return;
    case 'stream':
      response.setHeader('Content-Type', content.type);
      if (response.req.method === 'HEAD') {
        content.body.destroy();
        response.end();
        return;
      }
      await pipeline(content.body, response);
  }
}

function sendBytes(response: ServerResponse, body: Uint8Array | string, type: string): void {
  response.setHeader('Content-Type', type);
  response.setHeader('Content-Length', typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength);
  if (response.req.method === 'HEAD') response.end();
  else response.end(body);
}

/** What an error looks like to the client: status and body. `anonymous` turns 403 into 401. */
export function errorReply(
  error: LargeImageError,
  options: { anonymous: boolean; errorStatus?: Partial<Record<ErrorCode, number>> },
): Reply {
  const entry = errorReplies[error.code];
  const status = error.code === 'access-denied' && options.anonymous ? 401 : (options.errorStatus?.[error.code] ?? entry.status);
  const retryAfter = error.retryAfterSeconds ?? (status === 503 ? usualPauseSeconds : null);
  const headers: ReplyHeaders = retryAfter === null ? {} : { 'Retry-After': retryAfter };
  return Reply.json({ message: error.message, type: entry.type, ...error.details }, { status, headers });
}

/**
 * Answers with an error, or ends the connection when part of an answer is out already. Errors that were not raised on purpose
 * are logged with a fresh `uid` and answered without any of their text.
 */
export async function respondWithError(
  response: ServerResponse,
  error: unknown,
  options: {
    anonymous: boolean;
    logger?: HostLogger | undefined;
    route: string;
    errorStatus?: Partial<Record<ErrorCode, number>> | undefined;
  },
): Promise<void> {
  const clientLeft = response.destroyed || response.writableEnded;
  if (clientLeft) return;
  let reply: Reply;
  const outage = error instanceof LargeImageError ? null : outageOf(error);
  if (outage !== null) options.logger?.warn({ err: error, route: options.route }, 'Request:Unavailable');
  const known = outage ?? error;
  if (known instanceof LargeImageError) {
    const { errorStatus } = options;
    reply = errorReply(known, { anonymous: options.anonymous, ...(errorStatus && { errorStatus }) });
  } else {
    const uid = randomUUID();
    options.logger?.error({ err: error, uid, route: options.route }, 'Request:Failed');
    const body = { message: 'An unexpected error occurred on the server.', type: 'internal', uid };
    reply = Reply.json(body, { status: 500 });
  }
  if (response.headersSent) {
    response.destroy();
    return;
  }
  for (const name of response.getHeaderNames()) {
    if (/^(content-|etag$|cache-control$|accept-ranges$)/.test(name)) response.removeHeader(name);
  }
  await respond(response, reply);
}
