import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

const current = new AsyncLocalStorage<string>();
/** What of a client's own id may go into logs and headers as it is. */
const sane = /^[\w.:+/=@-]{1,128}$/;
/** The second one is known to existing clients. */
const headerNames = ['X-Request-Id', 'Girder-Request-Uid'] as const;

/** The id of the request that is being answered; `undefined` outside of requests. */
export function requestId(): string | undefined {
  return current.getStore();
}

/** Answers a request under an id, that of its `X-Request-Id` where a client or proxy has given one: the answer has it, and each line of the log meanwhile. */
export function underRequestId<R>(request: IncomingMessage, response: ServerResponse, answer: () => R): R {
  const given = response.getHeader(headerNames[0]);
  if (given !== undefined && given === current.getStore()) return answer();
  const sent = request.headers['x-request-id'];
  const id = typeof given === 'string' ? given : typeof sent === 'string' && sane.test(sent) ? sent : randomUUID();
  for (const name of headerNames) response.setHeader(name, id);
  return current.run(id, answer);
}
