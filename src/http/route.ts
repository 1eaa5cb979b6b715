import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { ErrorCode } from '../errors.js';
import type { Caller } from '../host.js';
import type { Parameters, ParameterValues } from './parameters.js';
import type { RouteSchema } from './schemas.js';

/**
 * The callers that a route admits. Permissions on documents are checked separately, by {@link RouteDefinition.authorize} or the handler.
 * - `public`: everyone.
 * - `user`: signed-in users.
 * - `token`: everyone with a valid token, including anonymous sessions. A user's token needs the scope of the route, if there is
 *   one.
 * - `admin`: site administrators.
 */
export type RouteAccess = 'public' | 'user' | 'token' | 'admin';

/**
 * How a route reads the request body.
 * - `none`: the body is ignored.
 * - `json`: any JSON value, parsed.
 * - `json-object`, `json-array`: JSON of this type, parsed.
 * - `text`: decoded as UTF-8.
 * - `stream`: passed on as it arrives.
 *
 * A form is never the body, because its fields become parameters. A route that requires a body refuses a form. For other routes, a
 * form counts as a missing body.
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
  /** Query and form parameters as sent, including undeclared ones, but without the token. */
  sent: Readonly<Record<string, string>>;
  /** `null` if the caller is anonymous, or the token lacks the scope of the route. */
  caller: Caller | null;
  /** The owner of the token, even if the token lacks the scope of the route. For routes that accept scopes for single documents. */
  verified: Caller | null;
  /** The token as sent, valid or not. */
  token: string | null;
  /** Whether the token came in a cookie. Scripts of pages cannot read that cookie, so responses must not repeat the token. */
  tokenFromCookie: boolean;
  /**
   * Whether the request came from a page of another site. Sites that the host's CORS headers name and allow to send credentials do
   * not count as other sites. Responses to requests from other sites set no cookie.
   */
  fromOtherSite: boolean;
  /** Network address of the client. Behind a proxy, it is the proxy's address, unless Express trusts the proxy (`trust proxy`). */
  address: string;
  /** Request headers, with names in lower case. */
  headers: IncomingMessage['headers'];
  /** Path and query as requested. */
  url: string;
  /** Scheme and host under which the client reached the server, such as `http://localhost:8080`. */
  origin: string;
  /** The start of the path that a proxy has removed, such as `/images`. Usually empty. */
  prefix: string;
  /**
   * Path of the API as clients see it, such as `/images/api/v1`. It begins with `prefix`, and with the path of the host's router if
   * the API is mounted on a router.
   */
  root: string;
  /** Aborted when the client disconnects before the response is complete, or loses access to the rest of it. */
  signal: AbortSignal;
}

/** The input of a handler. */
export interface RouteInput<P extends Parameters, Q extends Parameters, B extends RouteBody, A = unknown> extends RouteRequest<
  P,
  Q
> {
  body: RouteBodyValues[B];
  /** The result of {@link RouteDefinition.authorize}. */
  authorized: A;
}

/** Declares a route. Its routing, checks, documentation and handler types are derived from this declaration. */
export interface RouteDefinition<
  C = never,
  P extends Parameters = Parameters,
  Q extends Parameters = Parameters,
  B extends RouteBody = RouteBody,
  A = unknown,
