import { createHash } from 'node:crypto';
import { LargeImageError } from '../errors.js';
import { Reply, type ReplyHeaders } from './reply.js';
import type { IncomingMessage } from 'node:http';

/** A strong entity tag made from `key`. Equal keys must mean equal bytes. */
export function entityTag(key: string | Uint8Array): string {
  return `"${createHash('sha256').update(key).digest('hex').slice(0, 32)}"`;
}

/**
 * Headers of a response that a browser can store but must revalidate before each use, because a public document may become private
 * and another person may use the browser next. Shared caches store nothing.
 */
export function cacheHeaders(tag: string): ReplyHeaders {
  return { ETag: tag, 'Cache-Control': 'private, no-cache' };
}

/**
 * Answers a conditional request if the tag is enough for that: with 304 if the client has the current state. Returns `null` if the
 * client needs the content.
 *
 * @throws LargeImageError `precondition-failed` if `If-Match` names another state.
 */
export function answerConditional(headers: IncomingMessage['headers'], tag: string, replyHeaders: ReplyHeaders): Reply | null {
  const ifMatch = headers['if-match'];
  if (ifMatch !== undefined && !listContains(ifMatch, tag, { weak: false })) {
    throw new LargeImageError('precondition-failed', `If-Match does not name the current state, which is ${tag}.`);
  }
  return clientHasTag(headers, tag) ? Reply.empty(304, replyHeaders) : null;
}

/** Whether the client says (`If-None-Match`) that it has the state with this tag. */
export function clientHasTag({ 'if-none-match': header }: IncomingMessage['headers'], tag: string): boolean {
  return header !== undefined && listContains(header, tag, { weak: true });
}

/** Whether the entity tags listed in a header include `tag`. Weak comparison ignores `W/` (RFC 9110, 8.8.3.2). */
function listContains(header: string, tag: string, options: { weak: boolean }): boolean {
  if (header.trim() === '*') return true;
  return header.split(',').some((entry) => {
    const listedTag = entry.trim();
    return listedTag === tag || (options.weak && listedTag === `W/${tag}`);
  });
}
