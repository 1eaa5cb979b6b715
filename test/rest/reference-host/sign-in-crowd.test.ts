import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startHost, type TestHost } from '../../support/hosts/reference-host.js';

let server: TestHost;

beforeAll(async () => {
  // Hashes that take their time, as those of a real server: the tests' own take none.
  server = await startHost({ trustProxy: 1, passwordMemoryKiB: 8192 });
  await server.register('admin');
});
afterAll(() => server.close());

const headersOf = (login: string, password: string, address: string) => ({
  Authorization: `Basic ${btoa(`${login}:${password}`)}`,
  'X-Forwarded-For': address,
});

/** Has a crowd do something again and again until the work is done. */
async function during<T>(crowd: ((round: number) => Promise<unknown>)[], work: () => Promise<T>): Promise<T> {
  let isDone = false;
  const members = crowd.map(async (member) => {
    for (let round = 0; !isDone; round += 1) await member(round);
  });
  try {
    return await work();
  } finally {
    isDone = true;
    await Promise.all(members);
  }
}

it(
  'lets a user in within 2 s, and strangers be told so, while 40 guessers guess from 40 networks',
  { timeout: 60_000 },
  async () => {
    const signIn = (login: string, password: string, address: string) =>
      server.anonymous.send('GET', '/user/authentication', { headers: headersOf(login, password, address) });
    expect((await signIn('admin', 'admin.password', '10.0.0.1')).status).toBe(200);
    const guesses: Record<number, number> = {};
    const guessers = Array.from({ length: 40 }, (_, guesser) => async (round: number) => {
      const { status } = await signIn(`login${guesser}x${round}`, 'a guess', `10.1.0.${guesser}`);
      guesses[status] = (guesses[status] ?? 0) + 1;
    });
    const timed = async (send: () => Promise<{ status: number }>) => {
      const begun = performance.now();
      expect((await send()).status).toBe(200);
      return performance.now() - begun;
    };
    const seen = { signIns: [] as number[], checks: [] as number[] };
    await during(guessers, async () => {
      for (let attempt = 0; attempt < 3; attempt += 1) {
        const [signedIn, checked] = await Promise.all([
          timed(() => signIn('admin', 'admin.password', '10.0.0.1')),
          timed(() => server.anonymous.send('GET', '/system/check')),
        ]);
        seen.signIns.push(signedIn);
        seen.checks.push(checked);
      }
    });
    // A machine that takes long for one question to the database takes so for each that a sign-in asks, one after the other.
    const patienceMs = Math.max(2000, 8 * Math.max(...seen.checks));
    expect(Math.max(...seen.signIns)).toBeLessThan(patienceMs);
    expect(Object.keys(guesses).filter((status) => !['401', '429', '503'].includes(status))).toEqual([]);
    expect(guesses[401]).toBeGreaterThan(0);
  },
);
