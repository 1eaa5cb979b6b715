import type { IncomingMessage, ServerResponse } from 'node:http';
import { sharedAbortController } from '../../core/concurrency/abort.js';
import { LargeImageError } from '../../errors.js';
import type { Caller } from '../../host.js';
import type { HttpRequest } from './request.js';
import type { VerifiedToken } from './request-tokens.js';
import type { RouteRequest } from '../route.js';
import type { Sender } from './sender.js';

/** A signal that is made when somebody looks at it: a tile from a cache needs none. */
class Leaving {
  #controller: AbortController | undefined;
  /** Whether the handler has said what is to be answered. */
  isAnswering = false;

  constructor(private readonly response: ServerResponse) {}

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = sharedAbortController();
      const { response } = this;
      const leave = (): void => {
        // An answer that was sent before the handler has ended is the server's, which stops: the work is to stop, too.
        const isAnswered = response.writableFinished && this.isAnswering;
        if (!isAnswered) this.abort(new LargeImageError('unavailable', 'The client has gone away.'));
      };
      if (response.closed) leave();
      else response.once('close', leave);
    }
    return this.#controller.signal;
  }

  abort(reason: LargeImageError): void {
    this.#controller ??= sharedAbortController();
    this.#controller.abort(reason);
  }
}

/** What a route is told of a request. */
export interface AskedValues extends Pick<RouteRequest, 'params' | 'query' | 'sent'> {
  sender: Sender;
  found: VerifiedToken | null;
  request: HttpRequest & { protocol: string; ip?: string | undefined };
  response: ServerResponse;
}

/** A request as routes see it. */
export class Asked implements RouteRequest {
  readonly params: AskedValues['params'];
  readonly query: AskedValues['query'];
  readonly sent: AskedValues['sent'];
  readonly token: string | null;
  readonly tokenFromCookie: boolean;
  readonly fromOtherSite: boolean;
  readonly headers: IncomingMessage['headers'];
  readonly url: string;
  /** Set before the handler is called. */
  body: unknown = undefined;
  granted: unknown = undefined;
  readonly #values: AskedValues;
  readonly #leaving: Leaving;

  constructor(
    values: AskedValues,
    readonly verified: Caller | null,
    readonly caller: Caller | null,
    leaving?: Leaving,
  ) {
    this.#values = values;
    this.params = values.params;
    this.query = values.query;
    this.sent = values.sent;
    this.token = values.found?.token ?? null;
    this.tokenFromCookie = values.found?.fromCookie ?? false;
    this.fromOtherSite = values.sender !== 'own';
    this.headers = values.request.headers;
    this.url = values.request.originalUrl;
    this.#leaving = leaving ?? new Leaving(values.response);
  }

  /** The same request of a caller whose token or rights have changed meanwhile. */
  by(verified: Caller | null, caller: Caller | null): Asked {
    return new Asked(this.#values, verified, caller, this.#leaving);
  }

  get address(): string {
    return this.#values.request.ip ?? '';
  }

  get origin(): string {
    const { request } = this.#values;
    return `${request.protocol}://${request.headers.host ?? 'localhost'}`;
  }

  get root(): string {
    return this.#values.request.baseUrl;
  }

  get signal(): AbortSignal {
    return this.#leaving.signal;
  }

  abort(reason: LargeImageError): void {
    this.#leaving.abort(reason);
  }

  /** The work is done and is being sent. */
  answering(): void {
    this.#leaving.isAnswering = true;
  }
}
