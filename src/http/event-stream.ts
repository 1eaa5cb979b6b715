import { Reply } from './reply.js';

/**
 * A comment is sent after this time without events, so that proxies keep the connection open and a disconnected client is noticed.
 */
const defaultHeartbeatMs = 15_000;

/**
 * Server-sent events, each sent immediately, with comments as heartbeats between them. The headers keep compressing middleware
 * (`no-transform`) and nginx (`X-Accel-Buffering`) from holding events back.
 *
 * @param events complete events, ready to send; they end when the request's signal is aborted.
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
      const result = await orSilence(next, heartbeatMs);
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

/** The value, or `null` if it takes longer than this. */
function orSilence<T>(value: Promise<T>, milliseconds: number): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(null), milliseconds);
    timer.unref();
    value.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
