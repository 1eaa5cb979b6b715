import { randomUUID } from 'node:crypto';
import { Router, type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { BadParameterError, LargeImageError } from '../errors.js';
import type { Caller, HostLogger } from '../host.js';
import { Asked } from './asked.js';
import { admit, findToken, isAnonymous, type TokenPlaces } from './authentication.js';
import { OpenRequests } from './open-requests.js';
import type { Parameter, Parameters } from './parameters.js';
import { addFormParameters, dropRest, isForm, queryParameters, readRouteBody } from './request.js';
import { Reply } from './reply.js';
import { respond, respondWithError } from './respond.js';
import type { RouteDefinition } from './route.js';
import { foreignMessage, senderOf } from './sender.js';

/** What routes need from their surroundings. */
export interface MountOptions<C> {
  /** Handed to every handler. */
  context: C;
  /** Who a token belongs to; `null` for one that is worth nothing. */
  authenticate(token: string): Promise<Caller | null> | Caller | null;
  tokenPlaces: TokenPlaces;
  logger?: HostLogger | undefined;
}

const overrideHeaders = ['x-http-method-override', 'x-http-method', 'x-method-override'];
const overridden = Symbol('method before override');
type Overridable = Request & { [overridden]?: string };

/**
 * A router that serves the routes: literal path segments win over parameters, parameters are parsed and checked, errors become
 * replies. `HEAD` is answered by `GET` routes. `POST` with a method-override header is handled as the method it names.
 */
export function mountRoutes<C>(routes: readonly RouteDefinition<C>[], options: MountOptions<C>): Router {
  const router = Router();
  const open = new OpenRequests();
  router.use(overrideMethod);
  for (const route of [...routes].sort(bySpecificity)) router[route.method](route.path, serve(route, options, open));
  router.use(restoreMethod);
  router.use((error: unknown, request: Request, response: Response, next: NextFunction) => {
    // Express raises this one itself, for a path that is no valid percent-encoding.
    if (!(error instanceof URIError)) return next(error);
    const malformed = new BadParameterError('The path is not valid percent-encoded UTF-8.');
    respondWithError(response, malformed, { anonymous: true, route: request.path }).catch(next);
  });
  return router;
}

function overrideMethod(request: Overridable, _response: Response, next: NextFunction): void {
  if (request.method === 'POST') {
    const header = overrideHeaders.map((name) => request.headers[name]).find((value) => typeof value === 'string');
    const method = typeof header === 'string' ? header.toUpperCase() : '';
    if (['GET', 'PUT', 'PATCH', 'DELETE', 'HEAD'].includes(method)) {
      request[overridden] = request.method;
      request.method = method;
    }
  }
  next();
}

/** What is not for these routes goes on as it came. */
function restoreMethod(request: Overridable, _response: Response, next: NextFunction): void {
  if (request[overridden] !== undefined) request.method = request[overridden];
  next();
}

function bySpecificity(a: { path: string }, b: { path: string }): number {
  const left = a.path.split('/');
  const right = b.path.split('/');
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const difference = Number(left[i]!.startsWith(':')) - Number(right[i]!.startsWith(':'));
    if (difference !== 0) return difference;
  }
  // Without this the order would not be transitive, and sorting by it would leave a literal behind a parameter.
  return left.length - right.length;
}

function serve<C>(route: RouteDefinition<C>, options: MountOptions<C>, open: OpenRequests): RequestHandler {
  const name = `${route.method.toUpperCase()} ${route.path}`;
  return (request, response, next) => {
    new Answering(route, name, options, open, request, response).run().catch(next);
  };
}

/** Handling a GET for longer than this, in milliseconds, is reason to ask again whether the caller may have the answer. */
const longMs = 2000;

/** One request on its way through its route. */
class Answering<C> {
  #anonymous = true;
  #isSending = false;
  #permitted: (() => Promise<unknown>) | undefined;
  readonly #began = performance.now();

  constructor(
    private readonly route: RouteDefinition<C>,
    private readonly name: string,
    private readonly options: MountOptions<C>,
    private readonly open: OpenRequests,
    private readonly request: Request,
    private readonly response: Response,
  ) {}

