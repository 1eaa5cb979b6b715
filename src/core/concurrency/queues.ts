import type { Caller } from '../../host.js';
import { WorkQueue, type Enqueue } from './work-queue.js';

/** How many pieces of one kind of work may go on at the same time in a process, and how many may wait. */
export interface QueueLimits {
  running: number;
  waiting: number;
}

/**
 * The queues for work that keeps threads, the event loop or the database busy. Requests that a cache answers use no queue. The table in
 * docs/operations.md has the same numbers.
 */
const defaultQueues = {
  /** Tiles that are in no cache: read, decoded, encoded. */
  tiles: { running: 8, waiting: 1000 },
  /** Regions, thumbnails, histograms and the like. */
  pictures: { running: 4, waiting: 500 },
  /** Making pictures and histograms that are kept as files: mostly waiting for the database. What is drawn for them waits in `pictures`. */
  keptFiles: { running: 8, waiting: 500 },
  /** Parts of answers with elements of annotations, and pictures of elements. */
  elements: { running: 4, waiting: 1000 },
  /** Changes of annotations. Those of one annotation are made one after the other. */
  edits: { running: 4, waiting: 500 },
  /** Lists of items with conditions that clients have written, and searches that read all metadata. */
  searches: { running: 2, waiting: 100 },
} as const satisfies Record<string, QueueLimits>;

/** Names of the queues. */
export type QueueName = keyof typeof defaultQueues;

/** The queues of an installation. */
export type Queues = Readonly<Record<QueueName, WorkQueue>>;

/** Names of the work of each queue in refusals. */
const names: Readonly<Record<QueueName, string>> = {
  tiles: 'tiles',
  pictures: 'pictures',
  keptFiles: 'kept pictures',
  elements: 'elements of annotations',
  edits: 'changes of annotations',
  searches: 'lists and searches',
};

/** Makes the queues. @param limits replace the defaults. */
export function createQueues(limits: Partial<Record<QueueName, QueueLimits>> = {}): Queues {
  const made = (name: QueueName) => new WorkQueue({ name: names[name], ...defaultQueues[name], ...limits[name] });
  return {
    tiles: made('tiles'),
    pictures: made('pictures'),
    keptFiles: made('keptFiles'),
    elements: made('elements'),
    edits: made('edits'),
    searches: made('searches'),
  };
}

/** Name under which callers take turns in a queue. */
export function callerName(caller: Caller | null): string {
  return caller?.id ?? '';
}

/** Queues the work of a request. Work whose client leaves while it waits is dropped. */
export function enqueueFor(queue: WorkQueue, { caller, signal }: { caller: Caller | null; signal: AbortSignal }): Enqueue {
  return (work, wanted = signal) => queue.run(work, { signal: wanted, caller: callerName(caller) });
}
