import type { Caller } from '../../host.js';
import { WorkQueue, type Enqueue } from './work-queue.js';

/** How much of one kind of work goes on at the same time in a process, and how much may wait for it. */
export interface QueueLimits {
  running: number;
  waiting: number;
}

/**
 * The queues in front of work that keeps threads, the event loop or the database busy. What a cache answers passes by all of them. The
 * table of docs/operations.md holds the same numbers.
 */
const defaultQueues = {
  /** Tiles that are in no cache: read, decoded, encoded. */
  tiles: { running: 8, waiting: 1000 },
  /** Regions, thumbnails, histograms and the like. */
  pictures: { running: 4, waiting: 500 },
  /** Parts of answers that hold elements of annotations, and pictures of these. */
  elements: { running: 4, waiting: 1000 },
  /** Changes of annotations, of which those of one annotation are made one after the other. */
  edits: { running: 4, waiting: 500 },
  /** Lists of items with conditions that clients have written, and searches that read all metadata. */
  searches: { running: 2, waiting: 100 },
} as const satisfies Record<string, QueueLimits>;

/** Names of the queues. */
export type QueueName = keyof typeof defaultQueues;

/** The queues of an installation. */
export type Queues = Readonly<Record<QueueName, WorkQueue>>;

/** What refusals call the work of each queue. */
const names: Readonly<Record<QueueName, string>> = {
  tiles: 'tiles',
  pictures: 'pictures',
  elements: 'elements of annotations',
  edits: 'changes of annotations',
  searches: 'lists and searches',
};

/** Makes the queues, with other limits where some are given. */
export function createQueues(limits: Partial<Record<QueueName, QueueLimits>> = {}): Queues {
  const made = (name: QueueName) => new WorkQueue({ name: names[name], ...defaultQueues[name], ...limits[name] });
  return {
    tiles: made('tiles'),
    pictures: made('pictures'),
    elements: made('elements'),
    edits: made('edits'),
    searches: made('searches'),
  };
}

/** Whose work a request is: callers take turns. */
export function callerName(caller: Caller | null): string {
  return caller?.id ?? '';
}

/** Lets the work of a request wait in a queue as long as its client does. */
export function enqueueFor(queue: WorkQueue, { caller, signal }: { caller: Caller | null; signal: AbortSignal }): Enqueue {
  return (work, wanted = signal) => queue.run(work, { signal: wanted, caller: callerName(caller) });
}
