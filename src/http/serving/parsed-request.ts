import type { IncomingMessage, ServerResponse } from 'node:http';
import { sharedAbortController } from '../../core/concurrency/abort.js';
import { LargeImageError } from '../../errors.js';
import type { Caller } from '../../host.js';
import type { HttpRequest } from './request.js';
import type { FoundToken } from './request-tokens.js';
import type { RouteRequest } from '../route.js';
import { prefixOf, publicAddressOf } from './public-address.js';
import type { Sender } from './sender.js';

/** The abort signal of a request. The signal is created when it is first read, because a request for a cached tile needs none. */
class RequestSignal {
  #controller: AbortController | undefined;
  /** Whether the handler has produced a response. */
  hasAnswer = false;

  constructor(private readonly response: ServerResponse) {}

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = sharedAbortController();
      const { response } = this;
      const onClose = (): void => {
        // If a response was sent before the handler produced one, the server is closing, so the work should stop too.
        const isAnswered = response.writableFinished && this.hasAnswer;
        if (!isAnswered) this.abort(new LargeImageError('unavailable', 'The client disconnected.'));
      };
      if (response.closed) onClose();
      else response.once('close', onClose);
    }
    return this.#controller.signal;
  }

  abort(reason: LargeImageError): void {
    this.#controller ??= sharedAbortController();
    this.#controller.abort(reason);
  }
}

/** The parsed values of a request. */
export interface ParsedValues extends Pick<RouteRequest, 'params' | 'query' | 'sent'> {
  sender: Sender;
  foundToken: FoundToken | null;
  request: HttpRequest & { protocol: string; host?: string | undefined; ip?: string | undefined };
  response: ServerResponse;
}

/** A request as routes see it. */
export class ParsedRequest implements RouteRequest {
  readonly params: ParsedValues['params'];
  readonly query: ParsedValues['query'];
  readonly sent: ParsedValues['sent'];
  readonly token: string | null;
  readonly tokenFromCookie: boolean;
  readonly fromOtherSite: boolean;
  readonly headers: IncomingMessage['headers'];
  readonly url: string;
  /** Set before the handler is called. */
  body: unknown = undefined;
  authorized: unknown = undefined;
  readonly #values: ParsedValues;
  readonly #signal: RequestSignal;

  constructor(
    values: ParsedValues,
    readonly verified: Caller | null,
    readonly caller: Caller | null,
    signal?: RequestSignal,
  ) {
    this.#values = values;
    this.params = values.params;
    this.query = values.query;
    this.sent = values.sent;
    this.token = values.foundToken?.token ?? null;
    this.tokenFromCookie = values.foundToken?.fromCookie ?? false;
    this.fromOtherSite = values.sender !== 'own';
    this.headers = values.request.headers;
    this.url = values.request.originalUrl;
    this.#signal = signal ?? new RequestSignal(values.response);
  }

  /** The same request, for a caller whose token or permissions have changed. */
  withCaller(verified: Caller | null, caller: Caller | null): ParsedRequest {
    return new ParsedRequest(this.#values, verified, caller, this.#signal);
  }

  get address(): string {
    return this.#values.request.ip ?? '';
  }

  get origin(): string {
    const { request } = this.#values;
    return publicAddressOf(request)?.origin ?? `${request.protocol}://${request.host ?? request.headers.host ?? 'localhost'}`;
  }

  get prefix(): string {
    return prefixOf(this.#values.request);
  }

  get root(): string {
    return `${this.prefix}${this.#values.request.baseUrl}`;
  }

  get signal(): AbortSignal {
    return this.#signal.signal;
  }

  abort(reason: LargeImageError): void {
    this.#signal.abort(reason);
  }

  /** Called when the handler has produced a response. From now on a connection that closes normally does not abort the request. */
  markAnswered(): void {
    this.#signal.hasAnswer = true;
  }
}
