import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createReferenceHost } from '../../../src/reference-host/index.js';
import { Client, startHost, type TestHost } from '../../support/hosts/reference-host.js';
import { until } from '../../support/run/until.js';

let server: TestHost;
let admin: Client;
let user: Client;

const defaults = {
  'core.sign_in_window': 900,
  'core.sign_in_failures_per_login_and_address': 10,
  'core.sign_in_failures_per_login': 100,
  'core.sign_in_failures_per_address': 100,
  'core.registrations_per_address': 500,
};
const set = async (values: Partial<typeof defaults>) => {
  for (const [key, value] of Object.entries(values)) await server.host.settings.set(key, value);
};

let networks = 0;
/** An unused address. */
const fresh = () => `10.0.${Math.floor(++networks / 250)}.${networks % 250}`;

beforeAll(async () => {
  server = await startHost({ trustProxy: 1 });
  admin = await server.register('admin');
  user = await server.register('user');
});
afterEach(() => set(defaults));
afterAll(() => server.close());

const from = (address: string) => ({ 'X-Forwarded-For': address });
const signIn = async (login: string, password: string, address: string, url = server.url) => {
  const headers = { ...from(address), Authorization: `Basic ${btoa(`${login}:${password}`)}` };
  return new Client(url, null, null).send('GET', '/user/authentication', { headers });
};
/** How often each status is the response to requests that are sent one after the other, or several at a time. */
const statuses = async (count: number, send: (index: number) => Promise<{ status: number }>, atOnce = 1) => {
  const answers: { status: number }[] = [];
  for (let started = 0; started < count; started += atOnce) {
    const size = Math.min(atOnce, count - started);
    answers.push(...(await Promise.all(Array.from({ length: size }, (_, index) => send(started + index)))));
  }
  return answers.reduce<Record<number, number>>((counts, { status }) => ({ ...counts, [status]: (counts[status] ?? 0) + 1 }), {});
};