  async run(): Promise<void> {
    const { route, options, request, response } = this;
    let unwatch: (() => void) | undefined;
    response.setHeader('Girder-Request-Uid', randomUUID());
    try {
      const asked = await this.#identify();
      const watch = () => {
        unwatch ??= this.open.watch({
          // Between body and answer it is left alone: a change that takes the caller's own rights away is done to its end.
          check: async () => (this.#isSending || !request.complete ? this.#check(asked) : undefined),
          end: (reason) => this.#end(asked, reason),
        });
      };
      asked.granted = await route.authorize?.(asked, options.context);
      if (route.body !== undefined && route.body !== 'none') {
        if (!request.complete) watch();
        asked.body = await readRouteBody(request, route as unknown as RouteDefinition, asked.sent);
      }
      // Parameters and body were read as the route declares them.
      const result = await route.handle(asked as never, options.context);
      if (route.method === 'get' && performance.now() - this.#began > longMs) await this.#check(asked);
      this.#isSending = true;
      if (result instanceof Reply && result.content.kind === 'stream') this.#permitted = result.content.permitted;
      await respond(response, result, { onLong: watch });
    } catch (error) {
      await this.#fail(error);
    } finally {
      unwatch?.();
      dropRest(request);
    }
  }

  /** Who asks for what. @throws LargeImageError when the route is not for them, or a parameter is wrong. */
  async #identify(): Promise<Asked> {
    const { route, options, request, response } = this;
    const sent = queryParameters(request.url);
    // A form is read before the token is known because it may hold the token.
    if (isForm(request)) await addFormParameters(request, sent);
    const sender = senderOf(request, response);
    const isChange = route.method !== 'get';
    const cookieAllowed = route.cookie === true && (!isChange || sender === 'own');
    const found = findToken(request, sent, options.tokenPlaces, cookieAllowed);
    const verified = found === null ? null : await options.authenticate(found.token);
    if (isChange && verified === null && sender === 'foreign') throw new LargeImageError('forbidden', foreignMessage);
    this.#anonymous = isAnonymous(verified, route);
    const caller = admit(verified, route.access, route.scope);
    const params = parseParameters(route.params ?? {}, request.params as Record<string, string>, route);
    const query = parseParameters(route.query ?? {}, sent, route);
    return new Asked({ params, query, sent, sender, found, request, response }, verified, caller);
  }

  /** @throws LargeImageError when the caller may not have this any more. */
  async #check(asked: Asked): Promise<void> {
    const { route, options } = this;
    const { token, verified, caller } = asked;
    const now = token === null ? null : await options.authenticate(token);
    const admitted = admit(now, route.access, route.scope);
    if (now?.id !== verified?.id || now?.admin !== verified?.admin || (admitted === null) !== (caller === null)) {
      throw new LargeImageError('login-required', 'The token has ended, or stands for something else now.');
    }
    await route.authorize?.(asked.by(now, admitted), options.context);
    await this.#permitted?.();
  }

  /** Ends what is under way: with an answer, where none has begun. */
  #end(asked: Asked, reason: LargeImageError): void {
    const { request, response } = this;
    if (response.headersSent) response.destroy();
    else {
      response.setHeader('Connection', 'close');
      response.once('finish', () => request.destroy());
      void this.#fail(reason);
    }
    asked.abort(reason);
  }

  async #fail(error: unknown): Promise<void> {
    const { route, options, name, response } = this;
    const { logger } = options;
    await respondWithError(response, error, { anonymous: this.#anonymous, logger, route: name, errorStatus: route.errorStatus });
  }
}

function parseParameters(
  parameters: Parameters,
  sent: Readonly<Record<string, string>>,
  route: { parameterMessages?: 'typed' | 'incorrect-type' },
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const name in parameters) {
    const parameter: Parameter<unknown> = parameters[name]!;
    const raw = sent[name];
    if (raw === undefined) {
      if (parameter.required) throw new BadParameterError(`Parameter "${name}" is required.`);
      values[name] = parameter.absent;
      continue;
    }
    values[name] = parseParameter(parameter, raw, name, route.parameterMessages);
  }
  return values;
}

function parseParameter(
  parameter: Parameter<unknown>,
  raw: string,
  name: string,
  messages: 'typed' | 'incorrect-type' = 'typed',
) {
  if (messages === 'typed') return parameter.parse(raw, name);
  try {
    return parameter.parse(raw, name);
  } catch (cause) {
    if (!(cause instanceof BadParameterError)) throw cause;
    throw new BadParameterError(`"${name}" parameter is an incorrect type.`, { cause });
  }
}
