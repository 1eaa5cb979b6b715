import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client, startHost, type TestHost } from '../../support/hosts/reference-host.js';

let server: TestHost;
let admin: Client;
let user: Client;

beforeAll(async () => {
  server = await startHost({ checksAnswers: true });
  admin = await server.register('admin');
  user = await server.register('user');
});
afterAll(() => server.close());

const form = (login: string, changes: Record<string, string> = {}) => ({
  query: { login, email: `${login}@example.org`, firstName: 'First', lastName: 'Last', password: 'password', ...changes },
});

describe('POST user', () => {
  it('makes exactly one administrator when many register at once', async () => {
    const fresh = await startHost();
    const register = async (login: string) => {
      const { status, body } = await fresh.anonymous.send('POST', '/user', form(login));
      expect(status).toBe(200);
      return body;
    };
    try {
      const users = await Promise.all(Array.from({ length: 8 }, (_, i) => register(`first${i}`)));
      expect(users.filter((created) => created.admin === true)).toHaveLength(1);
      expect(await fresh.host.context.models.user.countDocuments({ admin: true })).toBe(1);
    } finally {
      await fresh.close();
    }
  });

  it('registers one of several users with the same login at once', async () => {
    const answers = await Promise.all(
      [1, 2, 3].map((i) => server.anonymous.send('POST', '/user', form('twin', { email: `t${i}@e.org` }))),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400]);
    expect(answers.find(({ status }) => status === 400)!.body).toMatchObject({
      type: 'validation',
      field: 'login',
      message: 'That login is already registered.',
    });
  });

  it('does not make an administrator at the request of a stranger', async () => {
    expect(await server.anonymous.ok('POST', '/user', form('sneaky', { admin: 'true' }))).toMatchObject({ admin: false });
    expect(await admin.ok('POST', '/user', form('second-admin', { admin: 'true' }))).toMatchObject({ admin: true });
  });

  it('creates the folders Public and Private', async () => {
    const folders = await user.ok('GET', '/folder', { query: { parentType: 'user', parentId: user.id! } });
    expect(folders.map((folder) => [(folder as { name: string }).name, (folder as { public: boolean }).public])).toEqual([
      ['Private', false],
      ['Public', true],
    ]);
  });

  it.each([
    ['short login', { login: 'abc' }, 'login', /^Login must be at least 4 characters, start with a letter, and may only contain/],
    ['login that starts with a digit', { login: '1abcd' }, 'login', /^Login must be at least 4/],
    ['login with @', { login: 'abcd@e' }, 'login', /^Login may not contain "@"\.$/],
    ['taken login', { login: 'USER ' }, 'login', /^That login is already registered\.$/],
    ['taken email', { email: 'User@Example.org' }, 'email', /^That email is already registered\.$/],
    ['malformed email', { email: 'nobody' }, 'email', /^Invalid email address\.$/],
    ['empty first name', { firstName: ' ' }, 'firstName', /^First name must not be empty\.$/],
    ['empty last name', { lastName: '' }, 'lastName', /^Last name must not be empty\.$/],
    ['long login', { login: 'l'.repeat(256) }, 'login', /^Login must be at most 255 characters\.$/],
    ['long email', { email: `${'e'.repeat(250)}@e.org` }, 'email', /^Email must be at most 254 characters\.$/],
    ['long first name', { firstName: 'F'.repeat(1025) }, 'firstName', /^First name must have at most 1024 characters\.$/],
    ['long password', { password: 'p'.repeat(1025) }, 'password', /^Password must be at most 1024 characters long\.$/],
    ['short password', { password: '12345' }, 'password', /^Password must be at least 6 characters long\.$/],
  ])('refuses a %s', async (_what, changes, field, message) => {
    const failure = await server.anonymous.fails('POST', '/user', form('fresh', changes as Record<string, string>));
    expect(failure).toMatchObject({ status: 400, type: 'validation', field });
    expect(failure.message).toMatch(message);
  });

  it('names a missing parameter', async () => {
    const { query } = form('fresh');
    const { password: _password, ...rest } = query;
    expect(await server.anonymous.fails('POST', '/user', { query: rest })).toMatchObject({
      status: 400,
      type: 'rest',
      message: 'Parameter "password" is required.',
    });
  });

  it('obeys the registration policy', async () => {
    const setPolicy = (value: string) =>
      admin.ok('PUT', '/system/setting', { query: { key: 'core.registration_policy', value } });
    await setPolicy('closed');
    expect(await server.anonymous.fails('POST', '/user', form('late'))).toMatchObject({
      status: 400,
      type: 'rest',
      message: 'Registration on this instance is closed. Contact an administrator to create an account for you.',
    });
    await setPolicy('approve');
    const pending = await server.anonymous.ok('POST', '/user', form('pending'));
    expect(pending).toMatchObject({ status: 'pending' });
    expect(pending.authToken).toBeUndefined();
    const headers = { Authorization: `Basic ${btoa('pending:password')}` };
    expect(await server.anonymous.fails('GET', '/user/authentication', { headers })).toMatchObject({
      status: 401,
      message: 'Account approval required.',
      extra: 'accountApproval',
    });
    await setPolicy('open');
    await admin.ok('PUT', `/user/${String(pending._id)}`, {
      query: { firstName: 'F', lastName: 'L', email: 'pending@example.org', status: 'enabled' },
    });
    expect((await server.anonymous.send('GET', '/user/authentication', { headers })).status).toBe(200);
  });
});

