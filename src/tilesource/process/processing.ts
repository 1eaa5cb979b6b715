import { availableParallelism } from 'node:os';
import { WorkQueue } from '../../core/concurrency/work-queue.js';

/**
 * Number of libuv threads, on which libvips and all reads of files run; 4 unless the environment says otherwise before Node starts.
 */
const libuvThreads = Number(process.env.UV_THREADPOOL_SIZE) || 4;

/**
 * Tasks that may take long leave one thread free for files and compression, which all quick work needs. A task spends part of its
 * time waiting for threads of libvips: one task more than there are processors keeps them busy, and more would only slow down
 * each other and the event loop.
 */
const maxRunning = Math.max(1, Math.min(libuvThreads - 1, availableParallelism() + 1));
const longTasks = new WorkQueue({ name: 'pictures', running: maxRunning });

/**
 * Small tasks, which end in some milliseconds, can also use the thread that long tasks leave free: other work does not wait long
 * for them, and they finish a seventh faster.
 */
const allTasks = new WorkQueue({ name: 'pictures', running: Math.min(libuvThreads, maxRunning + 1) });
const maxSmallPixels = 2 ** 20;

/**
 * Runs a task of decoding, scaling or encoding when a thread is free for it. A task that waits here never starts if its signal is
 * aborted, and does not block reads of files, which share the threads.
 *
 * @param pixels maximum number of pixels of the task, if known
 */
export function runProcessing<R>(work: () => Promise<R>, signal?: AbortSignal, pixels = Infinity): Promise<R> {
  const begin = () => allTasks.run(work, { signal });
  return pixels <= maxSmallPixels ? begin() : longTasks.run(begin, { signal });
}

/** Runs a task that takes a thread for minutes, one at a time. If there are several decoding threads, it is one of them. */
export function runLongProcessing<R>(work: () => Promise<R>, signal?: AbortSignal): Promise<R> {
  return maxRunning > 1 ? runProcessing(work, signal) : work();
}
