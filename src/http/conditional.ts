import { createHash } from 'node:crypto';
import { LargeImageError } from '../errors.js';
import { Reply, type ReplyHeaders } from './reply.js';
import type { IncomingMessage } from 'node:http';

/** A strong entity tag for whatever `key` names exactly. */
export function entityTag(key: string): string {
  return `"${createHash('sha256').update(key).digest('hex').slice(0, 32)}"`;
}

/**
 * Headers of an answer that a browser may keep, but asks about before it is shown again: what anybody sees now may be private the next moment,
 * and the next user of the browser another one. Caches that many share keep nothing.
 */
export function cacheHeaders(tag: string): ReplyHeaders {
  return { ETag: tag, 'Cache-Control': 'private, no-cache' };
}

/**
 * Answers a conditional request from the tag alone: 304 where the client has this very thing.
 *
 * @throws LargeImageError `precondition-failed` where `If-Match` asks for another.
 */
export function answerConditional(headers: IncomingMessage['headers'], tag: string, reply: ReplyHeaders): Reply | null {
  const match = headers['if-match'];
  if (match !== undefined && !lists(match, tag, { weak: false })) {
    throw new LargeImageError('precondition-failed', `If-Match does not name the current state, which is ${tag}.`);
  }
  const noneMatch = headers['if-none-match'];
  return noneMatch !== undefined && lists(noneMatch, tag, { weak: true }) ? Reply.empty(304, reply) : null;
}

/** Whether a list of entity tags has this one. Weak comparison looks past `W/` (RFC 9110 8.8.3.2). */
function lists(header: string, tag: string, options: { weak: boolean }): boolean {
  if (header.trim() === '*') return true;
  return header.split(',').some((entry) => {
    const listed = entry.trim();
    return listed === tag || (options.weak && listed === `W/${tag}`);
  });
}
