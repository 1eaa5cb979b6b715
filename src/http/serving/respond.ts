import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  errorBody,
  errorReplies,
  LargeImageError,
  LevelDeniedError,
  UnsatisfiableRangeError,
  type ErrorCode,
} from '../../errors.js';
import type { HostLogger } from '../../host.js';
import { currentRequestId } from '../../core/request-id.js';
import { outageErrorOf } from '../../core/database/outage.js';
import { isSmall, jsonPieces } from '../../core/json-pieces.js';
import { cacheHeaders, entityTag, clientHasTag } from '../conditional.js';
import { Reply, type ReplyHeaders } from '../reply.js';
import { toWire } from '../../core/wire.js';

/** The `Retry-After` of a response with status 503, unless the error has its own. */
const defaultRetryAfterSeconds = 5;
const defaultCacheControl = 'no-cache, must-revalidate';

/** Media types that browsers show as documents in which scripts could run. */
const markupTypes = /html|xml|svg/i;
const markupHeaders = {
  'Content-Security-Policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
};

/** Forbids scripts in markup, except in the plugin's own pages, which set their own policy. */
function addMarkupHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(markupHeaders)) if (!response.hasHeader(name)) response.setHeader(name, value);
}

/** A response of at least this length is watched while it is sent. */
const watchedBytes = 1024 * 1024;

/**
 * Sends the result of a handler as the response.
 *
 * @param options `onLongResponse` is called before a response is sent that may take long.
 */
export async function respond(
  response: ServerResponse,
  result: unknown,
  options: { onLongResponse?: () => void } = {},
): Promise<void> {
  const reply = result instanceof Reply ? result : Reply.json(result);
  const { content } = reply;
  if (response.headersSent) {
    // The request was ended while the handler was running.
    if (content.kind === 'stream') content.body.destroy();
    return;
  }
  for (const name in reply.headers) response.setHeader(name, reply.headers[name]!);
  if (!response.hasHeader('Cache-Control')) response.setHeader('Cache-Control', defaultCacheControl);
  response.setHeader('X-Content-Type-Options', 'nosniff');
  if ('type' in content && markupTypes.test(content.type)) addMarkupHeaders(response);
  response.statusCode = reply.status;
  switch (content.kind) {
    case 'empty':
      response.end();
      return;
    case 'json':
      return sendJson(response, content.value ?? null, options);
    case 'content':
      return sendBytes(response, content.body, content.type, options);
    case 'stream':
      response.setHeader('Content-Type', content.type);
      if (response.req.method === 'HEAD') {
        content.body.destroy();
        response.end();
        return;
      }
      options.onLongResponse?.();
      await pipeline(content.body, response);
  }
}

async function sendJson(response: ServerResponse, value: unknown, options: { onLongResponse?: () => void }): Promise<void> {
  const type = 'application/json';
  if (isSmall(value)) {
    const body = Buffer.from(JSON.stringify(toWire(value)));
    return addTagAndCompare(response, body) ? void response.end() : sendBytes(response, body, type, options);
  }
  response.setHeader('Content-Type', type);
  if (response.req.method === 'HEAD') {
    response.end();
    return;
  }
  options.onLongResponse?.();
  await pipeline(Readable.from(jsonPieces(value), { objectMode: false }), response);
}

/**
 * Adds an entity tag to a response that has neither a tag nor its own cache rule. @returns whether the client already has these
 * bytes; the status is then set to 304
 */
function addTagAndCompare(response: ServerResponse, body: Uint8Array): boolean {
  const { req, statusCode } = response;
  const isPlain = !response.hasHeader('ETag') && response.getHeader('Cache-Control') === defaultCacheControl;
  if (!isPlain || statusCode !== 200 || !['GET', 'HEAD'].includes(req.method ?? '')) return false;
  const tag = entityTag(body);
  for (const [name, value] of Object.entries(cacheHeaders(tag))) response.setHeader(name, value);
  if (!clientHasTag(req.headers, tag)) return false;
  response.statusCode = 304;
  return true;
}

async function sendBytes(
  response: ServerResponse,
  body: Uint8Array | string,
  type: string,
  { onLongResponse }: { onLongResponse?: () => void },
): Promise<void> {
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;
  response.setHeader('Content-Type', type);
  response.setHeader('Content-Length', length);
  if (response.req.method === 'HEAD') {
    response.end();
    return;
  }
  response.end(body);
  if (length < watchedBytes || response.writableFinished || response.closed) return;
  onLongResponse?.();
  await new Promise<void>((resolve) => response.once('close', resolve).once('finish', resolve));
}

/** The status and body of an error, as sent to the client. `anonymous` turns 403 into 401. */
export function errorReply(
  error: LargeImageError,
  options: { anonymous: boolean; errorStatus?: Partial<Record<ErrorCode, number>> },
): Reply {
  const entry = errorReplies[error.code];
  const status = error.code === 'access-denied' && options.anonymous ? 401 : (options.errorStatus?.[error.code] ?? entry.status);
  const retryAfter = error.retryAfterSeconds ?? (status === 503 ? defaultRetryAfterSeconds : null);
  const headers: ReplyHeaders = {
    // For programs that do not read the body, which has the same code.
    'Large-Image-Error': error instanceof LevelDeniedError ? `${error.code}; level=${error.level}` : error.code,
    ...(retryAfter !== null && { 'Retry-After': retryAfter }),
    ...(error instanceof UnsatisfiableRangeError && { 'Content-Range': `bytes */${error.size}` }),
  };
  return Reply.json(errorBody(error), { status, headers });
}

/**
 * Answers with an error, or closes the connection if part of the response has already been sent. An unexpected error is logged with
 * a `uid`, and the response contains this `uid` instead of the error's text.
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
  const hasClientLeft = response.destroyed || response.writableEnded;
  if (hasClientLeft) return;
  let reply: Reply;
  const outage = error instanceof LargeImageError ? null : outageErrorOf(error);
  if (outage !== null) options.logger?.warn({ err: error, route: options.route }, 'Request:Unavailable');
  const knownError = outage ?? error;
  if (knownError instanceof LargeImageError) {
    const { errorStatus } = options;
    reply = errorReply(knownError, { anonymous: options.anonymous, ...(errorStatus && { errorStatus }) });
  } else {
    // Requests to the plugin's routes already have an id.
    const uid = currentRequestId() ?? randomUUID();
    options.logger?.error({ err: error, uid, route: options.route }, 'Request:Failed');
    const message = 'An unexpected error occurred on the server.';
    reply = errorReply(new LargeImageError('internal', message, { details: { uid } }), { anonymous: options.anonymous });
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
