import { Passport } from 'passport';
import type { Caller, HostAuth } from '../../host.js';

type Authenticate = (request: object, response: object, next: (error?: unknown) => void) => void;

/** Returns a function that finds the owner of a token: the host's `verify`, or one that calls the host's Passport strategies. */
export function createTokenVerifier(auth: HostAuth): (token: string) => Promise<Caller | null> {
  if (auth.strategies === undefined) return (token) => auth.verify(token);
  // A separate Passport instance leaves the host's instance, and the names of its strategies, unchanged.
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
          // A strategy may call this later, when nobody would catch an error of `caller`.
          else resolve(new Promise((settle) => settle(auth.caller(user, info))));
        },
      ) as Authenticate;
      // A strategy that redirects people to a sign-in page has nobody to redirect here.
      const response = { setHeader() {}, end: () => resolve(null) };
      authenticate(createRequest(token), response, (error) => (error ? reject(error as Error) : resolve(null)));
    });
}

/**
 * A request with a token in the `Authorization` header, so that the verdict does not depend on where the client has put the token.
 */
function createRequest(token: string): object {
  return { method: 'GET', url: '/', headers: { authorization: `Bearer ${token}` }, query: {}, body: {}, cookies: {} };
}
