import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RouteDefinition } from '../../../src/larger-host.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

let server: TestHost;
let admin: Client;
let visitor: Client;
const evil = 'https://evil.example';

beforeAll(async () => {
  server = await startHost();
  admin = await server.register('admin');
  visitor = await server.register('visitor');
});
afterAll(() => server.close());

/** The headers that browsers send for a page of another site. Old browsers, and those without TLS, send only the first two. */
const senders: [string, Record<string, string>][] = [
  ['another origin', { Origin: evil }],
  ['a sandboxed page', { Origin: 'null' }],
  ['another site', { Origin: evil, 'Sec-Fetch-Site': 'cross-site' }],
  ['a neighbor on the same site', { Origin: 'https://other.example.org', 'Sec-Fetch-Site': 'same-site' }],
  ['another site without an origin', { 'Sec-Fetch-Site': 'cross-site' }],
];
/** Requests that an HTML form can send: the sender, the content type and further headers. */
const forms: [string, string, Record<string, string>][] = [
  ...senders.map(([sender, from]): [string, string, Record<string, string>] => [
    sender,
    'application/x-www-form-urlencoded',
    from,
  ]),
  ['another origin', 'text/plain', { Origin: evil }],
  ['another origin', 'multipart/form-data; boundary=x', { Origin: evil }],
];

const pathOf = (path: string) => `/api/v1${path.replace(/:\w+/g, '0123456789abcdef01234567')}`;
const send = (route: Pick<RouteDefinition, 'method' | 'path'>, headers: Record<string, string>, body = '') =>
  fetch(`${server.url}${pathOf(route.path)}`, {
    method: route.method.toUpperCase(),
    headers,
    ...(route.method !== 'get' && { body }),
  });
const registration = (login: string) =>
  new URLSearchParams({ login, email: `${login}@example.org`, firstName: 'F', lastName: 'L', password: 'password' }).toString();
const urlencoded = { 'Content-Type': 'application/x-www-form-urlencoded' };

describe('a page of another site', () => {
  it.each(forms)('changes nothing with the cookie of its visitor, by any route: %s, %s', async (_who, type, from) => {
    const changes = server.host.routes.filter(({ method }) => method !== 'get');
    expect(changes.length).toBeGreaterThan(60);
    const headers = { ...from, 'Content-Type': type, Cookie: `girderToken=${admin.token}` };
    const answers = await Promise.all(
      changes.map(async (route) => {
        const answer = await send(route, headers, type.startsWith('multipart') ? '--x--\r\n' : '');
        await answer.arrayBuffer();
        return `${answer.status} ${answer.headers.get('Set-Cookie')} ${route.method} ${route.path}`;
      }),
    );
    expect(answers.filter((answer) => !answer.startsWith('403 null'))).toEqual([]);
    expect(await admin.ok('GET', '/user/me')).toMatchObject({ _id: admin.id });
  });

  it.each(senders)('signs no one in by POST user, even with a token: %s', async (sender, from) => {
    const route = { method: 'post', path: '/user' } as const;
    const withoutToken = await send(route, { ...from, ...urlencoded }, registration('planted'));
    expect(withoutToken.status).toBe(403);
    expect(await withoutToken.json()).toMatchObject({ type: 'rest', message: expect.stringContaining('A page of another site') });
    const { token } = await server.anonymous.ok('GET', '/token/session');
    const login = `planted${senders.findIndex(([name]) => name === sender)}`;
    const withToken = await send(route, { ...from, ...urlencoded }, `${registration(login)}&token=${String(token)}`);
    expect(withToken.headers.has('Set-Cookie')).toBe(false);
  });

  it.each(senders)('gives a browser no session: %s', async (_who, from) => {
    const session = await send({ method: 'get', path: '/token/session' }, from);
    expect([session.status, session.headers.has('Set-Cookie')]).toEqual([200, false]);
    const Authorization = `Basic ${btoa('visitor:visitor.password')}`;
    const signedIn = await send({ method: 'get', path: '/user/authentication' }, { ...from, Authorization });
    expect([signedIn.status, signedIn.headers.has('Set-Cookie')]).toEqual([200, false]);
  });

  it('makes changes with a token that the page sends itself', async () => {
    const query = { parentType: 'user', parentId: visitor.id!, name: 'from elsewhere' };
    const headers = { Origin: evil, 'Sec-Fetch-Site': 'cross-site' };
    expect(await visitor.ok('POST', '/folder', { query, headers })).toMatchObject({ name: 'from elsewhere' });
  });
});

describe('a page of an allowed origin', () => {
  const allow = (origins: string) => server.host.settings.set('core.cors.allow_origin', origins);
  const from = { Origin: 'https://app.example.org', 'Sec-Fetch-Site': 'cross-site' };
  const signOut = { method: 'delete', path: '/token/session' } as const;

  it('registers users and makes changes with the cookie when the origin is allowed by name', async () => {
    await allow('https://*.example.org');
    const answer = await send({ method: 'post', path: '/user' }, { ...from, ...urlencoded }, registration('invited'));
    expect(answer.status).toBe(200);
    const cookie = /girderToken=[^;]+/.exec(answer.headers.get('Set-Cookie')!)![0];
    expect((await send(signOut, { ...from, Cookie: cookie })).status).toBe(200);
    expect((await send(signOut, { ...from, Cookie: cookie })).status).toBe(401);
  });

  it('makes anonymous requests without cookies when all origins are allowed', async () => {
    await allow('*');
    const answer = await send({ method: 'post', path: '/user' }, { ...from, ...urlencoded }, registration('anybody'));
    expect([answer.status, answer.headers.has('Set-Cookie')]).toEqual([200, false]);
    expect((await send(signOut, { ...from, Cookie: `girderToken=${visitor.token}` })).status).toBe(401);
    expect(await visitor.ok('GET', '/user/me')).toMatchObject({ _id: visitor.id });
    await allow('');
  });
});

it.each<[string, () => Record<string, string>]>([
  ['the same origin', () => ({ Origin: server.url, 'Sec-Fetch-Site': 'same-origin' })],
  ['the same origin over withoutToken HTTP, where browsers send only Origin', () => ({ Origin: server.url })],
  ['the address bar', () => ({ 'Sec-Fetch-Site': 'none' })],
  ['no browser', () => ({})],
])('the cookie is accepted in requests from %s', async (_who, from) => {
  const { authToken } = await server.anonymous.ok('GET', '/user/authentication', {
    headers: { Authorization: `Basic ${btoa('visitor:visitor.password')}` },
  });
  const headers = { ...from(), Cookie: `girderToken=${(authToken as { token: string }).token}` };
  expect((await send({ method: 'delete', path: '/token/session' }, headers)).status).toBe(200);
  expect((await send({ method: 'delete', path: '/token/session' }, headers)).status).toBe(401);
});
