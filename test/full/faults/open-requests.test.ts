import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import express from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AccessDeniedError, type Caller } from '../../../src/index.js';
import { mountRoutes, Reply, routeDefiner, UnknownIdError } from '../../../src/larger-host.js';
import { listen } from '../../support/hosts/listening.js';
import { until } from '../../support/run/until.js';

interface Context {
  /** Names of things that may no longer be read, and names of removed things. */
  withheld: Set<string>;
  gone: Set<string>;
  /** Requested names. */
  asked: Set<string>;
  received: string[];
  release: Map<string, () => void>;
  /** Names whose work was canceled. */
  stopped: Set<string>;
}

const defineRoute = routeDefiner<Context>();
const text = { schema: { type: 'string' as const }, required: false, defaultValue: '', parse: (value: string) => value };
const shared = {
  access: 'public',
  scope: 'core.data.read',
  params: { name: text },
  returns: { schema: {} },
  summary: 'A route under test.',
} as const;

function checkAccess({ params }: { params: { name: string } }, { withheld, gone, asked }: Context): string {
  asked.add(params.name);
  if (gone.has(params.name)) throw new UnknownIdError('thing', params.name);
  if (withheld.has(params.name)) throw new AccessDeniedError(`Read access denied for thing ${params.name}.`);
  return params.name;
}

async function* forEver(): AsyncGenerator<string> {
  for (;;) {
    yield 'x'.repeat(1000);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const routes = [
  defineRoute({
    ...shared,
    method: 'get',
    path: '/stream/:name',
    authorize: checkAccess,
    handle: () => Reply.stream(Readable.from(forEver(), { objectMode: false }), 'text/plain'),
  }),
  defineRoute({
    ...shared,
    method: 'get',
    path: '/parts/:name',
    handle: ({ params }, context) =>
      Reply.stream(Readable.from(forEver(), { objectMode: false }), 'text/plain', {
        checkPermission: async () => checkAccess({ params }, context),
      }),
  }),
  defineRoute({
    ...shared,
    method: 'get',
    path: '/bytes/:name',
    authorize: checkAccess,
    handle: () => Reply.content(Buffer.alloc(64 * 1024 * 1024), 'application/octet-stream'),
  }),
  ...(['json', 'text', 'stream'] as const).map((body) =>
    defineRoute({
      ...shared,
      method: 'post',
      path: `/${body}/:name`,
      body,
      authorize: checkAccess,
      async handle({ authorized, body: sent }, { received }) {
        if (sent instanceof Readable) for await (const _ of sent);
        received.push(authorized);
        return authorized;
      },
    }),
  ),
  ...(['get', 'put'] as const).map((method) =>
    defineRoute({
      ...shared,
      method,
      path: '/pending/:name',
      authorize: checkAccess,
      handle: ({ params, signal }, { release, stopped }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => stopped.add(params.name));
          release.set(params.name, () => resolve('done'));
        }),
    }),
  ),
];

const context: Context = {
  withheld: new Set(),
  gone: new Set(),
  asked: new Set(),
  received: [],
  release: new Map(),
  stopped: new Set(),
};
/** Names of things whose answers are no longer sent. */
const ended = new Set<string>();
const tokens = new Map<string, Caller>();
const responses = new Map<string, ServerResponse>();
let server: Awaited<ReturnType<typeof listen>>;

beforeAll(async () => {
  const app = express();
  app.use(
    '/api',
    mountRoutes(routes, {
      context,
      authenticate: (token) => tokens.get(token) ?? null,
      tokenLocations: { cookieName: 'girderToken', headerName: 'Girder-Token' },
    }),
  );
  server = await listen((request, response) => {
    const name = request.url!.split('/').at(-1)!;
    responses.set(name, response);
    response.once('close', () => ended.add(name));
    app(request, response);
  });
});
afterAll(() => server?.close());

const user: Caller = { id: 'u1', admin: false, scopes: ['core.user_auth'] };
/** Ways to end a request, by a change of its token or of what it is about. */
const causes: Record<string, (token: string, name: string) => void> = {
  'its token was revoked': (token) => tokens.delete(token),
  'its token lost its scope': (token) => tokens.set(token, { ...user, scopes: ['core.user_info.read'] }),
  'its user is no longer an administrator': (token) => tokens.set(token, { ...user, admin: false }),
  'the caller may no longer have this': (_token, name) => context.withheld.add(name),
};

let count = 0;
function newNames(): { token: string; name: string } {
  count += 1;
  const token = `token-${count}`;
  tokens.set(token, { ...user, admin: true });
  return { token, name: `thing-${count}` };
}

