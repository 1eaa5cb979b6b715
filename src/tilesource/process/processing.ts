import { availableParallelism } from 'node:os';
import { WorkQueue } from '../../core/concurrency/work-queue.js';

/** Threads of libuv, on which libvips and all reads of files run; 4 unless the environment says otherwise before Node starts. */
const threads = Number(process.env.UV_THREADPOOL_SIZE) || 4;

/**
 * One thread is left for files and compression, which all quick work needs. A piece spends part of its time waiting for threads of libvips: one piece
 * more than there are processors keeps them busy, and more would only slow down each other and the event loop.
 */
const running = Math.max(1, Math.min(threads - 1, availableParallelism() + 1));
const decoding = new WorkQueue({ name: 'pictures', running });

/**
 * Runs a piece of decoding, scaling or encoding when a thread is free for it. Work that waits here never begins when its signal is aborted, and does
 * not block reads of files, which share the threads.
 */
export function processed<R>(work: () => Promise<R>, signal?: AbortSignal): Promise<R> {
  return decoding.run(work, { signal });
}

/** Runs what takes a thread for minutes, of which there is one piece at a time: the thread is one of those that decode, where these are several. */
export function processedLong<R>(work: () => Promise<R>, signal?: AbortSignal): Promise<R> {
  return running > 1 ? processed(work, signal) : work();
}
