import { availableParallelism } from 'node:os';
import { WorkQueue } from '../../core/concurrency/work-queue.js';

/**
 * Number of libuv threads, on which libvips and all reads of files run. Node reads the variable at its start, and the default is 4.
 */
const libuvThreads = Number(process.env.UV_THREADPOOL_SIZE) || 4;

/**
 * Maximum number of long tasks that run at the same time. They leave one thread free for reads of files and compression, which all
 * quick work needs. A task spends part of its time waiting for threads of libvips. One task more than there are processors
 * therefore keeps the processors busy; further tasks would only slow down each other and the event loop.
 */
const maxLongTasks = Math.max(1, Math.min(libuvThreads - 1, availableParallelism() + 1));
const longTasks = new WorkQueue({ name: 'pictures', running: maxLongTasks });

/**
 * The queue of all tasks. Small tasks, which end in some milliseconds, can also use the thread that long tasks leave free. They
 * finish a seventh faster, and other work does not wait long for the thread.
 */
const allTasks = new WorkQueue({ name: 'pictures', running: Math.min(libuvThreads, maxLongTasks + 1) });
/** Maximum number of pixels of a small task. */
const maxSmallPixels = 2 ** 20;

/**
 * Runs a task that decodes, scales or encodes, when a thread is free for it. A waiting task never starts if its signal is aborted,
 * and does not block reads of files, which share the threads.
 *
 * @param pixels maximum number of pixels that the task processes, if known
 */
export function runProcessing<R>(work: () => Promise<R>, signal?: AbortSignal, pixels = Infinity): Promise<R> {
  const begin = () => allTasks.run(work, { signal });
  return pixels <= maxSmallPixels ? begin() : longTasks.run(begin, { signal });
}

/**
 * Runs a task that takes a thread for minutes. It counts as a long task, but if only one long task can run at a time, it starts at
 * once in addition to that one, so that other long tasks do not wait for minutes.
 */
export function runLongProcessing<R>(work: () => Promise<R>, signal?: AbortSignal): Promise<R> {
  return maxLongTasks > 1 ? runProcessing(work, signal) : work();
}
