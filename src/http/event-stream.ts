import { Reply } from './reply.js';

/**
 * A comment is sent after this many milliseconds without events, so that proxies keep the connection open, and a client that has
 * disconnected is noticed.
 */
const defaultHeartbeatMs = 15_000;

/**
 * Server-sent events, each sent immediately, with comments as heartbeats between them. The headers keep compressing middleware
 * (`no-transform`) and nginx (`X-Accel-Buffering`) from holding events back.
 *
 * @param events the text of each complete event. The iteration must end when the request's signal is aborted.
 */
export function eventStream(events: AsyncIterable<string>, { heartbeatMs = defaultHeartbeatMs } = {}): Reply {
  return Reply.stream(withHeartbeat(events, heartbeatMs), 'text/event-stream', {
    headers: { 'Cache-Control': 'no-cache, no-transform', 'X-Accel-Buffering': 'no' },
  });
}

async function* withHeartbeat(events: AsyncIterable<string>, heartbeatMs: number): AsyncGenerator<string> {
  const iterator = events[Symbol.asyncIterator]();
  let next = iterator.next();
  try {
    for (;;) {
      const result = await valueOrTimeout(next, heartbeatMs);
      if (result === null) {
        yield ': still here\n\n';
        continue;
      }
      if (result.done === true) return;
      yield result.value;
      next = iterator.next();
    }
  } finally {
    // The client has disconnected, so the pending event is dropped, even if it fails.
    next.catch(() => undefined);
    void iterator.return?.()?.catch(() => undefined);
  }
}

/** Resolves with the value, or with `null` if the value takes longer than this many milliseconds. */
function valueOrTimeout<T>(value: Promise<T>, milliseconds: number): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(null), milliseconds);
    timer.unref();
    value.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
