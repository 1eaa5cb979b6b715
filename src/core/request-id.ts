import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

const current = new AsyncLocalStorage<string>();
/** Ids of clients that may be written into logs and headers as they are. */
const sane = /^[\w.:+/=@-]{1,128}$/;
/** Existing clients know the second name. */
const headerNames = ['X-Request-Id', 'Girder-Request-Uid'] as const;

/** The id of the request that is being answered; `undefined` outside of requests. */
export function requestId(): string | undefined {
  return current.getStore();
}

/**
 * Answers a request under an id: that of its `X-Request-Id` where a client or proxy has given one, else a new one. The answer carries the id, and so
 * does each line that is logged meanwhile.
 */
export function underRequestId<R>(request: IncomingMessage, response: ServerResponse, answer: () => R): R {
  const given = response.getHeader(headerNames[0]);
  if (given !== undefined && given === current.getStore()) return answer();
  const sent = request.headers['x-request-id'];
  const id = typeof given === 'string' ? given : typeof sent === 'string' && sane.test(sent) ? sent : randomUUID();
  for (const name of headerNames) response.setHeader(name, id);
  return current.run(id, answer);
}
