import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { BusyError } from '../../../src/index.js';
import { networkOf } from '../../../src/reference-host/accounts/sign-in/network-of.js';
import { PasswordHasher } from '../../../src/reference-host/accounts/sign-in/passwords.js';

/** Starts this many hashes, and counts how many have been computed. */
function startHashes(hasher: PasswordHasher, size: number) {
  const state = { made: 0, all: Promise.resolve() as Promise<unknown> };
  const hashes = Array.from({ length: size }, async () => {
    await hasher.verifyPassword('a guess', null, { lane: 'stranger' });
    state.made += 1;
  });
  state.all = Promise.all(hashes);
  return state;
}

describe('hashing of passwords', () => {
  it('verifies a password by its hash, and refuses it without one', async () => {
    const hasher = new PasswordHasher(8);
    const hash = await hasher.hash('the password', 'known');
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=8,t=2,p=1\$/);
    const answers = [
      await hasher.verifyPassword('the password', hash, { lane: 'known' }),
      await hasher.verifyPassword('the passwort', hash, { lane: 'known' }),
      await hasher.verifyPassword('the password', null, { lane: 'known' }),
    ];
    expect(answers).toEqual([true, false, false]);
  });

  it('uses the memory that OWASP recommends by default', async () => {
    expect(await new PasswordHasher().hash('the password', 'known')).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  });

  it('lets known users overtake a crowd of strangers', async () => {
    // Each hash takes long in comparison with the time that a thread waits on a busy machine.
    const hasher = new PasswordHasher(16_384);
    const strangers = startHashes(hasher, 25);
    await hasher.hash('a password', 'known');
    expect(strangers.made).toBeLessThan(10);
    await strangers.all;
  });

  it('leaves threads for files while a crowd is waiting in both queues', async () => {
    const hasher = new PasswordHasher(16_384);
    const strangers = startHashes(hasher, 25);
    const users = Array.from({ length: 25 }, () => hasher.hash('a password', 'known'));
    await readFile(import.meta.filename);
    expect(strangers.made).toBeLessThan(10);
    await Promise.all([strangers.all, ...users]);
  });

  it('refuses requests that would wait too long, with Retry-After', async () => {
    const hasher = new PasswordHasher(8);
    const attempts = await Promise.allSettled(
      Array.from({ length: 60 }, () => hasher.verifyPassword('a password', null, { lane: 'stranger' })),
    );
    const refused = attempts.flatMap((attempt) => (attempt.status === 'rejected' ? [attempt.reason as unknown] : []));
    expect(refused.length).toBeGreaterThan(0);
    for (const error of refused) expect(error).toMatchObject({ code: 'busy', retryAfterSeconds: 2 });
    expect(refused[0]).toBeInstanceOf(BusyError);
    expect(await hasher.hash('a password', 'stranger')).toMatch(/^\$argon2id/);
  });
});

it.each([
  ['10.1.2.3', '10.1.2.3'],
  ['::ffff:10.1.2.3', '10.1.2.3'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0db8:0001:0002::6', '2001:db8:1:2::/64'],
  ['2001:db8::6', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['', ''],
])('the address %s belongs to the network %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
