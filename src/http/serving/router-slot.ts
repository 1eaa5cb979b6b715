import { randomUUID } from 'node:crypto';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { InvalidHostError } from '../../core/host/check-host.js';
import type { HostApp } from '../../host.js';

/**
 * The state of a handler that stays mounted at a path of an application, because Express cannot unmount. An installation puts its
 * router here while it is open.
 */
interface RouterSlot {
  router: RequestHandler | null;
  /** The header value that marks the request that tests whether the slot is reached. */
  readonly probe: string;
  onProbe: (() => void) | null;
}

const probeHeader = 'x-large-image-probe';
/** How long other middleware can take to pass the probe on, in milliseconds. After that the test counts as passed. */
const probeTimeoutMs = 2000;

const slots = new WeakMap<object, Map<string, RouterSlot>>();

/**
 * Serves the router at a path, and tests whether requests reach it.
 *
 * @returns a function that removes the router; requests are then passed on.
 * @throws InvalidHostError if the path already has an installation, or an earlier route answers its requests.
 */
export async function mountRouterAt(app: HostApp, path: string, router: RequestHandler): Promise<() => void> {
  const slot = slotOf(app, path);
  if (slot.router !== null) {
    throw new InvalidHostError(
      `install: the app already has an installation at ${path}. Close it first, or use another apiRoot.`,
    );
  }
  slot.router = router;
  const status = await findEarlierAnswer(app, path, slot);
  // Other statuses may come from a guard that refuses requests without a token, and passes real requests on.
  if (status === 200 || status === 404) {
    slot.router = null;
    throw new InvalidHostError(
      `install: a route that was added earlier answers ${path} with ${status}, so requests would not reach the plugin. ` +
        'Call install before adding catch-all routes.',
    );
  }
  return () => {
    slot.router = null;
  };
}

function slotOf(app: HostApp, path: string): RouterSlot {
  let slotsOfApp = slots.get(app);
  if (slotsOfApp === undefined) slots.set(app, (slotsOfApp = new Map()));
  const existing = slotsOfApp.get(path);
  if (existing !== undefined) return existing;
  const slot: RouterSlot = { router: null, probe: randomUUID(), onProbe: null };
  slotsOfApp.set(path, slot);
  app.use(path, (request: Request, response: Response, next: NextFunction) => {
    if (request.headers[probeHeader] === slot.probe) slot.onProbe?.();
    else if (slot.router === null) next();
    else void slot.router(request, response, next);
  });
  return slot;
}

/** The status with which an earlier handler answers. `null` if requests reach the slot, or if this cannot be determined. */
function findEarlierAnswer(app: HostApp, path: string, slot: RouterSlot): Promise<number | null> {
  if (typeof app !== 'function') return Promise.resolve(null);
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(null), probeTimeoutMs);
    const endProbe = (status: number | null): void => {
      clearTimeout(timer);
      slot.onProbe = null;
      resolve(status);
    };
    const request = new IncomingMessage(new Socket());
    Object.assign(request, { method: 'GET', url: `${path}/large_image/settings` });
    Object.assign(request.headers, { host: 'localhost', [probeHeader]: slot.probe });
    const response = new ServerResponse(request);
    // The response has no connection, because only the status matters.
    Object.assign(response, {
      writeHead: (status: number) => (endProbe(status), response),
      end: () => (endProbe(response.statusCode), response),
    });
    slot.onProbe = () => endProbe(null);
    const handle = app as unknown as (request: IncomingMessage, response: ServerResponse, next: () => void) => void;
    handle(request, response, () => endProbe(null));
  });
}
