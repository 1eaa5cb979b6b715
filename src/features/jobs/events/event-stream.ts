import type { JobRecord } from '../job-record.js';
import { followJob, type FollowOptions, type JobChange } from './job-events.js';
import { isFinished } from '../job-status.js';
import type { JobStore } from '../jobs.js';
import { eventStream } from '../../../http/event-stream.js';
import { Reply } from '../../../http/reply.js';
import { toWire } from '../../../core/wire.js';

/** How long an EventSource waits before it reconnects. */
const retryMs = 1000;

/**
 * Answers with the changes of a job as `text/event-stream`. A follower who has already seen all changes of a finished job gets 204,
 * which makes an EventSource stop.
 */
export function replyWithJobEvents(jobs: JobStore, job: JobRecord, options: FollowOptions): Reply {
  if (options.after !== undefined && isFinished(job.status)) {
    const position = `${job.logEpoch}-${job.logCount}-${job.status}.${job.timestamps.length}`;
    if (options.after === position) return Reply.empty(204);
  }
  return eventStream(formatEvents(followJob(jobs, job.id, options)));
}

async function* formatEvents(changes: AsyncIterable<JobChange | null>): AsyncGenerator<string> {
  yield `retry: ${retryMs}\n\n`;
  for await (const change of changes) {
    if (change === null) continue;
    const { type, data, position } = change;
    yield `id: ${position}\ndata: ${JSON.stringify({ type, data: toWire(data) })}\n\n`;
  }
}