describe('wrong passwords', () => {
  it.each(['user', 'nobody-is-called-so'])('for %s are checked ten times per network, even when sent at once', async (login) => {
    const address = fresh();
    // Users who would have to wait for long are refused.
    const { 401: checked, 429: limited = 0, 503: busy = 0 } = await statuses(40, () => signIn(login, 'wrong', address), 40);
    expect(checked).toBeLessThanOrEqual(10);
    expect(checked! + limited + busy).toBe(40);
    await statuses(10, () => signIn(login, 'wrong', address));
    const refused = await signIn(login, 'user.password', address);
    expect(refused).toMatchObject({ status: 429, body: { type: 'rest' } });
    expect(refused.body).toMatchObject({
      message: expect.stringMatching(/^Too many wrong passwords for this login\. Try again in \d+ seconds\.$/),
    });
    const seconds = Number(refused.headers.get('Retry-After'));
    expect(seconds).toBeGreaterThan(800);
    expect(seconds).toBeLessThanOrEqual(900);
    if (login === 'user') expect((await signIn(login, 'user.password', fresh())).status).toBe(200);
  });

  it('are counted by all processes together', async () => {
    const other = await createReferenceHost({
      mongoUri: server.databaseUri,
      dataDirectory: server.dataDirectory,
      passwordMemoryKiB: 8,
      trustProxy: 1,
    });
    try {
      const { url } = await other.listen();
      const address = fresh();
      expect(await statuses(6, () => signIn('user', 'wrong', address))).toEqual({ 401: 6 });
      expect(await statuses(6, () => signIn('user', 'wrong', address, url))).toEqual({ 401: 4, 429: 2 });
      expect((await signIn('user', 'user.password', address)).status).toBe(429);
    } finally {
      await other.close();
    }
  });

  it('are forgotten after the correct one, and when the window ends even if the guesser continues', async () => {
    const address = fresh();
    for (let round = 0; round < 2; round += 1) {
      expect(await statuses(9, () => signIn('user', 'wrong', address))).toEqual({ 401: 9 });
      expect((await signIn('user', 'user.password', address)).status).toBe(200);
    }
    let window = 2;
    let locked = '';
    let refused = await signIn('user', 'user.password', address);
    // On a busy machine, a short window ends before there were enough guesses.
    for (; refused.status !== 429 && window <= 128; window *= 4) {
      await set({ 'core.sign_in_window': window });
      locked = fresh();
      await statuses(12, () => signIn('user', 'wrong', locked));
      refused = await signIn('user', 'user.password', locked);
    }
    expect(refused.status).toBe(429);
    const seconds = Number(refused.headers.get('Retry-After'));
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(window / 4);
    await until('the right password is taken', async () => (await signIn('user', 'user.password', locked)).status === 200);
  });

  it('for many logins are limited by network, without locking out known users', async () => {
    await set({ 'core.sign_in_failures_per_address': 5 });
    const address = fresh();
    expect((await signIn('user', 'user.password', address)).status).toBe(200);
    expect(await statuses(8, (index) => signIn(`nobody${index}`, 'wrong', address), 1)).toEqual({ 401: 5, 429: 3 });
    expect((await signIn('admin', 'admin.password', address)).status).toBe(429);
    expect((await signIn('user', 'user.password', address)).status).toBe(200);
    expect((await signIn('user@example.org', 'user.password', address)).status).toBe(200);
    expect((await signIn('admin', 'admin.password', fresh())).status).toBe(200);
  });

  it('from many networks are limited by login, and do not shut the user out of a network known to be the user’s', async () => {
    await set({ 'core.sign_in_failures_per_login': 5 });
    await server.register('known');
    const home = fresh();
    expect((await signIn('known', 'known.password', home)).status).toBe(200);
    expect(await statuses(8, () => signIn('known', 'wrong', fresh()))).toEqual({ 401: 5, 429: 3 });
    expect((await signIn('known', 'known.password', fresh())).status).toBe(429);
    expect((await signIn('known', 'known.password', home)).status).toBe(200);
    // In the user's usual network, only guesses from that network count.
    expect(await statuses(8, () => signIn('known', 'wrong', home))).toEqual({ 401: 8 });
  });

  it('are distinguished from correct ones that many processes of one user send at once', async () => {
    const address = fresh();
    // Engines on PostgreSQL take a second for each collision of writes of the same document.
    const { collection } = server.host.context.models.attempt;
    const write = collection.findOneAndUpdate.bind(collection);
    const written: string[] = [];
    const collisions: string[] = [];
    const spy = vi.spyOn(collection, 'findOneAndUpdate').mockImplementation(async (filter, ...rest) => {
      if (written.includes(filter['key'])) collisions.push(filter['key']);
      written.push(filter['key']);
      return write(filter, ...rest).finally(() => written.splice(written.indexOf(filter['key']), 1));
    });
    try {
      expect(await statuses(40, () => signIn('user', 'user.password', address), 20)).toEqual({ 200: 40 });
      expect(spy.mock.calls.length).toBeGreaterThan(40);
      expect(collisions).toEqual([]);
    } finally {
      spy.mockRestore();
    }
  });

  it('are limited when old passwords are checked', async () => {
    const changer = await server.register('changer');
    const change = (old: string) =>
      changer.send('PUT', '/user/password', { query: { old, new: 'new.password' }, headers: from('10.9.9.9') });
    expect(await statuses(15, () => change('wrong'))).toEqual({ 403: 10, 429: 5 });
    const refused = await change('changer.password');
    expect([refused.status, refused.headers.has('Retry-After')]).toEqual([429, true]);
  });

  it('are not limited when the limits are 0', async () => {
    await set({
      'core.sign_in_failures_per_login_and_address': 0,
      'core.sign_in_failures_per_login': 0,
      'core.sign_in_failures_per_address': 0,
    });
    const address = fresh();
    expect(await statuses(15, () => signIn('user', 'wrong', address))).toEqual({ 401: 15 });
  });

  it('are counted by the process itself while the database refuses to', async () => {
    const address = fresh();
    const refuses = vi
      .spyOn(server.host.context.models.attempt.collection, 'findOneAndUpdate')
      .mockRejectedValue(new Error('command not supported'));
    try {
      expect(await statuses(15, () => signIn('user', 'wrong', address))).toEqual({ 401: 10, 429: 5 });
      expect((await signIn('user', 'user.password', fresh())).status).toBe(200);
    } finally {
      refuses.mockRestore();
    }
  });

  it('count for the address of the connection when no proxy is trusted', async () => {
    const direct = await createReferenceHost({
      mongoUri: server.databaseUri,
      dataDirectory: server.dataDirectory,
      passwordMemoryKiB: 8,
    });
    try {
      const { url } = await direct.listen();
      expect(await statuses(15, () => signIn('nobody-here', 'wrong', fresh(), url))).toEqual({ 401: 10, 429: 5 });
    } finally {
      await direct.close();
    }
  });

  it('are distinguished from sign-ins that were refused because the server was busy', async () => {
    const address = fresh();
    const { passwords } = server.host.context;
    const { BusyError } = await import('../../../src/index.js');
    const full = vi.spyOn(passwords, 'verifyPassword').mockRejectedValue(new BusyError('Full.', 2));
    try {
      for (let i = 0; i < 12; i += 1) {
        const refused = await signIn('user', 'user.password', address);
        expect([refused.status, refused.headers.get('Retry-After')]).toEqual([503, '2']);
      }
    } finally {
      full.mockRestore();
    }
    expect((await signIn('user', 'user.password', address)).status).toBe(200);
  });
});

describe('API keys', () => {
  it('cannot be guessed for long, while correct ones always work', async () => {
    await set({ 'core.sign_in_failures_per_address': 5 });
    const { key } = await user.ok('POST', '/api_key', { query: { name: 'mine' } });
    const address = fresh();
    const exchange = (text: unknown) =>
      server.anonymous.send('POST', '/api_key/token', { query: { key: String(text) }, headers: from(address) });
    expect(await statuses(8, (index) => exchange(`${'k'.repeat(39)}${index}`))).toEqual({ 400: 5, 429: 3 });
    expect((await exchange('short')).headers.has('Retry-After')).toBe(true);
    expect((await exchange(key)).status).toBe(200);
  });
});

describe('registrations and anonymous sessions', () => {
  it('are limited by network, except those that an administrator makes', async () => {
    await set({ 'core.registrations_per_address': 3 });
    const address = fresh();
    const register = (client: Client, login: string) =>
      client.send('POST', '/user', {
        query: { login, email: `${login}@example.org`, firstName: 'F', lastName: 'L', password: 'password' },
        headers: from(address),
      });
    expect((await server.anonymous.send('GET', '/token/session', { headers: from(address) })).status).toBe(200);
    expect(await statuses(4, (index) => register(server.anonymous, `robot${index}`))).toEqual({ 200: 2, 429: 2 });
    expect((await server.anonymous.send('GET', '/token/session', { headers: from(address) })).status).toBe(429);
    expect((await register(admin, 'colleague')).status).toBe(200);
  });
});
