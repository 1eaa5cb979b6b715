import { Gate } from './concurrency.js';

/** Threads of libuv, on which libvips and all reads of files run; 4 unless the environment says otherwise before Node starts. */
const threads = Number(process.env.UV_THREADPOOL_SIZE) || 4;

const gate = new Gate(threads);

/**
 * Runs a piece of decoding, scaling or encoding when a thread is free for it. What waits here has not begun: it never does when its
 * signal is aborted meanwhile, and it does not stand in the way of reads of files, which share the threads.
 */
export function processed<R>(work: () => Promise<R>, signal?: AbortSignal): Promise<R> {
  return gate.run(work, signal);
}
