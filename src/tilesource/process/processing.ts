import { availableParallelism } from 'node:os';
import { WorkQueue } from '../../core/concurrency/work-queue.js';

/** Threads of libuv, on which libvips and all reads of files run; 4 unless the environment says otherwise before Node starts. */
const threads = Number(process.env.UV_THREADPOOL_SIZE) || 4;

/**
 * Pieces that may take long leave one thread to files and compression, which all quick work needs. A piece spends part of its time waiting for
 * threads of libvips: one piece more than there are processors keeps them busy, and more would only slow down each other and the event loop.
 */
const running = Math.max(1, Math.min(threads - 1, availableParallelism() + 1));
const long = new WorkQueue({ name: 'pictures', running });

/** Small pieces, which end in some milliseconds, may take that thread, too: nothing waits long for it, and they are done a seventh faster. */
const any = new WorkQueue({ name: 'pictures', running: Math.min(threads, running + 1) });
const smallPixels = 2 ** 20;

/**
 * Runs a piece of decoding, scaling or encoding when a thread is free for it. Work that waits here never begins when its signal is aborted, and does
 * not block reads of files, which share the threads.
 *
 * @param pixels as many as the piece has at most, where that is known
 */
export function processed<R>(work: () => Promise<R>, signal?: AbortSignal, pixels = Infinity): Promise<R> {
  const begin = () => any.run(work, { signal });
  return pixels <= smallPixels ? begin() : long.run(begin, { signal });
}

/** Runs what takes a thread for minutes, of which there is one piece at a time: the thread is one of those that decode, where these are several. */
export function processedLong<R>(work: () => Promise<R>, signal?: AbortSignal): Promise<R> {
  return running > 1 ? processed(work, signal) : work();
}
