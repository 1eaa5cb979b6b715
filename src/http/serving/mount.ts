import type { Request, RequestHandler, Response } from 'express';
import { startRequestInTurn } from '../../core/concurrency/slices.js';
import { runWithRequestId } from '../../core/request-id.js';
import { nonThrowingLogger } from '../../core/host/logger.js';
import { BadParameterError, LargeImageError } from '../../errors.js';
import type { Caller, HostLogger } from '../../host.js';
import { limitsOf } from '../../core/host/link-holder.js';
import { ParsedRequest } from './parsed-request.js';
import { admitCaller, isAnonymous } from '../authentication.js';
import { OpenRequests } from './open-requests.js';
import { requireParameterLength, type Parameter, type Parameters } from '../parameters.js';
import { addFormParameters, dropRemainingBody, isForm, parseQueryParameters, readRouteBody } from './request.js';
import { Reply } from '../reply.js';
import { respond, respondWithError } from './respond.js';
import type { RouteDefinition, RouteOutline } from '../route.js';
import { decodeParameters, RouteTable, type MatchedRoute } from './route-table.js';
import { RequestTokens, tokenParameters, type TokenLocations, type VerifyToken } from './request-tokens.js';
import { foreignMessage, senderOf } from './sender.js';

/** Options of {@link mountRoutes}. */
export interface MountOptions<C> {
  /** Passed to every handler. */
  context: C;
  authenticate: VerifyToken;
  tokenLocations: TokenLocations;
  logger?: HostLogger | undefined;
  /** Called after each response. */
  observe?: RequestObserver | undefined;
}

/** Receives the route, status and duration of a response. The status is 499 if the client disconnected before its end. */
export type RequestObserver = (response: { method: string; path: string; status: number; seconds: number }) => void;

/** The status that the observer gets for a response that was not sent completely. */
const disconnectedStatus = 499;

const overrideHeaders = ['x-http-method-override', 'x-http-method', 'x-method-override'];
const overridableMethods = ['GET', 'PUT', 'PATCH', 'DELETE', 'HEAD'];

/**
 * Serves the routes: literal path segments win over parameters, parameters are parsed and checked, and errors become replies.
 * `HEAD` is answered by `GET` routes. `POST` with a method-override header is handled as that method. Requests for other paths are
 * passed on unchanged.
 *
 * @throws Error if two routes have the same method and path.
 */
export function mountRoutes<C>(routes: readonly RouteDefinition<C>[], options: MountOptions<C>): RequestHandler {
  const table = new RouteTable<{ route: RouteDefinition<C>; name: string }>();
  for (const route of routes) table.add(route, { route, name: `${route.method.toUpperCase()} ${route.path}` });
  const services = {
    options: { ...options, logger: nonThrowingLogger(options.logger) },
    tokens: new RequestTokens(options.authenticate, options.tokenLocations),
    openRequests: new OpenRequests(),
  };
  return (request, response, next) => {
    const method = methodOf(request);
    const match = table.find(method, request.path);
    if (match !== null) {
      request.method = method;
      startRequestInTurn(
        () => void runWithRequestId(request, response, () => new RouteCall(match, services, request, response).run().catch(next)),
      );
      return;
    }
    const allowedMethods = method === 'OPTIONS' ? table.methodsOf(request.path) : [];
    if (allowedMethods.length === 0) {
      next();
      return;
    }
    addCorsHeaders(table.find('GET', request.path)?.value.route.anyOrigin, response, options.tokenLocations);
    response.set({ Allow: allowedMethods.join(', ') }).end();
  };
}

/** Response headers that scripts of other origins can read, because IIIF and Zarr clients need them. */
const exposedHeaders = [
  'Link',
  'ETag',
  'Content-Length',
  'Content-Range',
  'Accept-Ranges',
  'Retry-After',
  'Large-Image-Corrupt-Tiles',
  'Large-Image-Error',
  'Content-Location',
  'Warning',
];

/**
 * Adds the headers that let pages of every origin read the response, if the route allows that. For the origin `*`, browsers send no
 * cookies, so a page sees what anonymous callers see, or what its own token allows.
 *
 * @param preflightTokens set only for a preflight request: where actual requests can contain tokens.
 */
