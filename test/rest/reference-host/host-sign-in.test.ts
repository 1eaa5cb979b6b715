import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiKeyDocument } from '../../../src/reference-host/accounts/api-keys/api-key.model.js';
import { removeExpired } from '../../../src/reference-host/accounts/tokens/expired-records.js';
import { repairFirstUser } from '../../../src/reference-host/accounts/users/first-user.js';
import { issueAnonymousSession, issueSignInToken, issueToken } from '../../../src/reference-host/accounts/tokens/tokens.js';
import { issueSignInLink } from '../../../src/reference-host/accounts/sign-in/sign-in-link.js';
import type { UserDocument } from '../../../src/reference-host/accounts/users/user.model.js';
import { createReferenceHost } from '../../../src/reference-host/index.js';
import { until } from '../../support/run/until.js';
import { startHost, Client, type TestHost } from '../../support/hosts/reference-host.js';

let server: TestHost;
let admin: Client;
let user: Client;

beforeAll(async () => {
  server = await startHost({ checksAnswers: true });
  admin = await server.register('admin');
  user = await server.register('user');
});
afterAll(() => server.close());

const basic = (login: string, password: string) => ({
  Authorization: `Basic ${Buffer.from(`${login}:${password}`).toString('base64')}`,
});

describe('POST user/authentication/link', () => {
  const redeem = (link: string) => server.anonymous.send('POST', '/user/authentication/link', { form: { link } });
  const linkOf = async (login: string) => {
    const { context } = server.host;
    return issueSignInLink(context, (await context.models.user.findOne({ login }).lean<UserDocument>())!);
  };

  it('signs in only the first caller, and its secret is not a token', async () => {
    const link = await linkOf('user');
    const headers = { Authorization: `Bearer ${link}` };
    expect((await server.anonymous.send('GET', '/user/me', { headers })).body).toBeNull();
    const answers = await Promise.all([redeem(link), redeem(link), redeem(link)]);
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 401, 401]);
    const signedIn = answers.find(({ status }) => status === 200)!;
    expect(signedIn.body).toMatchObject({ user: { login: 'user' }, authToken: { scope: ['core.user_auth'] } });
    expect(signedIn.headers.get('set-cookie')).toMatch(/^girderToken=/);
  });

  it('refuses a link that is unknown, too old, or for a disabled user', async () => {
    expect((await redeem('nonsense')).status).toBe(401);
    expect((await redeem('\u0000'.repeat(1000))).status).toBe(401);
    expect((await redeem('')).status).toBe(401);
    const { models } = server.host.context;
    const old = await linkOf('user');
    await models.token.updateMany({ scope: [] }, { $set: { expires: new Date(Date.now() - 1) } });
    expect((await redeem(old)).status).toBe(401);
    const link = await linkOf('user');
    await models.user.updateOne({ login: 'user' }, { $set: { status: 'disabled' } });
    expect((await redeem(link)).status).toBe(401);
    await models.user.updateOne({ login: 'user' }, { $set: { status: 'enabled' } });
  });
});

