import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { ErrorCode } from '../errors.js';
import type { Caller } from '../host.js';
import type { Parameters, ParameterValues } from './parameters.js';
import type { RouteSchema } from './schemas.js';

/**
 * Who can call a route at all. {@link RouteDefinition.authorize} or the handler checks permissions on documents. `public`:
 * everyone. `user`: signed-in users. `token`: everyone with a valid token, including anonymous sessions; a user's token needs the
 * scope of the route, if there is one. `admin`: site administrators.
 */
export type RouteAccess = 'public' | 'user' | 'token' | 'admin';

/**
 * How a request body is read. `none`: it is ignored. `json`: parsed, any value. `json-object`, `json-array`: parsed, and of this kind. `text`: decoded
 * as UTF-8. `stream`: handed over as it comes. The fields of a form always become parameters: a route that requires a body refuses a form, and for
 * the others the body counts as left out.
 */
export type RouteBody = 'none' | 'json' | 'json-object' | 'json-array' | 'text' | 'stream';

/** Type of `input.body` for each {@link RouteBody}. An absent optional JSON body is `undefined`. */
export interface RouteBodyValues {
  none: undefined;
  json: unknown;
  'json-object': Record<string, unknown>;
  'json-array': unknown[];
  text: string;
  stream: Readable;
}

/** The parts of a request that are available before its body: parsed and checked values, never the Express objects. */
export interface RouteRequest<P extends Parameters = Parameters, Q extends Parameters = Parameters> {
  /** Path parameters. */
  params: ParameterValues<P>;
  /** Query and form parameters. */
  query: ParameterValues<Q>;
  /** Query and form parameters as sent, also those that the route does not declare; without the token. */
  sent: Readonly<Record<string, string>>;
  /** `null`: anonymous, or the token lacks the scope of the route. */
  caller: Caller | null;
  /** The owner of the token, whatever its scopes are; for routes that accept scopes of single documents. */
  verified: Caller | null;
  /** The token as sent, valid or not. */
  token: string | null;
  /** Whether the token came in a cookie, which scripts of pages cannot read: answers do not repeat it. */
  tokenFromCookie: boolean;
  /** Whether a page of another site sent the request, whose origin the host does not allow by name. Its browser gets no cookie. */
  fromOtherSite: boolean;
  /** Network address of the client. Behind a proxy it is that of the proxy, unless Express is set to trust it (`trust proxy`). */
  address: string;
  /** Request headers, names in lower case. */
  headers: IncomingMessage['headers'];
  /** Path and query as requested. */
  url: string;
  /** Scheme and host under which the client reached the server: `http://localhost:8080`. */
  origin: string;
  /** Path in front of that of the request, which a proxy has removed: `/images`; mostly empty. */
  prefix: string;
  /** Path of the API there: `/api/v1`, with the prefix in front, and the path of the host's router if it is mounted on one. */
  root: string;
  /** Aborted when the client goes away before the answer is complete, or may not have the rest of it any more. */
  signal: AbortSignal;
}

/** The input of a handler. */
export interface RouteInput<P extends Parameters, Q extends Parameters, B extends RouteBody, A = unknown> extends RouteRequest<
  P,
  Q
> {
  body: RouteBodyValues[B];
  /** The result of {@link RouteDefinition.authorize}. */
  granted: A;
}

/** A route as one value: router, checks, errors, documentation and handler types all come from it. */
export interface RouteDefinition<
  C = never,
  P extends Parameters = Parameters,
  Q extends Parameters = Parameters,
  B extends RouteBody = RouteBody,
  A = unknown,
> {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /**
   * Path below the API root, of literal segments and parameters that take a segment each: `/item/:itemId/tiles`. `*` at the end takes the rest of the
   * path, of at least one segment, as the parameter `*`. It is not decoded.
   */
  path: string;
  /** One sentence for the API description. */
  summary: string;
  /** More for the API description, where a sentence does not say it. */
  description?: string;
  access: RouteAccess;
  /** Scope that the token needs; without it the caller is anonymous. */
  scope?: string;
  /**
   * Whether a token in a cookie is accepted: for what browsers load by themselves (images, downloads, event streams). A route that
   * changes something accepts it from pages of the server itself and of origins that the host allows by name.
   */
  cookie?: boolean;
  /**
   * Whether pages of every origin may read the answer, without cookies, as open standards ask for. The origins that the host's CORS headers allow
   * take precedence; `always`: they do not, for addresses that carry all the rights they need.
   */
  anyOrigin?: boolean | 'always';
  /** Whether parameters may be repeated. The handler reads them from `url`; declared ones have their first value. */
  repeatable?: boolean;
  params?: P;
  query?: Q;
  body?: B;
  /** Largest body, in bytes, that `json` and `text` accept. Default 1 MiB. */
  maxBodyBytes?: number;
  /** Whether the body may be left out. A form instead of it then is an empty text or stream, or no JSON. */
  bodyOptional?: boolean;
  /** Name of the JSON body in messages, as existing clients know it. Default `body`. */
  bodyName?: string;
  /**
   * The content of a successful answer: a JSON schema (with its media types, if not JSON's), or the media types of a binary answer.
   */
  returns: { schema: RouteSchema; types?: readonly string[] } | { types: readonly string[] };
  /** The schema of a JSON body, for the documentation. The handler checks the body against it. */
  accepts?: RouteSchema;
  /** Errors that the handler raises on purpose, for the documentation. */
  errors?: readonly ErrorCode[];
  /** Another status for some of the errors, where the contract says so. */
  errorStatus?: Partial<Record<ErrorCode, number>>;
  /** `incorrect-type`: malformed numbers are reported as `"<name>" parameter is an incorrect type.` */
  parameterMessages?: 'typed' | 'incorrect-type';
  /**
   * Throws unless the caller may have what the request is about. What it returns is given to the handler as `granted`. It is called before the body is
   * read; again every second while a body arrives or a stream is sent, which end when it throws; and before an answer to GET that took more than two
   * seconds to make. So it must change nothing.
   */
  authorize?(request: RouteRequest<P, Q>, context: C): A | Promise<A>;
  /** Returns the value to send as JSON, or a `Reply`. Written as a method so that routes of any type fit into one list. */
  handle(input: RouteInput<P, Q, B, A>, context: C): unknown;
}

/**
 * The function that declares routes whose handlers get a context of type `C`:
 * `const defineRoute = routeDefiner<Services>()`.
 */
export function routeDefiner<C>() {
  return function defineRoute<
    P extends Parameters = Record<never, never>,
    Q extends Parameters = Record<never, never>,
    B extends RouteBody = 'none',
    A = unknown,
  >(definition: RouteDefinition<C, P, Q, B, A>): RouteDefinition<C> {
    // Handlers are only ever called with input that was parsed by the route's own parameter table.
    return definition as unknown as RouteDefinition<C>;
  };
}

/** A route without its handler: enough to describe it, and to read its requests. */
export type RouteOutline = Omit<RouteDefinition, 'authorize' | 'handle'> & {
  /** Present where the route checks the caller before it reads a body. */
  readonly authorize?: unknown;
};

/** A route whose handler has its context already. */
export type BoundRoute = RouteDefinition<undefined>;

/** Gives the handlers of routes their context, so that routes of different features fit into one list. */
export function bindRoutes<C>(routes: readonly RouteDefinition<C>[], context: C): BoundRoute[] {
  return routes.map((route) => {
    const bound: BoundRoute = { ...route, authorize: undefined, handle: (input) => route.handle(input, context) };
    if (route.authorize !== undefined) bound.authorize = (request) => route.authorize!(request, context);
    return bound;
  });
}
