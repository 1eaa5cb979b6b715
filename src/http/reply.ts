import { Readable } from 'node:stream';

/** Response headers by name. */
export type ReplyHeaders = Readonly<Record<string, string | number>>;

/**
 * The content of a reply, for handlers whose result is not just a JSON value with status 200.
 * - `json`: a value, with another status or headers;
 * - `content`: complete bytes or text;
 * - `stream`: bytes as they arrive. The stream is destroyed when the client disconnects. `checkPermission` is called every second,
 *   in addition to the route's `authorize`, and rejects when the caller loses permission;
 * - `empty`: no body (204, 304, redirects).
 */
export type ReplyContent =
  | { kind: 'json'; value: unknown }
  | { kind: 'content'; body: Uint8Array | string; type: string }
  | { kind: 'stream'; body: Readable; type: string; checkPermission?: (() => Promise<unknown>) | undefined }
  | { kind: 'empty' };

/** A complete response of a route. */
export class Reply {
  constructor(
    readonly content: ReplyContent,
    readonly status: number,
    readonly headers: ReplyHeaders = {},
  ) {}

  static json(value: unknown, options: { status?: number; headers?: ReplyHeaders } = {}): Reply {
    return new Reply({ kind: 'json', value }, options.status ?? 200, options.headers);
  }

  static content(body: Uint8Array | string, type: string, options: { status?: number; headers?: ReplyHeaders } = {}): Reply {
    return new Reply({ kind: 'content', body, type }, options.status ?? 200, options.headers);
  }

  /** @param body a stream, or an iterable of pieces, which is read only as fast as the client reads. */
  static stream(
    body: Readable | AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
    type: string,
    {
      status = 200,
      headers,
      checkPermission,
    }: { status?: number; headers?: ReplyHeaders; checkPermission?: () => Promise<unknown> } = {},
  ): Reply {
    const stream = body instanceof Readable ? body : Readable.from(body, { objectMode: false });
    return new Reply({ kind: 'stream', body: stream, type, checkPermission }, status, headers);
  }

  static empty(status: number, headers?: ReplyHeaders): Reply {
    return new Reply({ kind: 'empty' }, status, headers);
  }

  static redirect(location: string, status: 302 | 303 | 307 = 303): Reply {
    return new Reply({ kind: 'empty' }, status, { Location: location });
  }
}
