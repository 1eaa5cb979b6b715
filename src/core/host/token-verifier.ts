import { Passport } from 'passport';
import type { Caller, HostAuth } from '../../host.js';

type Authenticate = (request: object, response: object, next: (error?: unknown) => void) => void;

/** How the host says whom a token belongs to: by `verify`, or by its Passport strategies. */
export function tokenVerifier(auth: HostAuth): (token: string) => Promise<Caller | null> {
  if (auth.strategies === undefined) return (token) => auth.verify(token);
  // Not the host's Passport: its strategies keep their names there, and nothing is added to it.
  const passport = new Passport();
  const names = auth.strategies.map((strategy, index) => {
    const name = `host ${index}`;
    passport.use(name, strategy as never);
    return name;
  });
  return (token) =>
    new Promise((resolve, reject) => {
      const authenticate = passport.authenticate(
        names,
        { session: false },
        (error: unknown, user: unknown, info: unknown): void => {
          if (error) reject(error as Error);
          else if (!user) resolve(null);
          // A strategy may call this later, and nobody would catch what `caller` throws.
          else resolve(new Promise((settle) => settle(auth.caller(user, info))));
        },
      ) as Authenticate;
      // One that sends people to a page for signing in has nobody to send here.
      const response = { setHeader() {}, end: () => resolve(null) };
      authenticate(requestWith(token), response, (error) => (error ? reject(error as Error) : resolve(null)));
    });
}

/** A token from wherever a request carried it looks the same to all strategies, so that one verdict holds for all places. */
function requestWith(token: string): object {
  return { method: 'GET', url: '/', headers: { authorization: `Bearer ${token}` }, query: {}, body: {}, cookies: {} };
}
