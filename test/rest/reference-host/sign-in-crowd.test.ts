import { afterAll, beforeAll, expect, it } from 'vitest';
import { startHost, type TestHost } from '../../support/hosts/reference-host.js';

let server: TestHost;

beforeAll(async () => {
  // Hashes are as slow as on a real server; in other tests they are fast.
  server = await startHost({ trustProxy: 1, passwordMemoryKiB: 8192 });
  await server.register('admin');
});
afterAll(() => server.close());

const headersOf = (login: string, password: string, address: string) => ({
  Authorization: `Basic ${btoa(`${login}:${password}`)}`,
  'X-Forwarded-For': address,
});

/** Lets a crowd repeat something until the work is done. */
async function during<T>(actions: ((round: number) => Promise<unknown>)[], work: () => Promise<T>): Promise<T> {
  let isDone = false;
  const members = actions.map(async (member) => {
    for (let round = 0; !isDone; round += 1) await member(round);
  });
  try {
    return await work();
  } finally {
    isDone = true;
    await Promise.all(members);
  }
}

it('the server lets a user in before all others, and tells strangers to wait, while 40 guessers guess from 40 networks', async () => {
  const signIn = (login: string, password: string, address: string) =>
    server.anonymous.send('GET', '/user/authentication', { headers: headersOf(login, password, address) });
  expect((await signIn('admin', 'admin.password', '10.0.0.1')).status).toBe(200);
  const guesses: Record<number, number> = {};
  const guessers = Array.from({ length: 40 }, (_, guesser) => async (round: number) => {
    const { status } = await signIn(`login${guesser}x${round}`, 'a guess', `10.1.0.${guesser}`);
    guesses[status] = (guesses[status] ?? 0) + 1;
  });
  /** How many guesses were hashed while the user's sign-in waited for its turn. */
  const hashedMeanwhile: number[] = [];
  await during(guessers, async () => {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const hashed = guesses[401] ?? 0;
      expect((await signIn('admin', 'admin.password', '10.0.0.1')).status).toBe(200);
      hashedMeanwhile.push((guesses[401] ?? 0) - hashed);
    }
  });
  // The user does not wait for the guessers, who send hundreds of requests.
  expect(Math.max(...hashedMeanwhile)).toBeLessThan(2 * guessers.length);
  expect(Object.keys(guesses).filter((status) => !['401', '429', '503'].includes(status))).toEqual([]);
  expect(guesses[401]).toBeGreaterThan(0);
});
