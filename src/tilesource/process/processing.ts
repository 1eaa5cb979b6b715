import { availableParallelism } from 'node:os';
import { WorkQueue } from '../../core/concurrency/work-queue.js';

/**
 * Number of libuv threads, on which libvips and all reads of files run; 4 unless the environment says otherwise before Node starts.
 */
const libuvThreads = Number(process.env.UV_THREADPOOL_SIZE) || 4;

/**
 * Tasks that may take long leave one thread free for files and compression, which all quick work needs. A task spends part of its
 * time waiting for threads of libvips. One task more than there are processors therefore keeps the processors busy; more tasks
 * would only slow down each other and the event loop.
 */
const maxLongTasks = Math.max(1, Math.min(libuvThreads - 1, availableParallelism() + 1));
const longTasks = new WorkQueue({ name: 'pictures', running: maxLongTasks });

/**
 * Small tasks, which end in some milliseconds, can also use the thread that long tasks leave free. They finish a seventh faster,
 * and other work does not wait long for the thread.
 */
const allTasks = new WorkQueue({ name: 'pictures', running: Math.min(libuvThreads, maxLongTasks + 1) });
/** Maximum number of pixels of a small task. */
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

/**
 * Runs a task that takes a thread for minutes, as one of the long tasks. If only one long task can run at a time, the task starts at
 * once in addition, so that other long tasks do not wait for minutes.
 */
export function runLongProcessing<R>(work: () => Promise<R>, signal?: AbortSignal): Promise<R> {
  return maxLongTasks > 1 ? runProcessing(work, signal) : work();
}
