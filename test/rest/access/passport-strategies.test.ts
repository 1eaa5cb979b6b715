import jwt from 'jsonwebtoken';
import passport from 'passport';
import { Strategy as BearerStrategy } from 'passport-http-bearer';
import { ExtractJwt, Strategy as JwtStrategy } from 'passport-jwt';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { HostEventEmitter, type HostAuth } from '../../../src/index.js';
import { createTokenVerifier } from '../../../src/core/host/token-verifier.js';
import { startSpecimens, type InstalledSpecimens } from '../../support/hosts/installed-specimens.js';
import { until } from '../../support/run/until.js';

const secret = 'a secret of the server';
const events = new HostEventEmitter();
const fired = new Set<string>();
let callCount = 0;

/** The authentication of a server whose users have JSON web tokens, and whose machines have keys. */
const auth: HostAuth = {
  strategies: [
    new JwtStrategy(
      { secretOrKey: secret, jwtFromRequest: ExtractJwt.fromAuthHeaderAsBearerToken() },
      (payload: { sub: string; exp: number }, done: (error: unknown, user: unknown) => void) => {
        callCount += 1;
        if (payload.sub === 'trouble') done(new Error('secret words'), false);
        else done(null, fired.has(payload.sub) ? false : { person: payload.sub, until: payload.exp });
      },
    ),
    new BearerStrategy((key, done) => done(null, key === 'key of a machine' || key === 'machine' ? { person: 'robot' } : false)),
  ],
  caller(user) {
    const { person, until } = user as { person: string; until?: number };
    if (person === 'nobody') return null;
    return { id: person, admin: false, scopes: ['core.user_auth'], ...(until && { expires: new Date(until * 1000) }) };
  },
};

describe('a host with Passport strategies', () => {
  let at: InstalledSpecimens;
  /** The path of an annotation that keeper and robot may read. */
  let path: string;
  beforeAll(async () => {
    at = await startSpecimens(() => ({ auth, events }));
    const { Cabinets, Specimens } = at.server;
    const cabinet = await Cabinets.create({ title: 'c', owner: 'keeper', open: false, roles: { robot: 'editor' } });
    const specimen = await Specimens.create({ title: 's', cabinet: cabinet._id });
    const body = JSON.stringify({ name: 'kept' });
    const headers = { Authorization: `Bearer ${tokenOf('keeper')}`, 'Content-Type': 'application/json' };
    const response = await fetch(`${at.api}/annotation?itemId=${specimen.id as string}`, { method: 'POST', headers, body });
    const { _id, creatorId } = (await response.json()) as { _id: string; creatorId: string };
    expect(creatorId).toBe('keeper');
    path = `/annotation/${_id}`;
    const access = encodeURIComponent(JSON.stringify({ users: ['keeper', 'robot'].map((id) => ({ id, level: 2 })) }));
    expect((await fetch(`${at.api}${path}/access?access=${access}`, { method: 'PUT', headers })).status).toBe(200);
  });
  afterAll(() => at?.close());

  const tokenOf = (person: string, seconds = 3600) => jwt.sign({ sub: person }, secret, { expiresIn: seconds });
  const status = async (token: string) => (await at.get(path, { Authorization: `Bearer ${token}` })).status;

  it('identifies callers by any of them, wherever their token is in a request', async () => {
    const token = tokenOf('keeper');
    expect((await at.get(path, { Authorization: `Bearer ${token}` })).status).toBe(200);
    expect((await at.get(path, { 'Girder-Token': token })).status).toBe(200);
    expect((await at.get(`${path}?token=${token}`)).status).toBe(200);
    expect((await at.get(`${path}?access_token=${token}`)).status).toBe(200);
    expect(await status('machine')).toBe(200);
    expect(await status(tokenOf('stranger'))).toBe(403);
  });

  it('rejects forged, expired, unknown and malformed tokens', async () => {
    const forged = jwt.sign({ sub: 'keeper' }, 'another secret');
    const unsigned = jwt.sign({ sub: 'keeper' }, '', { algorithm: 'none' });
    for (const token of [forged, unsigned, tokenOf('keeper', -1), tokenOf('nobody'), 'x', 'x.y.z']) {
      expect([token, await status(token)]).toEqual([token, 401]);
    }
    // Strategies receive only tokens of one word.
    expect((await at.get(path, { 'Girder-Token': 'key of a machine' })).status).toBe(401);
  });

  it('asks them once for simultaneous requests, and again after revocations', async () => {
    const token = tokenOf('keeper', 3601);
    expect(await status(token)).toBe(200);
    const before = callCount;
    // The clock is stopped, because verdicts are renewed in the background when half of their time has passed.
    const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
    expect(new Set(await Promise.all(Array.from({ length: 20 }, () => status(token))))).toEqual(new Set([200]));
    clock.mockRestore();
    expect(callCount - before).toBeLessThanOrEqual(1);
    fired.add('keeper');
    await events.emit('token.revoked', {});
    expect(await status(token)).toBe(401);
    fired.clear();
    await events.emit('token.revoked', {});
    expect(await status(token)).toBe(200);
  });

  it('trusts a token no longer than it lasts', async () => {
    // Times in a token are whole seconds, so a token of one second may expire at once.
    const token = tokenOf('keeper', 5);
    expect(await status(token)).toBe(200);
    await until('it has expired', async () => (await status(token)) === 401);
  });

  it('reveals nothing about its errors', async () => {
    const answer = await at.get(path, { Authorization: `Bearer ${tokenOf('trouble')}` });
    expect([answer.status, await answer.text()]).toEqual([500, expect.not.stringContaining('secret words')]);
  });

  it('registers no strategy with the Passport that others share', () => {
    expect(Object.keys((passport as unknown as { _strategies: object })._strategies)).toEqual(['session']);
  });
});

describe('strategies with unsupported actions', () => {
  it.each([
    ['redirect', (strategy: Acting) => strategy.redirect('/login')],
    ['pass', (strategy: Acting) => strategy.pass()],
    ['fail', (strategy: Acting) => strategy.fail()],
  ])('identify nobody when they %s', async (_what, act) => {
    class Other extends passport.Strategy {
      override authenticate(): void {
        act(this);
      }
    }
    expect(
      await createTokenVerifier({ strategies: [new Other()], caller: () => ({ id: 'x', admin: true, scopes: [] }) })('t'),
    ).toBe(null);
  });
});

interface Acting {
  redirect(url: string): void;
  pass(): void;
  fail(): void;
}

it('an error in `caller` fails the request, even when the strategy answers later', async () => {
  const later = new BearerStrategy((token, done) => void setImmediate(() => done(null, { token })));
  const verify = createTokenVerifier({
    strategies: [later],
    caller() {
      throw new Error('has no account');
    },
  });
  await expect(verify('token')).rejects.toThrow('has no account');
});
