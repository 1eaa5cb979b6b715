import { timingSafeEqual, createHash } from 'node:crypto';
import { AccessDeniedError, LargeImageError } from '../../index.js';
import { NotFoundError, objectOf, Reply, type RouteDefinition } from '../../larger-host.js';
import { setTimeout as wait } from 'node:timers/promises';
import { defineRoute, type HostContext } from '../context.js';
import { describeMissingPackages } from '../../optional-packages.js';

/** How long the database can take before the server counts as not ready, in milliseconds. */
const databaseTimeoutMs = 2000;

const healthSchema = objectOf({ status: { const: 'ok' } });

/** @throws LargeImageError `unavailable` if requests cannot be served */
async function requireReady({ closing, models, store }: HostContext): Promise<void> {
  if (closing.aborted) throw new LargeImageError('unavailable', 'The server is stopping.');
  const query = models.hostState.findById('store').lean();
  const timeout = new AbortController();
  try {
    const outcome = await Promise.race([query, wait(databaseTimeoutMs, 'late', { signal: timeout.signal })]);
    if (outcome === 'late')
      throw new LargeImageError('unavailable', `The database has not answered within ${databaseTimeoutMs} ms.`);
  } finally {
    timeout.abort();
    query.catch(() => undefined);
  }
  await store.requireWritable();
}

function isSameToken(token: string, expectedToken: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(token), digest(expectedToken));
}

/** Routes for operators. They are outside the API. */
export const operationRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'get',
    path: '/health/live',
    summary: 'Check whether the process responds, without a database query.',
    access: 'public',
    returns: { schema: healthSchema },
    handle: () => ({ status: 'ok' }),
  }),
  defineRoute({
    method: 'get',
    path: '/health/ready',
    summary: 'Check whether requests can be served: database and data folder are available, and the server is not stopping.',
    access: 'public',
    returns: { schema: healthSchema },
    errors: ['unavailable'],
    async handle(_input, context) {
      await requireReady(context);
      return { status: 'ok' };
    },
  }),
  defineRoute({
    method: 'get',
    path: '/metrics',
    summary: 'Get metrics for Prometheus.',
    description:
      'For site administrators, and for requests with the token from the start of the server as `Authorization: Bearer`.',
    access: 'public',
    returns: { types: ['text/plain'] },
    errors: ['access-denied', 'not-found'],
    async handle({ caller, token }, { metrics }) {
      if (metrics === null)
        throw new NotFoundError(`This server collects no metrics: ${describeMissingPackages('prom-client')}.`);
      const isScraper = metrics.token !== null && token !== null && isSameToken(token, metrics.token);
      if (!isScraper && caller?.admin !== true) throw new AccessDeniedError('Administrator access required.');
      return Reply.content(await (metrics.text ?? (() => metrics.register.metrics()))(), metrics.register.contentType);
    },
  }),
];
