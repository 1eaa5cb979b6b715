import { availableParallelism } from 'node:os';
import type { Caller } from '../../host.js';
import { WorkQueue, type Enqueue } from './work-queue.js';

/** Limits of a queue, in each process. */
export interface QueueLimits {
  /** Maximum number of tasks that run at the same time. */
  running: number;
  /** Maximum number of tasks that wait. */
  waiting: number;
}

/**
 * The queues for work that occupies threads, the event loop or the database. Requests that a cache answers use no queue. The table
 * in docs/operations.md has the same numbers.
 */
const defaultQueues = {
  /** Tiles that are in no cache, which must be read, decoded and encoded. */
  tiles: { running: 8, waiting: 1000 },
  /**
   * Chunks of OME-Zarr. Clients request many at the same time; running at most one per processor hardly delays the tiles of other
   * callers.
   */
  chunks: { running: Math.max(2, availableParallelism()), waiting: 1000 },
  /** Regions, thumbnails, histograms and similar pictures. */
  pictures: { running: 4, waiting: 500 },
  /**
   * Tasks that make pictures and histograms that are stored as files. These tasks mostly wait for the database; the drawing itself
   * waits in `pictures`.
   */
  keptFiles: { running: 8, waiting: 500 },
  /** Parts of answers with elements of annotations, and pictures of elements. */
  elements: { running: 4, waiting: 1000 },
  /** Changes of annotations. Changes of one annotation are made one after the other. */
  edits: { running: 4, waiting: 500 },
  /** Lists of items with conditions from clients, and searches that read all metadata. */
  searches: { running: 2, waiting: 100 },
} as const satisfies Record<string, QueueLimits>;

/** Names of the queues. */
export type QueueName = keyof typeof defaultQueues;

/** All names of queues. */
export const queueNames: readonly string[] = Object.keys(defaultQueues);

/** The queues of an installation. */
export type Queues = Readonly<Record<QueueName, WorkQueue>>;

/** Names of the tasks of each queue, for messages. */
const taskNames: Readonly<Record<QueueName, string>> = {
  tiles: 'tiles',
  chunks: 'chunks of OME-Zarr',
  pictures: 'pictures',
  keptFiles: 'cached pictures',
  elements: 'elements of annotations',
  edits: 'changes of annotations',
  searches: 'lists and searches',
};

/** Creates the queues. @param limits replace the defaults. */
export function createQueues(limits: Partial<Record<QueueName, QueueLimits>> = {}): Queues {
  const makeQueue = (name: QueueName) => new WorkQueue({ name: taskNames[name], ...defaultQueues[name], ...limits[name] });
  return {
    tiles: makeQueue('tiles'),
    chunks: makeQueue('chunks'),
    pictures: makeQueue('pictures'),
    keptFiles: makeQueue('keptFiles'),
    elements: makeQueue('elements'),
    edits: makeQueue('edits'),
    searches: makeQueue('searches'),
  };
}

/** Name under which a caller takes turns in a queue. All anonymous callers share the empty name. */
export function callerName(caller: Caller | null): string {
  return caller?.id ?? '';
}

/** Makes a function that queues work of a request. If the client disconnects while the work waits, the work is dropped. */
export function enqueueFor(queue: WorkQueue, { caller, signal }: { caller: Caller | null; signal: AbortSignal }): Enqueue {
  return (work, workSignal = signal) => queue.run(work, { signal: workSignal, caller: callerName(caller) });
}