describe('user documents', () => {
  it('show strangers less than the user', async () => {
    const ownRecord = await user.ok('GET', `/user/${user.id}`);
    expect(Object.keys(ownRecord)).toEqual(expect.arrayContaining(['email', 'groups', 'status', 'emailVerified', 'size', 'otp']));
    const strange = await server.anonymous.ok('GET', `/user/${user.id}`);
    expect(Object.keys(strange).sort()).toEqual(
      ['_accessLevel', '_id', '_modelType', 'admin', 'created', 'firstName', 'lastName', 'login', 'public'].sort(),
    );
    expect(JSON.stringify([ownRecord, strange])).not.toMatch(/password|hash|access"/i);
  });

  it('cannot be sorted by hidden fields', async () => {
    expect(await user.fails('GET', '/user', { query: { sort: 'passwordHash' } })).toMatchObject({ status: 400, type: 'rest' });
  });

  it('include the number of folders in their details', async () => {
    expect(await user.ok('GET', `/user/${user.id}/details`)).toEqual({ nFolders: 2 });
    expect(await server.anonymous.ok('GET', `/user/${user.id}/details`)).toEqual({ nFolders: 1 });
  });

  it('are listed for signed-in users, and found by words', async () => {
    expect(await server.anonymous.fails('GET', '/user')).toMatchObject({ status: 401, message: 'You must be logged in.' });
    const users = await user.ok('GET', '/user', { query: { text: 'user' } });
    expect(users.map((entry) => (entry as { login: string }).login)).toEqual(['user']);
  });
});

describe('PUT user', () => {
  const query = { firstName: 'F', lastName: 'L', email: 'user@example.org' };

  it('lets no user make themselves an administrator', async () => {
    const path = `/user/${user.id}`;
    expect(await user.fails('PUT', path, { query: { ...query, admin: true } })).toMatchObject({
      status: 403,
      type: 'access',
      message: 'Only admins may change admin status.',
    });
    expect(await user.ok('PUT', path, { query })).toMatchObject({ firstName: 'F' });
  });

  it('refuses strangers', async () => {
    expect(await user.fails('PUT', `/user/${admin.id}`, { query })).toMatchObject({
      status: 403,
      message: `Write access denied for user ${admin.id} (user ${user.id}).`,
    });
  });

  it('signs a disabled user out at once', async () => {
    const other = await server.register('disabled');
    expect(await other.ok('GET', '/user/me')).toMatchObject({ _id: other.id });
    await admin.ok('PUT', `/user/${other.id}`, { query: { ...query, email: 'disabled@example.org', status: 'disabled' } });
    expect(await other.ok('GET', '/user/me')).toBe(null);
    const headers = { Authorization: `Basic ${btoa('disabled:disabled.password')}` };
    expect(await server.anonymous.fails('GET', '/user/authentication', { headers })).toMatchObject({
      status: 401,
      type: 'access',
      message: 'Account is disabled.',
      extra: 'disabled',
    });
  });
});

describe('passwords', () => {
  it('are changed by their users, which ends their tokens', async () => {
    const other = await server.register('changer');
    expect(await other.fails('PUT', '/user/password', { query: { old: 'wrong', new: 'new.password' } })).toMatchObject({
      status: 403,
      type: 'access',
      message: 'Old password is incorrect.',
    });
    const query = { old: 'changer.password', new: 'new.password' };
    expect(await other.ok('PUT', '/user/password', { query })).toEqual({ message: 'Password changed.' });
    expect(await other.ok('GET', '/user/me')).toBe(null);
    const headers = { Authorization: `Basic ${btoa('changer:new.password')}` };
    expect((await server.anonymous.send('GET', '/user/authentication', { headers })).status).toBe(200);
  });

  it('are compared completely, even when they are long', async () => {
    const long = 'p'.repeat(100);
    await server.anonymous.ok('POST', '/user', form('longpass', { password: `${long}1` }));
    const signIn = (password: string) =>
      server.anonymous.send('GET', '/user/authentication', {
        headers: { Authorization: `Basic ${btoa(`longpass:${password}`)}` },
      });
    expect((await signIn(`${long}2`)).status).toBe(401);
    expect((await signIn(`${long}1`)).status).toBe(200);
  });

  it('are set by administrators only', async () => {
    const path = `/user/${user.id}/password`;
    expect(await user.fails('PUT', path, { query: { password: 'abcdef' } })).toMatchObject({
      status: 403,
      message: 'Administrator access required.',
    });
  });
});

describe('DELETE user', () => {
  it('removes folders, tokens and claimed names as well', async () => {
    const other = await server.register('leaving');
    await admin.ok('DELETE', `/user/${other.id}`).then((body) => expect(body).toEqual({ message: 'Deleted user leaving.' }));
    expect(await other.ok('GET', '/user/me')).toBe(null);
    const { models } = server.host.context;
    expect(await models.folder.countDocuments({ parentId: other.id })).toBe(0);
    expect(await models.nameClaim.countDocuments({ _id: { $regex: `^${other.id}/` } })).toBe(0);
    expect(await admin.fails('GET', `/user/${other.id}`)).toMatchObject({ message: `Invalid user id (${other.id}).` });
  });
});

describe('API keys', () => {
  it('are exchanged for tokens that end with them', async () => {
    const key = await user.ok('POST', '/api_key', { query: { name: 'mine' } });
    expect(key).toMatchObject({ name: 'mine', active: true, scope: null, tokenDuration: null, lastUse: null, userId: user.id });
    expect(key.key).toMatch(/^[A-Za-z0-9]{40}$/);
    const exchanged = await server.anonymous.ok('POST', '/api_key/token', { query: { key: String(key.key) } });
    expect(exchanged).toMatchObject({ user: { _id: user.id }, authToken: { scope: ['core.user_auth'] } });
    const { token } = exchanged.authToken as { token: string };
    const session = new Client(server.url, token, user.id);
    expect(await session.ok('GET', '/user/me')).toMatchObject({ login: 'user' });
    await user.ok('PUT', `/api_key/${String(key._id)}`, { query: { active: false } });
    expect(await session.ok('GET', '/user/me')).toBe(null);
    const invalid = { status: 400, type: 'validation', message: 'Invalid API key.' };
    expect(await server.anonymous.fails('POST', '/api_key/token', { query: { key: String(key.key) } })).toMatchObject(invalid);
    await user.ok('DELETE', `/api_key/${String(key._id)}`);
    expect(await user.ok('GET', '/api_key')).toEqual([]);
  });

  it('limit the scopes of their tokens', async () => {
    const key = await user.ok('POST', '/api_key', { query: { name: 'reader', scope: '["core.data.read"]' } });
    const { authToken } = await server.anonymous.ok('POST', '/api_key/token', { query: { key: String(key.key), duration: 1 } });
    const reader = new Client(server.url, (authToken as { token: string }).token, user.id);
    const folders = await reader.ok('GET', '/folder', { query: { parentType: 'user', parentId: user.id! } });
    expect(folders).toHaveLength(2);
    const query = { parentType: 'user', parentId: user.id!, name: 'x' };
    expect(await reader.fails('POST', '/folder', { query })).toMatchObject({ status: 401, message: 'You must be logged in.' });
    expect(await reader.ok('GET', '/user/me')).toBe(null);
  });

  it.each([
    ['["bad"]', 'Invalid scopes: bad.'],
    ['[]', 'Custom scope list must not be empty.'],
    ['{"a":1}', 'Scope must be a list, or None.'],
    ['["core.setting.read"]', 'Invalid scopes: core.setting.read.'],
    [JSON.stringify(Array(20).fill('x'.repeat(200))), `Invalid scopes: ${Array(10).fill('x'.repeat(100)).join(', ')}.`],
  ])('refuse the scope %s', async (scope, message) => {
    expect(await user.fails('POST', '/api_key', { query: { scope } })).toMatchObject({
      status: 400,
      type: 'validation',
      message,
    });
  });

  it.each([
    [{ name: 'n'.repeat(1025) }, 'name'],
    [{ tokenDuration: '1e300' }, 'tokenDuration'],
    [{ tokenDuration: '-1' }, 'tokenDuration'],
  ])('are refused with %j', async (query, field) => {
    expect(await user.fails('POST', '/api_key', { query: query as never })).toMatchObject({ status: 400, field });
  });

  it('belong to their owners', async () => {
    const key = await admin.ok('POST', '/api_key', { query: { name: 'admins' } });
    expect(await user.fails('DELETE', `/api_key/${String(key._id)}`)).toMatchObject({ status: 403, type: 'access' });
    expect(await user.fails('GET', '/api_key', { query: { userId: admin.id! } })).toMatchObject({ status: 403 });
  });
});

describe('anonymous sessions', () => {
  it('get an anonymous token', async () => {
    const { token } = await server.anonymous.ok('GET', '/token/session');
    const session = new Client(server.url, String(token), null);
    expect(await session.ok('GET', '/user/me')).toBe(null);
    expect(await session.ok('GET', '/token/current')).toMatchObject({ scope: ['core.anonymous_session'] });
    expect(await session.ok('GET', '/notification')).toEqual([]);
    expect(await session.fails('GET', '/user')).toMatchObject({ status: 401 });
    expect(await session.ok('DELETE', '/token/session')).toEqual({ message: 'Session deleted.' });
    expect(await session.ok('GET', '/token/current')).toBe(null);
    expect(await server.anonymous.fails('GET', '/notification')).toMatchObject({
      status: 401,
      message: 'You must be logged in or have a valid auth token.',
    });
  });

  it('can request the scopes of keys', async () => {
    const scopes = await server.anonymous.ok('GET', '/token/scopes');
    expect((scopes.custom as { id: string }[]).map(({ id }) => id)).toContain('core.data.own');
    expect((scopes.adminCustom as { id: string }[]).map(({ id }) => id)).toContain('core.setting.read');
  });
});
