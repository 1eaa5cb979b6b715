import type { RouteOutline } from '../route.js';
import { describeAsOpenApi3, describeAsSwagger2, type ApiInfo } from './openapi.js';

/** The documents that describe an API. Each document is built when it is first requested. */
export class ApiDocuments {
  #swagger2: string | null = null;
  #openApi3: string | null = null;

  /** @param routes can still be empty here; the caller adds all routes before the first request. */
  constructor(
    private readonly routes: readonly RouteOutline[],
    private readonly info: ApiInfo,
  ) {}

  /**
   * @param origin scheme, host and port under which the client reached the server.
   * @param root path of the API on that origin.
   */
  swagger2(origin: string, root: string): string {
    this.#swagger2 ??= JSON.stringify(describeAsSwagger2(this.routes, this.info));
    const { host, protocol } = new URL(origin);
    const schemes = [protocol === 'https:' ? 'https' : 'http'];
    return prependMembers({ swagger: '2.0', host, schemes, basePath: root }, this.#swagger2);
  }

  /** @param root path of the API, as the client reached it. */
  openApi3(root: string): string {
    this.#openApi3 ??= JSON.stringify(describeAsOpenApi3(this.routes, this.info));
    // The address has no origin, because a server behind a proxy does not know the origin under which clients reach it.
    return prependMembers({ openapi: '3.1.0', servers: [{ url: root }] }, this.#openApi3);
  }
}

/** Puts members before the members of the object in a long JSON text. */
function prependMembers(members: Readonly<Record<string, unknown>>, text: string): string {
  return `${JSON.stringify(members).slice(0, -1)},${text.slice(1)}`;
}