> {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete';
  /**
   * Path below the API root, made of literal segments and parameters that match one segment each: `/item/:itemId/tiles`. `*` at the
   * end matches the rest of the path, at least one segment, as the parameter `*`, which is not decoded.
   */
  path: string;
  /** One sentence for the API description. */
  summary: string;
  /** Further text for the API description, if the summary is not enough. */
  description?: string;
  access: RouteAccess;
  /** Scope that the token needs. A caller whose token lacks this scope counts as anonymous. */
  scope?: string;
  /**
   * Whether a token in a cookie is accepted, as needed for requests that browsers make automatically (images, downloads, event
   * streams). A route that changes something accepts the cookie only from pages of the server itself, and of origins that the host
   * allows by name.
   */
  cookie?: boolean;
  /**
   * Whether pages of every origin can read the response, as open standards recommend. Their requests carry no cookies. CORS headers
   * of the host take precedence over `true`, but not over `always`. `always` is for addresses that contain their own permission.
   */
  anyOrigin?: boolean | 'always';
  /**
   * Whether holders of a link to the page of an image can call the route. Their token is refused by all other routes. The documents
   * that the route reads must be checked by `Items.load` or `AnnotationPermissions`.
   */
  forLinks?: boolean;
  /** Whether parameters can be repeated. `query` contains the first value of each; the handler reads all values from `url`. */
  repeatable?: boolean;
  params?: P;
  query?: Q;
  body?: B;
  /** Maximum size of a `json` or `text` body in bytes. Default 1 MiB. */
  maxBodyBytes?: number;
  /** Media types of a `stream` body, for the documentation. If `accepts` is set too, the body can also be JSON. */
  bodyTypes?: readonly string[];
  /** Whether the body can be missing. A form then counts as an empty text, an empty stream or missing JSON. */
  bodyOptional?: boolean;
  /** Name of the JSON body in messages, as existing clients expect it. Default `body`. */
  bodyName?: string;
  /**
   * The content of a successful response: a JSON schema, with media types if the default `application/json` is wrong, or the media
   * types of a binary response.
   */
  returns: { schema: RouteSchema; types?: readonly string[] } | { types: readonly string[] };
  /** Headers of some successful responses, with their meaning, for the documentation. */
  headers?: Readonly<Record<string, string>>;
  /** The schema of a JSON body, for the documentation. The handler checks the body against it. */
  accepts?: RouteSchema;
  /** Errors that the handler raises on purpose, for the documentation. */
  errors?: readonly ErrorCode[];
  /** Statuses that differ from `errorReplies`, because clients expect them. */
  errorStatus?: Partial<Record<ErrorCode, number>>;
  /** `incorrect-type`: malformed numbers are reported as `"<name>" parameter is an incorrect type.` */
  parameterMessages?: 'typed' | 'incorrect-type';
  /**
   * Throws if the caller may not make this request. The handler gets the result as `authorized`. This function is called
   * repeatedly, so it must not change anything: before the body is read, every second while a body arrives or a stream is sent (an
   * error ends the request), and before the response to a GET that took more than two seconds.
   */
  authorize?(request: RouteRequest<P, Q>, context: C): A | Promise<A>;
  /** Returns the value to send as JSON, or a `Reply`. Written as a method so that routes of any type fit into one list. */
  handle(input: RouteInput<P, Q, B, A>, context: C): unknown;
}

/**
 * Returns a function that declares routes whose handlers get a context of type `C`: `const defineRoute = routeDefiner<Services>()`.
 */
export function routeDefiner<C>() {
  return function defineRoute<
    P extends Parameters = Record<never, never>,
    Q extends Parameters = Record<never, never>,
    B extends RouteBody = 'none',
    A = unknown,
  >(definition: RouteDefinition<C, P, Q, B, A>): RouteDefinition<C> {
    // Handlers are only called with input that was parsed by the route's own parameters.
    return definition as unknown as RouteDefinition<C>;
  };
}

/** A route without its handler. This is enough to describe the route, and to read its requests. */
export type RouteOutline = Omit<RouteDefinition, 'authorize' | 'handle'> & {
  /** Present if the route checks the caller before it reads a body. */
  readonly authorize?: unknown;
};

/** A route whose handler already has its context. */
export type BoundRoute = RouteDefinition<undefined>;

/** Gives the handlers of routes their context, so that routes of different features fit into one list. */
export function bindRoutes<C>(routes: readonly RouteDefinition<C>[], context: C): BoundRoute[] {
  return routes.map((route) => {
    const bound: BoundRoute = { ...route, authorize: undefined, handle: (input) => route.handle(input, context) };
    if (route.authorize !== undefined) bound.authorize = (request) => route.authorize!(request, context);
    return bound;
  });
}
