import { randomUUID } from 'node:crypto';
import { Router, type NextFunction, type Request, type RequestHandler, type Response } from 'express';
import { sharedAbortController } from '../core/abort.js';
import { BadParameterError, LargeImageError } from '../errors.js';
import type { Caller, HostLogger } from '../host.js';
import { admit, findToken, isAnonymous, type TokenPlaces } from './authentication.js';
import type { Parameter, Parameters } from './parameters.js';
import { addFormParameters, dropRest, isForm, queryParameters, readRouteBody } from './request.js';
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
  router.use(overrideMethod);
  for (const route of [...routes].sort(bySpecificity)) router[route.method](route.path, serve(route, options));
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

function serve<C>(route: RouteDefinition<C>, options: MountOptions<C>): RequestHandler {
  const name = `${route.method.toUpperCase()} ${route.path}`;
  return (request, response, next) => {
    handle(route, name, options, request, response).catch(next);
  };
}

async function handle<C>(
  route: RouteDefinition<C>,
  name: string,
  options: MountOptions<C>,
  request: Request,
  response: Response,
): Promise<void> {
  let anonymous = true;
  response.setHeader('Girder-Request-Uid', randomUUID());
  try {
    const sent = queryParameters(request.url);
    // A form is read before the token is known because it may hold the token.
    if (isForm(request)) await addFormParameters(request, sent);
    const sender = senderOf(request, response);
    const isChange = route.method !== 'get';
    const cookieAllowed = route.cookie === true && (!isChange || sender === 'own');
    const found = findToken(request, sent, options.tokenPlaces, cookieAllowed);
    const verified = found === null ? null : await options.authenticate(found.token);
    if (isChange && verified === null && sender === 'foreign') throw new LargeImageError('forbidden', foreignMessage);
    anonymous = isAnonymous(verified, route);
    const caller = admit(verified, route.access, route.scope);
    const params = parseParameters(route.params ?? {}, request.params as Record<string, string>, route);
    const query = parseParameters(route.query ?? {}, sent, route);
    const body = await readRouteBody(request, route as unknown as RouteDefinition, sent);
    let controller: AbortController | undefined;
    const result = await route.handle(
      {
        params,
        query,
        sent,
        body: body as never,
        caller,
        verified,
        token: found?.token ?? null,
        tokenFromCookie: found?.fromCookie ?? false,
        fromOtherSite: sender !== 'own',
        address: request.ip ?? '',
        headers: request.headers,
        url: request.originalUrl,
        get origin() {
          return `${request.protocol}://${request.headers.host ?? 'localhost'}`;
        },
        // Made on demand: a tile from a cache needs none.
        get signal() {
          if (controller === undefined) {
            const made = sharedAbortController();
            controller = made;
            const leave = (): void => {
              if (!response.writableFinished) made.abort(new LargeImageError('unavailable', 'The client has gone away.'));
            };
            if (response.closed) leave();
            else response.once('close', leave);
          }
          return controller.signal;
        },
      },
      options.context,
    );
    await respond(response, result);
  } catch (error) {
    await respondWithError(response, error, { anonymous, logger: options.logger, route: name, errorStatus: route.errorStatus });
  } finally {
    dropRest(request);
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
