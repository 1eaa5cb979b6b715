import { randomUUID } from 'node:crypto';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { InvalidHostError } from '../../core/host/check-host.js';
import type { HostApp } from '../../host.js';

/** Where an application has an installation, or had one: Express cannot unmount, so a slot is used again. */
interface Slot {
  router: RequestHandler | null;
  /** Names the request that looks whether the slot is reached. */
  readonly probe: string;
  onProbe: (() => void) | null;
}

const probeHeader = 'x-large-image-probe';
/** How long other middleware may take to pass the probe on, in milliseconds; after that nothing is concluded. */
const probeTimeoutMs = 2000;

const slots = new WeakMap<object, Map<string, Slot>>();

/**
 * Serves the router below a path, and looks whether requests get there.
 *
 * @returns what takes the router off again; requests pass then.
 * @throws InvalidHostError when the path has an installation, or a route before it answers in its place.
 */
export async function mountAt(app: HostApp, path: string, router: RequestHandler): Promise<() => void> {
  const slot = slotOf(app, path);
  if (slot.router !== null) {
    throw new InvalidHostError(
      `install: the app has an installation at ${path} already. Close it first, or give another apiRoot.`,
    );
  }
  slot.router = router;
  const status = await answeredBefore(app, path, slot);
  // Any other answer, such as that of a guard which knows nobody without a token, is not for a request of this kind alone.
  if (status === 200 || status === 404) {
    slot.router = null;
    throw new InvalidHostError(
      `install: a route that was added earlier answers ${path} with ${status}, so that nobody would reach the plugin. ` +
        'Call install before adding routes that catch everything.',
    );
  }
  return () => {
    slot.router = null;
  };
}

function slotOf(app: HostApp, path: string): Slot {
  let ofApp = slots.get(app);
  if (ofApp === undefined) slots.set(app, (ofApp = new Map()));
  const existing = ofApp.get(path);
  if (existing !== undefined) return existing;
  const slot: Slot = { router: null, probe: randomUUID(), onProbe: null };
  ofApp.set(path, slot);
  app.use(path, (request: Request, response: Response, next: NextFunction) => {
    if (request.headers[probeHeader] === slot.probe) slot.onProbe?.();
    else if (slot.router === null) next();
    else void slot.router(request, response, next);
  });
  return slot;
}

/** The status with which something answers before the slot; `null` when the slot is reached, or nothing can be said. */
function answeredBefore(app: HostApp, path: string, slot: Slot): Promise<number | null> {
  if (typeof app !== 'function') return Promise.resolve(null);
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(null), probeTimeoutMs);
    const conclude = (status: number | null): void => {
      clearTimeout(timer);
      slot.onProbe = null;
      resolve(status);
    };
    const request = new IncomingMessage(new Socket());
    Object.assign(request, { method: 'GET', url: `${path}/large_image/settings` });
    Object.assign(request.headers, { host: 'localhost', [probeHeader]: slot.probe });
    const response = new ServerResponse(request);
    // There is no connection behind it: the first word of an answer is all that counts.
    Object.assign(response, {
      writeHead: (status: number) => (conclude(status), response),
      end: () => (conclude(response.statusCode), response),
    });
    slot.onProbe = () => conclude(null);
    const handle = app as unknown as (request: IncomingMessage, response: ServerResponse, next: () => void) => void;
    handle(request, response, () => conclude(null));
  });
}
