import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startHost, Client, type TestHost } from '../support/reference-host.js';

let server: TestHost;
let admin: Client;
let user: Client;

beforeAll(async () => {
  server = await startHost();
  admin = await server.register('admin');
  user = await server.register('user');
});
afterAll(() => server.close());

const basic = (login: string, password: string) => ({
  Authorization: `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`,
});

describe('GET user/authentication', () => {
  it('gives user, token and cookie for login and password', async () => {
    const { status, body, headers } = await server.anonymous.send('GET', '/user/authentication', {
      headers: basic('user', 'user.password'),
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      message: 'Login succeeded.',
      user: { login: 'user', admin: false, email: 'user@example.org', _accessLevel: 2, _modelType: 'user' },
      authToken: { scope: ['core.user_auth'], token: expect.stringMatching(/^[A-Za-z0-9]{64}$/) },
    });
    expect(headers.get('set-cookie')).toMatch(/^girderToken=[A-Za-z0-9]{64}; expires=.*; Path=\/; HttpOnly/);
  });

  it('takes the email address for the login, in any case', async () => {
    const answer = await server.anonymous.ok('GET', '/user/authentication', {
      headers: basic('User@Example.org', 'user.password'),
    });
    expect(answer.user).toMatchObject({ login: 'user' });
  });

  it('takes the header Girder-Authorization too', async () => {
    const { Authorization } = basic('user', 'user.password');
    const headers = { 'Girder-Authorization': Authorization };
    expect((await server.anonymous.send('GET', '/user/authentication', { headers })).status).toBe(200);
  });

  it.each([
    ['no header', {}, 401, 'rest', 'Use HTTP Basic Authentication'],
    ['another scheme', { Authorization: 'Digest abc' }, 401, 'rest', 'Use HTTP Basic Authentication'],
    ['what is not base64', { Authorization: 'Basic %%%' }, 401, 'rest', 'Invalid HTTP Authorization header'],
    ['no colon', { Authorization: `Basic ${btoa('abc')}` }, 401, 'rest', 'Invalid HTTP Authorization header'],
    ['an unknown login', basic('nobody', 'password'), 401, 'access', 'Login failed.'],
    ['a wrong password', basic('user', 'password'), 401, 'access', 'Login failed.'],
    ['an empty password', basic('user', ''), 401, 'access', 'Login failed.'],
  ])('refuses %s', async (_what, headers, status, type, message) => {
    expect(await server.anonymous.fails('GET', '/user/authentication', { headers })).toMatchObject({ status, type, message });
  });

  it('gives a valid token back', async () => {
    const answer = await user.ok('GET', '/user/authentication');
    expect(answer.authToken).toMatchObject({ token: user.token, scope: ['core.user_auth'] });
  });
});

describe('tokens', () => {
  it('are taken from Bearer, Girder-Token and the parameter, and from the cookie only where routes allow it', async () => {
    const me = async (sending: object) => (await server.anonymous.ok('GET', '/user/me', sending))?._id ?? null;
    expect(await me({ headers: { Authorization: `Bearer ${user.token}` } })).toBe(user.id);
    expect(await me({ headers: { 'Girder-Token': user.token } })).toBe(user.id);
    expect(await me({ query: { token: user.token } })).toBe(user.id);
    expect(await me({ headers: { Cookie: `girderToken=${user.token}` } })).toBe(null);
    const notifications = await server.anonymous.send('GET', '/notification', {
      headers: { Cookie: `girderToken=${user.token}` },
    });
    expect(notifications.status).toBe(200);
  });

  it('are kept as hashes only', async () => {
    const stored = await server.host.context.models.token.find().lean();
    expect(stored.length).toBeGreaterThan(0);
    expect(JSON.stringify(stored)).not.toContain(user.token);
  });

  it('end at sign-out, at once', async () => {
    const { authToken } = await server.anonymous.ok('GET', '/user/authentication', { headers: basic('user', 'user.password') });
    const session = new Client(server.url, (authToken as { token: string }).token, user.id);
    expect(await session.ok('GET', '/user/me')).toMatchObject({ _id: user.id });
    const { body, headers } = await session.send('DELETE', '/user/authentication');
    expect(body).toEqual({ message: 'Logged out.' });
    expect(headers.get('set-cookie')).toMatch(/^girderToken=; /);
    expect(await session.ok('GET', '/user/me')).toBe(null);
  });

  it('that are unknown count as none', async () => {
    const stranger = new Client(server.url, 'x'.repeat(64), null);
    expect(await stranger.ok('GET', '/user/me')).toBe(null);
    expect(await stranger.fails('GET', '/user')).toMatchObject({
      status: 401,
      type: 'access',
      message: 'You must be logged in.',
    });
  });
});
describe('administration', () => {
  it('makes the first user administrator and nobody else', async () => {
    expect(await admin.ok('GET', '/user/me')).toMatchObject({ admin: true, status: 'enabled', emailVerified: true });
    expect(await user.ok('GET', '/user/me')).toMatchObject({ admin: false });
  });
});