function addCorsHeaders(anyOrigin: RouteOutline['anyOrigin'], response: Response, preflightTokens?: TokenLocations): void {
  if (anyOrigin !== true && anyOrigin !== 'always') return;
  if (anyOrigin === 'always') {
    response.removeHeader('Access-Control-Allow-Credentials');
    response.setHeader('Access-Control-Allow-Origin', '*');
  } else if (!response.hasHeader('Access-Control-Allow-Origin')) response.setHeader('Access-Control-Allow-Origin', '*');
  addToList(response, 'Access-Control-Expose-Headers', exposedHeaders);
  if (preflightTokens === undefined) return;
  addToList(response, 'Access-Control-Allow-Methods', ['GET', 'HEAD']);
  addToList(response, 'Access-Control-Allow-Headers', [
    'Accept',
    'Authorization',
    'Range',
    'If-None-Match',
    preflightTokens.headerName,
  ]);
}

/** Adds names to a list header, which the host may already have set. */
function addToList(response: Response, header: string, names: readonly string[]): void {
  const existingNames = String(response.getHeader(header) ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const lowerCaseNames = new Set(existingNames.map((name) => name.toLowerCase()));
  response.setHeader(header, [...existingNames, ...names.filter((name) => !lowerCaseNames.has(name.toLowerCase()))].join(', '));
}

/** The method that the client intends. Clients behind proxies that pass only `GET` and `POST` send it in a header. */
function methodOf(request: Request): string {
  if (request.method !== 'POST') return request.method;
  const override = overrideHeaders.map((name) => request.headers[name]).find((value) => typeof value === 'string');
  const intendedMethod = typeof override === 'string' ? override.toUpperCase() : '';
  return overridableMethods.includes(intendedMethod) ? intendedMethod : request.method;
}

/** If a GET takes longer than this, the permission of the caller is checked again before the response is sent. */
const recheckAfterMs = 2000;

interface SharedServices<C> {
  options: MountOptions<C>;
  tokens: RequestTokens;
  openRequests: OpenRequests;
}

/** Handles one request to a route, from its token to the end of its response. */
class RouteCall<C> {
  #isAnonymousCaller = true;
  #isResponding = false;
  #checkPermission: (() => Promise<unknown>) | undefined;
  readonly #startedAtMs = performance.now();
  private readonly route: RouteDefinition<C>;
  private readonly name: string;
  private readonly options: MountOptions<C>;

  constructor(
    private readonly match: MatchedRoute<{ route: RouteDefinition<C>; name: string }>,
    private readonly services: SharedServices<C>,
    private readonly request: Request,
    private readonly response: Response,
  ) {
    this.route = match.value.route;
    this.name = match.value.name;
    this.options = services.options;
  }

  async run(): Promise<void> {
    const { route, options, request, response } = this;
    let unwatch: (() => void) | undefined;
    try {
      const parsed = await this.#parseRequest();
      const watch = () => {
        unwatch ??= this.services.openRequests.watch({
          // The caller is not checked between the end of the body and the response, because a change that removes the caller's own
          // rights must be completed.
          check: async () => (this.#isResponding || !request.complete ? this.#recheckCaller(parsed) : undefined),
          end: (reason) => this.#endEarly(parsed, reason),
        });
      };
      parsed.authorized = await route.authorize?.(parsed, options.context);
      if (route.body !== undefined && route.body !== 'none') {
        if (!request.complete) watch();
        parsed.body = await readRouteBody(request, route, parsed.sent);
      }
      // Parameters and body were parsed according to the route's declaration.
      const result = await route.handle(parsed as never, options.context);
      if (route.method === 'get' && performance.now() - this.#startedAtMs > recheckAfterMs) await this.#recheckCaller(parsed);
      this.#isResponding = true;
      parsed.markAnswered();
      addCorsHeaders(route.anyOrigin, response);
      if (result instanceof Reply && result.content.kind === 'stream') this.#checkPermission = result.content.checkPermission;
      await respond(response, result, { onLongResponse: watch });
    } catch (error) {
      await this.#answerError(error);
    } finally {
      unwatch?.();
      dropRemainingBody(request);
      options.observe?.({
        method: route.method.toUpperCase(),
        path: route.path,
        status: response.writableEnded ? response.statusCode : disconnectedStatus,
        seconds: (performance.now() - this.#startedAtMs) / 1000,
      });
    }
  }

  /**
   * Reads the token and the parameters of the request. @throws LargeImageError if the caller may not use the route, or a parameter
   * is invalid.
   */
  async #parseRequest(): Promise<ParsedRequest> {
    const { route, request, response } = this;
    const sentParameters = parseQueryParameters(request.url, { repeatable: route.repeatable === true });
    // A form is read before the token is known, because it may contain the token.
    if (isForm(request)) await addFormParameters(request, sentParameters);
    const sender = senderOf(request, response);
    const isChange = route.method !== 'get';
    const cookieAllowed = route.cookie === true && (!isChange || sender === 'own');
    const foundToken = await this.services.tokens.find(request, sentParameters, { cookieAllowed });
    for (const name of tokenParameters) if (!(name in (route.query ?? {}))) delete sentParameters[name];
    // `verified` is the owner of the token, even if the token lacks the scope of the route. Then `caller` is `null`.
    const verified = foundToken?.caller ?? null;
    this.#requireOpenToLinks(verified);
    if (isChange && verified === null && sender === 'foreign') throw new LargeImageError('forbidden', foreignMessage);
    this.#isAnonymousCaller = isAnonymous(verified, route);
    const caller = admitCaller(verified, route.access, route.scope);
    const params = parseParameters(route.params ?? {}, decodeParameters(this.match.params), route);
    const query = parseParameters(route.query ?? {}, sentParameters, route);
    return new ParsedRequest({ params, query, sent: sentParameters, sender, foundToken, request, response }, verified, caller);
  }

  /** @throws LargeImageError if the caller holds a link, and the route is not open to holders of links. */
  #requireOpenToLinks(verified: Caller | null): void {
    if (limitsOf(verified) === null || this.route.forLinks === true) return;
    throw new LargeImageError('login-required', 'This link only opens the page of its image.');
  }

  /** @throws LargeImageError if the caller has lost access. */
  async #recheckCaller(parsed: ParsedRequest): Promise<void> {
    const { route, options } = this;
    const { token, verified, caller } = parsed;
    const verifiedNow = token === null ? null : await options.authenticate(token, parsed.address);
    const callerNow = admitCaller(verifiedNow, route.access, route.scope);
    if (
      verifiedNow?.id !== verified?.id ||
      verifiedNow?.admin !== verified?.admin ||
      (callerNow === null) !== (caller === null)
    ) {
      throw new LargeImageError('login-required', 'The token is no longer valid.');
    }
    await route.authorize?.(parsed.withCaller(verifiedNow, callerNow), options.context);
    await this.#checkPermission?.();
  }

  /** Ends the request early: with an error, or by closing the connection if part of the response has already been sent. */
  #endEarly(parsed: ParsedRequest, reason: LargeImageError): void {
    const { request, response } = this;
    if (response.headersSent) response.destroy();
    else {
      response.setHeader('Connection', 'close');
      response.once('finish', () => request.destroy());
      void this.#answerError(reason);
    }
    parsed.abort(reason);
  }

  async #answerError(error: unknown): Promise<void> {
    const { route, options, name, response } = this;
    const { logger } = options;
    if (!response.headersSent) addCorsHeaders(route.anyOrigin, response);
    await respondWithError(response, error, {
      anonymous: this.#isAnonymousCaller,
      logger,
      route: name,
      errorStatus: route.errorStatus,
    });
  }
}

function parseParameters(
  parameters: Parameters,
  rawTextByName: Readonly<Record<string, string>>,
  route: { parameterMessages?: 'typed' | 'incorrect-type' },
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const name in parameters) {
    const parameter: Parameter<unknown> = parameters[name]!;
    const rawText = rawTextByName[name];
    if (rawText === undefined) {
      if (parameter.required) throw new BadParameterError(`Parameter "${name}" is required.`);
      values[name] = parameter.defaultValue;
      continue;
    }
    requireParameterLength(rawText, name);
    values[name] = parseParameter(parameter, rawText, name, route.parameterMessages);
  }
  return values;
}

function parseParameter(
  parameter: Parameter<unknown>,
  rawText: string,
  name: string,
  messageStyle: 'typed' | 'incorrect-type' = 'typed',
) {
  if (messageStyle === 'typed') return parameter.parse(rawText, name);
  try {
    return parameter.parse(rawText, name);
  } catch (cause) {
    if (!(cause instanceof BadParameterError)) throw cause;
    throw new BadParameterError(`"${name}" parameter is an incorrect type.`, { cause });
  }
}
