import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

const currentId = new AsyncLocalStorage<string>();
/** Matches ids from clients that can be written into logs and headers unchanged. */
const safeIdPattern = /^[\w.:+/=@-]{1,128}$/;
/** The response headers that contain the id. Existing clients expect the second one. */
const responseHeaderNames = ['X-Request-Id', 'Girder-Request-Uid'] as const;

/** Returns the id of the request that is being handled; `undefined` outside requests. */
export function currentRequestId(): string | undefined {
  return currentId.getStore();
}

/**
 * Handles a request under an id: its `X-Request-Id` if it has one, otherwise a new one. The response contains the id, and so does
 * each log line that is written while the request is handled.
 */
export function runWithRequestId<R>(request: IncomingMessage, response: ServerResponse, handle: () => R): R {
  const responseId = response.getHeader(responseHeaderNames[0]);
  if (responseId !== undefined && responseId === currentId.getStore()) return handle();
  const sentId = request.headers['x-request-id'];
  const id =
    typeof responseId === 'string'
      ? responseId
      : typeof sentId === 'string' && safeIdPattern.test(sentId)
        ? sentId
        : randomUUID();
  for (const name of responseHeaderNames) response.setHeader(name, id);
  return currentId.run(id, handle);
}
