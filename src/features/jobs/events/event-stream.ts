import { Readable } from 'node:stream';
import type { JobRecord } from '../job-record.js';
import { followJob, type FollowOptions, type JobChange } from './job-events.js';
import { isFinished } from '../job-status.js';
import type { JobStore } from '../jobs.js';
import { Reply } from '../../../http/reply.js';
import { toWire } from '../../../http/serving/wire.js';

/** Silence after which a comment is sent, so that proxies keep the connection and a gone client is noticed. */
const keepAliveMs = 15_000;
/** How long an EventSource waits before it connects again. */
const retryMs = 1000;

/** The changes of a job as `text/event-stream`; 204 for a follower who has seen the end, which makes an EventSource stop. */
export function jobEventStream(jobs: JobStore, job: JobRecord, options: FollowOptions): Reply {
  if (options.after !== undefined && isFinished(job.status)) {
    const position = `${job.logEpoch}-${job.logCount}-${job.status}.${job.timestamps.length}`;
    if (options.after === position) return Reply.empty(204);
  }
  return Reply.stream(Readable.from(format(followJob(jobs, job.id, options)), { objectMode: false }), 'text/event-stream', {
    // Without the last one, nginx would collect the events.
    headers: { 'Cache-Control': 'no-cache', 'X-Accel-Buffering': 'no' },
  });
}

async function* format(changes: AsyncIterable<JobChange | null>): AsyncGenerator<string> {
  yield `retry: ${retryMs}\n\n`;
  let last = Date.now();
  for await (const change of changes) {
    if (change !== null) {
      const { type, data, position } = change;
      yield `id: ${position}\ndata: ${JSON.stringify({ type, data: toWire(data) })}\n\n`;
    } else if (Date.now() - last > keepAliveMs) yield ': still here\n\n';
    else continue;
    last = Date.now();
  }
}
