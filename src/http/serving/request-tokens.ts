import type { IncomingMessage, ServerResponse } from 'node:http';
import { Passport, Strategy } from 'passport';
import { Strategy as BearerStrategy } from 'passport-http-bearer';
import { BadParameterError } from '../../errors.js';
import type { Caller } from '../../host.js';

/** Names of the cookie and the header for tokens, in addition to those of RFC 6750 and the parameter `token`. */
export interface TokenLocations {
  cookieName: string;
  headerName: string;
}

/** A token that was found in a request, and its owner. */
export interface FoundToken {
  token: string;
  /** Whether the token came in a cookie, which browsers send automatically, even with requests from other sites. */
  fromCookie: boolean;
  /** `null` if the token is not valid. */
  caller: Caller | null;
}

/** Returns the owner of a token that came from a network address, or `null` if the token is not valid. */
export type VerifyToken = (token: string, address: string) => Promise<Caller | null> | Caller | null;

/** The request that Passport's strategies get, instead of the host's request, because Passport adds members to a request. */
interface TokenRequest {
  headers: IncomingMessage['headers'];
  /** Query and form parameters. */
  query: Readonly<Record<string, unknown>>;
  /** Network address of the client. */
  ip?: string | undefined;
}

type VerifyCallback = (error: unknown, foundToken?: FoundToken) => void;

/** Parameters that can contain tokens. */
export const tokenParameters: readonly string[] = ['token', 'access_token'];

/** Finds and verifies the tokens of requests, with strategies of a separate Passport instance. */
export class RequestTokens {
  readonly #passport = new Passport();

  constructor(verify: VerifyToken, { cookieName, headerName }: TokenLocations) {
    // Node.js lists headers by their names in lower case.
    const lowerCaseName = headerName.toLowerCase();
    const tokenOf = ({ headers, query }: TokenRequest) => trimmedText(query.token) || trimmedText(headers[lowerCaseName]);
    const createVerifier =
      (fromCookie: boolean) =>
      ({ ip = '' }: TokenRequest, token: string, done: VerifyCallback): void =>
        verifyFoundToken(() => verify(token, ip), token, fromCookie, done);
    this.#passport.use('parameter-or-header', new ExtractedTokenStrategy(tokenOf, createVerifier(false)));
    this.#passport.use('bearer', new BearerStrategy({ passReqToCallback: true }, createVerifier(false) as never));
    const cookieOf = ({ headers }: TokenRequest) => findCookie(headers.cookie, cookieName);
    this.#passport.use('cookie', new ExtractedTokenStrategy(cookieOf, createVerifier(true)));
  }

  /**
   * Finds the first token in a request, even if the token is not valid; `null` if there is none.
   *
   * @param parameters Query and form parameters.
   * @throws BadParameterError if there are two tokens in the places that RFC 6750 allows.
   */
  find(
    { headers, ip }: Pick<IncomingMessage, 'headers'> & { ip?: string | undefined },
    parameters: Readonly<Record<string, string>>,
    { cookieAllowed }: { cookieAllowed: boolean },
  ): Promise<FoundToken | null> {
    const strategyNames = ['parameter-or-header', 'bearer', ...(cookieAllowed ? ['cookie'] : [])];
    const request: TokenRequest = { headers, query: parameters, ip };
    return new Promise((resolve, reject) => {
      const authenticate = this.#passport.authenticate(
        strategyNames,
        { session: false },
        (error: unknown, foundToken: FoundToken | false) => {
          if (error) reject(error as Error);
          else if (foundToken) resolve(foundToken);
          else if (parameters.access_token && /^bearer\s/i.test(headers.authorization ?? '')) reject(twoTokensError());
          else resolve(null);
        },
      ) as (request: TokenRequest, response: ServerResponse | null, next: (error?: unknown) => void) => void;
      authenticate(request, null, (error) => (error ? reject(error as Error) : resolve(null)));
    });
  }
}

/** Verifies the token that `tokenOf` reads from a request. A request without such a token is passed to the next strategy. */
class ExtractedTokenStrategy extends Strategy {
  constructor(
    private readonly tokenOf: (request: TokenRequest) => string | null | undefined,
    private readonly verify: (request: TokenRequest, token: string, done: VerifyCallback) => void,
  ) {
    super();
  }

  override authenticate(request: TokenRequest): void {
    const token = this.tokenOf(request);
    if (!token) {
      this.fail();
      return;
    }
    this.verify(request, token, (error, foundToken) => (error ? this.error(error) : this.success(foundToken!)));
  }
}

/** Verifies the token that a strategy has found. An invalid token is also passed to `done`, so that no other strategy is tried. */
function verifyFoundToken(verify: () => ReturnType<VerifyToken>, token: string, fromCookie: boolean, done: VerifyCallback): void {
  const settle = (caller: Caller | null): void => done(null, { token, fromCookie, caller });
  try {
    const caller = verify();
    // Most verdicts are cached, and are used without waiting for the event loop.
    if (caller instanceof Promise) caller.then(settle, done);
    else settle(caller);
  } catch (error) {
    done(error);
  }
}

function twoTokensError(): BadParameterError {
  return new BadParameterError('The request has two tokens. Send only one: as Authorization: Bearer, or as access_token.');
}

function trimmedText(value: unknown): string | null {
  return typeof value === 'string' ? value.trim() : null;
}

function findCookie(header: string | undefined, name: string): string | null {
  if (header === undefined) return null;
  for (const pair of header.split(';')) {
    const equals = pair.indexOf('=');
    if (equals < 0 || pair.slice(0, equals).trim() !== name) continue;
    return pair
      .slice(equals + 1)
      .trim()
      .replace(/^"(.*)"$/, '$1');
  }
  return null;
}