/** Sends a request and reads only the header of its response. */
async function readHead(path: string, token: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    httpRequest(`${server.url}/api${path}`, { headers: { 'Girder-Token': token }, agent: false }, resolve)
      .on('error', reject)
      .end();
  });
}

/** Sends an endless body until it is paused. */
function sendSlowly(path: string, token: string): { answered: Promise<{ status: number }>; pause: () => void; stop: () => void } {
  const request = httpRequest(`${server.url}/api${path}`, { method: 'POST', headers: { 'Girder-Token': token }, agent: false });
  const timer = setInterval(() => request.write('1 '), 20);
  const answered = new Promise<{ status: number }>((resolve, reject) => {
    request.on('error', reject).on('response', (response) => {
      response.resume().on('end', () => resolve({ status: response.statusCode! }));
    });
  });
  const pause = () => clearInterval(timer);
  const stop = () => {
    pause();
    request.destroy();
  };
  return { answered, pause, stop };
}

/** Waits for the end of a response after a change of its token or of what it is about. */
async function endOfAnswer(path: string, takeAway: (token: string, name: string) => void): Promise<void> {
  const { token, name } = newNames();
  const head = await readHead(`${path}/${name}`, token);
  expect(head.statusCode).toBe(200);
  takeAway(token, name);
  await until('it is over', () => ended.has(name));
  await expect(head.resume().toArray()).rejects.toThrow();
}

/** The same for a request whose body is being sent. It ends with a refusal. */
async function endOfBody(path: string, takeAway: (token: string, name: string) => void): Promise<void> {
  const { token, name } = newNames();
  const { answered, pause, stop } = sendSlowly(`${path}/${name}`, token);
  await until('it is under way', () => context.asked.has(name));
  // A client that writes to a connection which the server has closed may lose the response.
  pause();
  takeAway(token, name);
  const { status } = await answered;
  stop();
  expect([401, 403]).toContain(status);
  expect(context.received).not.toContain(name);
}

describe.concurrent('a request that stays open', () => {
  it.each(Object.entries(causes))('ends when %s', async (_cause, takeAway) => {
    const answers = ['/stream', '/bytes', '/parts'].map((path) => endOfAnswer(path, takeAway));
    const bodies = ['/json', '/text', '/stream'].map((path) => endOfBody(path, takeAway));
    await Promise.all([...answers, ...bodies]);
  });

  it('continues when the document that it is about is removed', async () => {
    const { token, name } = newNames();
    const head = await readHead(`/stream/${name}`, token);
    context.gone.add(name);
    await endOfAnswer('/stream', causes['its token was revoked']!);
    expect(ended.has(name)).toBe(false);
    head.on('error', () => {}).destroy();
  });
});

describe('a response that took long to make', () => {
  it('is refused when the caller has lost access to it', async () => {
    const { token, name } = newNames();
    const answer = fetch(`${server.url}/api/pending/${name}`, { headers: { 'Girder-Token': token } });
    await until('it has begun', () => context.release.has(name));
    const began = performance.now();
    await until('two seconds have passed', () => performance.now() - began > 2000);
    tokens.delete(token);
    context.release.get(name)!();
    expect((await answer).status).toBe(401);
  });

  it('is sent to the caller of a change, even if it removed their own access', async () => {
    const { token, name } = newNames();
    const answer = fetch(`${server.url}/api/pending/${name}`, { method: 'PUT', headers: { 'Girder-Token': token } });
    await until('it has begun', () => context.release.has(name));
    const began = performance.now();
    tokens.delete(token);
    await until('two seconds have passed', () => performance.now() - began > 2000);
    context.release.get(name)!();
    expect((await answer).status).toBe(200);
  });
});

describe('work that a stopping server has already answered', () => {
  it('is aborted, and its result is dropped', async () => {
    const { token, name } = newNames();
    const answer = fetch(`${server.url}/api/pending/${name}`, { method: 'PUT', headers: { 'Girder-Token': token } });
    await until('it has begun', () => context.release.has(name));
    responses.get(name)!.writeHead(503).end('stopped');
    const { status } = await answer;
    expect([status, await (await answer).text()]).toEqual([503, 'stopped']);
    await until('it is told', () => context.stopped.has(name));
    context.release.get(name)!();
  });
});

describe('a body', () => {
  it.each(['json', 'text', 'stream'])('of kind %s is not read before the permissions of the caller are checked', async (kind) => {
    const { token, name } = newNames();
    context.withheld.add(name);
    const answer = await fetch(`${server.url}/api/${kind}/${name}`, {
      method: 'POST',
      headers: { 'Girder-Token': token },
      body: Buffer.from([0x7b, 0xff]),
    });
    expect(answer.status).toBe(403);
    expect(context.received).not.toContain(name);
  });
});
