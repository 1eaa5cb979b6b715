import type { IncomingMessage } from 'node:http';
import { Reply } from '../../../http/reply.js';

/** Media types of IIIF documents. */
export const jsonLdTypes = ['application/ld+json', 'application/json'] as const;

/** Answers with an IIIF document as JSON-LD, or as plain JSON if the client accepts only that. */
export function replyWithJsonLd(headers: IncomingMessage['headers'], context: string, document: object): Reply {
  const accept = (headers.accept ?? '').toLowerCase();
  const wantsPlainJson = accept.includes('application/json') && !accept.includes('ld+json');
  const mediaType = wantsPlainJson ? 'application/json' : `application/ld+json;profile="${context}"`;
  return Reply.content(JSON.stringify(document), mediaType);
}