describe('GET user/authentication', () => {
  it('returns user, token and cookie for login and password', async () => {
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

  it('accepts the email address instead of the login, in any letter case', async () => {
    const answer = await server.anonymous.ok('GET', '/user/authentication', {
      headers: basic('User@Example.org', 'user.password'),
    });
    expect(answer.user).toMatchObject({ login: 'user' });
  });

  it('also accepts the header Girder-Authorization', async () => {
    const { Authorization } = basic('user', 'user.password');
    const headers = { 'Girder-Authorization': Authorization };
    expect((await server.anonymous.send('GET', '/user/authentication', { headers })).status).toBe(200);
  });

  it.each([
    ['no header', {}, 401, 'rest', 'Use HTTP Basic Authentication'],
    ['another scheme', { Authorization: 'Digest abc' }, 401, 'rest', 'Use HTTP Basic Authentication'],
    ['text that is not base64', { Authorization: 'Basic %%%' }, 401, 'rest', 'Invalid HTTP Authorization header'],
    ['no colon', { Authorization: `Basic ${btoa('abc')}` }, 401, 'rest', 'Invalid HTTP Authorization header'],
    ['an unknown login', basic('nobody', 'password'), 401, 'access', 'Login failed.'],
    ['a wrong password', basic('user', 'password'), 401, 'access', 'Login failed.'],
    ['an empty password', basic('user', ''), 401, 'access', 'Login failed.'],
  ])('refuses %s', async (_what, headers, status, type, message) => {
    expect(await server.anonymous.fails('GET', '/user/authentication', { headers })).toMatchObject({ status, type, message });
  });

  it('returns the valid token that was sent', async () => {
    const answer = await user.ok('GET', '/user/authentication');
    expect(answer.authToken).toMatchObject({ token: user.token, scope: ['core.user_auth'] });
  });
});

describe('tokens', () => {
  it('are accepted from Bearer, Girder-Token and the parameter, and from the cookie only if routes allow it', async () => {
    const userIdOf = async (sending: object) => (await server.anonymous.ok('GET', '/user/me', sending))?._id ?? null;
    expect(await userIdOf({ headers: { Authorization: `Bearer ${user.token}` } })).toBe(user.id);
    expect(await userIdOf({ headers: { 'Girder-Token': user.token } })).toBe(user.id);
    expect(await userIdOf({ query: { token: user.token } })).toBe(user.id);
    expect(await userIdOf({ headers: { Cookie: `girderToken=${user.token}` } })).toBe(null);
    const notifications = await server.anonymous.send('GET', '/notification', {
      headers: { Cookie: `girderToken=${user.token}` },
    });
    expect(notifications.status).toBe(200);
  });

  it('are stored only as hashes', async () => {
    const stored = await server.host.context.models.token.find().lean();
    expect(stored.length).toBeGreaterThan(0);
    expect(JSON.stringify(stored)).not.toContain(user.token);
  });

  it('end immediately at sign-out', async () => {
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
describe('GET token/session', () => {
  const ask = (headers: Record<string, string>) => server.anonymous.send('GET', '/token/session', { headers });

  it("gives scripts an anonymous token, never the cookie's, and leaves a browser signed in", async () => {
    const { body, headers } = await ask({ Cookie: `girderToken=${user.token}` });
    expect(body.token).not.toBe(user.token);
    expect(headers.get('set-cookie')).toBe(null);
    const session = new Client(server.url, String(body.token), null);
    expect(await session.ok('GET', '/user/me')).toBe(null);
    expect(await session.ok('GET', '/token/current')).toMatchObject({ scope: ['core.anonymous_session'] });
  });

  it('returns a token that was sent in a header, and gives a browser without one a cookie', async () => {
    expect((await ask({ 'Girder-Token': user.token! })).body).toMatchObject({ token: user.token });
    const { body, headers } = await ask({ Cookie: 'girderToken=gone' });
    expect(headers.get('set-cookie')).toContain(`girderToken=${String(body.token)}; `);
    expect(headers.get('cache-control')).toBe('no-store');
  });
});

it('a response with a token is not cached by browsers or proxies', async () => {
  const requests: [path: string, headers: Record<string, string>][] = [
    ['/token/session', { 'Girder-Token': user.token! }],
    ['/token/session', { Cookie: `girderToken=${user.token}` }],
    ['/token/current', { 'Girder-Token': user.token! }],
    ['/user/authentication', { 'Girder-Token': user.token! }],
  ];
  for (const [path, sent] of requests) {
    const { status, headers } = await server.anonymous.send('GET', path, { headers: sent });
    const outcome = [path, status, headers.get('cache-control'), headers.get('etag')];
    expect(outcome).toEqual([path, 200, 'no-store', null]);
  }
});

describe('the cookie', () => {
  const cookieOf = async (headers: Record<string, string>, url = server.url) => {
    const sent = { headers: { ...basic('user', 'user.password'), ...headers } };
    return (await new Client(url, null, null).send('GET', '/user/authentication', sent)).headers.get('set-cookie');
  };

  it('is hidden from scripts and from other sites', async () => {
    const cookie = await cookieOf({ 'X-Forwarded-Proto': 'https' });
    expect(cookie).toMatch(/; Path=\/; HttpOnly; SameSite=Lax$/);
  });

  it('is Secure behind a trusted proxy with TLS, or if the server’s address says so', async () => {
    const behind = await startHost({ trustProxy: 'loopback' });
    try {
      await behind.register('admin');
      await behind.register('user');
      expect(await cookieOf({ 'X-Forwarded-Proto': 'https' }, behind.url)).toMatch(/; SameSite=Lax; Secure$/);
      expect(await cookieOf({ 'X-Forwarded-Proto': 'http' }, behind.url)).not.toContain('Secure');
      await behind.host.settings.set('core.server_root', 'https://images.example.org');
      expect(await cookieOf({}, behind.url)).toMatch(/; Secure$/);
    } finally {
      await behind.close();
    }
  });
});

describe('revoking all tokens of a user', () => {
  const query = { firstName: 'First', lastName: 'Last' };
  const clientWithKey = async (owner: Client) => {
    const { key } = await owner.ok('POST', '/api_key', { query: { name: 'program' } });
    const { authToken } = await server.anonymous.ok('POST', '/api_key/token', { query: { key: String(key) } });
    return new Client(server.url, (authToken as { token: string }).token, owner.id);
  };
  const isSignedIn = async (client: Client) => (await client.ok('GET', '/user/me')) !== null;

  it('happens when the password changes, for tokens of sessions and of API keys', async () => {
    const owner = await server.register('owner');
    const program = await clientWithKey(owner);
    await owner.ok('PUT', '/user/password', { query: { old: 'owner.password', new: 'owner.password2' } });
    expect([await isSignedIn(owner), await isSignedIn(program)]).toEqual([false, false]);
    const late = await server.register('latecomer');
    const program2 = await clientWithKey(late);
    await admin.ok('PUT', `/user/${late.id}/password`, { query: { password: 'another' } });
    expect([await isSignedIn(late), await isSignedIn(program2)]).toEqual([false, false]);
  });

  it('includes tokens that were being issued when the password changed', async () => {
    const { models } = server.host.context;
    const racer = await server.register('racer');
    const stored = await models.user.findById(racer.id).lean<UserDocument>();
    await admin.ok('PUT', `/user/${racer.id}/password`, { query: { password: 'another' } });
    const { token } = await issueSignInToken(server.host.context, stored!);
    expect(await isSignedIn(new Client(server.url, token, racer.id))).toBe(false);
  });

  it('happens when the user is disabled, who has to sign in again when enabled', async () => {
    const guest = await server.register('guest');
    const email = { ...query, email: 'guest@example.org' };
    await admin.ok('PUT', `/user/${guest.id}`, { query: { ...email, status: 'disabled' } });
    await admin.ok('PUT', `/user/${guest.id}`, { query: { ...email, status: 'enabled' } });
    expect(await isSignedIn(guest)).toBe(false);
    const answer = await server.anonymous.send('GET', '/user/authentication', { headers: basic('guest', 'guest.password') });
    expect(answer.status).toBe(200);
  });

  it('happens for an API key when it is removed, deactivated or given another scope, even for tokens being issued', async () => {
    const { models } = server.host.context;
    const holder = await server.register('holder');
    const changes: (Record<string, string | boolean> | null)[] = [{ active: false }, { scope: '["core.data.read"]' }, null];
    for (const change of changes) {
      const program = await clientWithKey(holder);
      const key = (await models.apiKey.findOne({ userId: holder.id }).sort({ _id: -1 }).lean<ApiKeyDocument>())!;
      const owner = (await models.user.findById(holder.id).lean<UserDocument>())!;
      expect(await isSignedIn(program)).toBe(true);
      if (change === null) await holder.ok('DELETE', `/api_key/${String(key._id)}`);
      else await holder.ok('PUT', `/api_key/${String(key._id)}`, { query: change });
      const late = await issueToken(server.host.context, { user: owner, apiKey: key }, { days: 1, scope: ['core.user_auth'] });
      expect([await isSignedIn(program), await isSignedIn(new Client(server.url, late.token, holder.id))]).toEqual([
        false,
        false,
      ]);
    }
  });

  it.each([[null], [['core.user_info.read', 'core.data.read']]])(
    'does not happen for an API key that is sent its own scope %j',
    async (scope) => {
      const holder = await server.register(`holder-of-${scope === null ? 'all' : 'some'}`);
      const query = { name: 'program', scope: JSON.stringify(scope), active: true };
      const key = await holder.ok('POST', '/api_key', { query });
      const { authToken } = await server.anonymous.ok('POST', '/api_key/token', { query: { key: String(key.key) } });
      const program = new Client(server.url, (authToken as { token: string }).token, holder.id);
      const sent = { ...query, name: 'renamed', scope: JSON.stringify(scope?.toReversed() ?? null) };
      expect(await holder.ok('PUT', `/api_key/${String(key._id)}`, { query: sent })).toMatchObject({ name: 'renamed', scope });
      expect(await isSignedIn(program)).toBe(true);
    },
  );

  it('happens for API keys when they are turned off, while sessions continue', async () => {
    const holder = await server.register('keeper');
    const program = await clientWithKey(holder);
    const stream = await fetch(`${server.url}/api/v1/notification/stream`, { headers: { 'Girder-Token': program.token! } });
    expect(stream.status).toBe(200);
    const set = (value: boolean) => admin.ok('PUT', '/system/setting', { query: { key: 'core.api_keys', value } });
    try {
      await set(false);
      expect([await isSignedIn(program), await isSignedIn(holder)]).toEqual([false, true]);
      await expect(stream.text()).rejects.toThrow();
      const key = (await server.host.context.models.apiKey.findOne({ userId: holder.id }).lean<ApiKeyDocument>())!;
      const owner = (await server.host.context.models.user.findById(holder.id).lean<UserDocument>())!;
      const late = await issueToken(server.host.context, { user: owner, apiKey: key }, { days: 1, scope: ['core.user_auth'] });
      expect(await isSignedIn(new Client(server.url, late.token, holder.id))).toBe(false);
    } finally {
      await set(true);
    }
    expect([await isSignedIn(program), await isSignedIn(await clientWithKey(holder))]).toEqual([false, true]);
  });

  it('happens within 5 s when another process turns API keys off', async () => {
    const other = await createReferenceHost({ mongoUri: server.databaseUri, dataDirectory: server.dataDirectory });
    try {
      const { url } = await other.listen();
      const { token } = await clientWithKey(await server.register('worker'));
      const there = new Client(url, token, null);
      // The plugin caches its verdicts on tokens.
      const isTaken = async () => (await there.send('GET', '/job/all')).status === 200;
      expect(await isTaken()).toBe(true);
      await admin.ok('PUT', '/system/setting', { query: { key: 'core.api_keys', value: false } });
      await until('the other process refuses the token', async () => !(await isTaken()));
    } finally {
      await admin.ok('PUT', '/system/setting', { query: { key: 'core.api_keys', value: true } });
      await other.close();
    }
  });
});

it('the server removes expired tokens and counts of attempts when the database does not', async () => {
  const { context } = server.host;
  const { models } = context;
  const past = new Date(Date.now() - 1000);
  await issueAnonymousSession(context);
  const before = await models.token.countDocuments();
  await models.token.create({ hash: 'ended', scope: [], created: past, expires: past });
  await models.attempt.create({ key: 'ended', points: 3, expire: past });
  expect(await removeExpired(context)).toBeGreaterThanOrEqual(0);
  expect(await models.token.countDocuments()).toBe(before);
  expect(await models.attempt.countDocuments({ key: 'ended' })).toBe(0);
});

describe('the database', () => {
  it('contains nothing that allows signing in', async () => {
    const { key, prefix } = await user.ok('POST', '/api_key', { query: { name: 'kept' } });
    await server.anonymous.send('GET', '/user/authentication', { headers: basic('user', 'wrong.guess') });
    const database = server.host.context.models.user.db.db!;
    const names = (await database.listCollections().toArray()).map(({ name }) => name);
    const documents = await Promise.all(names.map((name) => database.collection(name).find().toArray()));
    const dump = JSON.stringify(documents);
    for (const secret of [user.token!, String(key), 'user.password', 'wrong.guess']) expect(dump).not.toContain(secret);
    expect(String(key).startsWith(String(prefix))).toBe(true);
    const [shown] = (await user.ok('GET', '/api_key')).slice(-1);
    expect(shown).toMatchObject({ name: 'kept', prefix });
    expect(JSON.stringify(shown)).not.toContain(String(key).slice(6));
    expect(Object.keys(shown as object)).not.toEqual(expect.arrayContaining(['keyHash']));
  });
});

describe('the role of administrator', () => {
  it('is given at the next start when the first registration was interrupted before', async () => {
    const { context } = server.host;
    await context.models.hostState.deleteOne({ _id: 'first-user' });
    await context.models.user.updateOne({ login: 'admin' }, { $set: { admin: false } });
    await repairFirstUser(context);
    expect(await context.models.user.find({ admin: true }, { login: 1 }).lean()).toMatchObject([{ login: 'admin' }]);
  });

  it('is given only to the first user', async () => {
    expect(await admin.ok('GET', '/user/me')).toMatchObject({ admin: true, status: 'enabled', emailVerified: true });
    expect(await user.ok('GET', '/user/me')).toMatchObject({ admin: false });
  });
});
