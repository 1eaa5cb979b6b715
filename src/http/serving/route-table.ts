import findMyWay from 'find-my-way';
import { BadParameterError } from '../../errors.js';
import type { RouteOutline } from '../route.js';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
const methods: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

export interface MatchedRoute<V> {
  value: V;
  /** The path's parameters, not decoded yet; see {@link decodeParameters}. */
  params: Readonly<Record<string, string>>;
}

/**
 * Routes by method and path. A path is matched in one pass, however many routes there are. Literal segments win over parameters,
 * regardless of the order of the routes. Letter case, empty segments and a slash at the end make no difference.
 *
 * Paths are compared without decoding: `%69tem` is not `item`. Otherwise another spelling of a path could bypass a guard of the
 * host.
 */
export class RouteTable<V> {
  readonly #routes = findMyWay({
    caseSensitive: false,
    ignoreTrailingSlash: true,
    ignoreDuplicateSlashes: true,
    // Node limits the length of the whole request line.
    maxParamLength: Number.MAX_SAFE_INTEGER,
  });

  /** @throws Error if the table already has a route with this method and path. */
  add({ method, path }: Pick<RouteOutline, 'method' | 'path'>, value: V): void {
    this.#routes.on(method.toUpperCase() as Method, path, () => undefined, value);
  }

  /** Finds the route for a path (without a query); `null` if there is none. `HEAD` finds the routes of `GET`. */
  find(method: string, path: string): MatchedRoute<V> | null {
    // The router decodes paths before it compares them. Encoding `%` once more cancels that.
    const encodedPath = path.includes('%') ? path.replaceAll('%', '%25') : path;
    const match = this.#routes.find((method === 'HEAD' ? 'GET' : method) as Method, encodedPath);
    return match === null ? null : { value: match.store as V, params: match.params as Record<string, string> };
  }

  /** The methods for which a path has routes. */
  methodsOf(path: string): string[] {
    const foundMethods: string[] = methods.filter((method) => this.find(method, path) !== null);
    return foundMethods.includes('GET') ? ['HEAD', ...foundMethods] : foundMethods;
  }
}

/** Decodes the parameters of a path. @throws BadParameterError if one is not percent-encoded UTF-8. */
export function decodeParameters(params: MatchedRoute<unknown>['params']): Record<string, string> {
  const decoded: Record<string, string> = {};
  for (const name in params) {
    const rawText = params[name]!;
    // The rest of a path can contain slashes, so the route decodes its segments one by one.
    if (name === '*') {
      decoded[name] = rawText;
      continue;
    }
    try {
      decoded[name] = rawText.includes('%') ? decodeURIComponent(rawText) : rawText;
    } catch (cause) {
      throw new BadParameterError('The path is not valid percent-encoded UTF-8.', { cause });
    }
  }
  return decoded;
}
