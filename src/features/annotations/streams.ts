import { Readable } from 'node:stream';
import { centroidFrame, centroidPropKeys } from '../../annotation-format/centroids.js';
import { elementQueryEcho, parseElementQuery, type ElementQuery } from '../../annotation-format/element-query.js';
import type { CentroidReading, ElementReading, ElementStore, StoredElements } from './elements/element-store.js';
import { callerName } from '../../core/concurrency/queues.js';
import type { Enqueue, WorkQueue } from '../../core/concurrency/work-queue.js';
import type { Caller } from '../../host.js';
import { toWire } from '../../core/wire.js';
import { sortKeys, type AnnotationView } from './views.js';

/** The elements to send, and their version. */
export interface ElementSending {
  store: ElementStore;
  annotationId: string;
  version: number;
  elements: StoredElements;
  query: ElementQuery;
  /** Where the reading of elements waits. */
  waiting: ReadingQueue;
  signal: AbortSignal;
  /** Further members of the record that come last. */
  trailer?: Record<string, unknown>;
  /** Whether `_elementQuery` is added. Default true. */
  echo?: boolean;
}

/** The query for all elements in their order. */
export const allElements: ElementQuery = parseElementQuery({});

type Chunks = AsyncGenerator<Buffer, void, undefined>;

/** JSON members without the braces around them, with a comma behind where there are any. */
function members(values: Record<string, unknown>): string {
  const text = JSON.stringify(toWire(values)).slice(1, -1);
  return text === '' ? '' : `${text},`;
}

/** Splits a record at one of its keys into the parts before and after, without commas at the split. */
function around(values: Record<string, unknown>, key: string): { before: string; after: string } {
  const sorted = Object.entries(sortKeys(values));
  const before = Object.fromEntries(sorted.filter(([name]) => name < key));
  const after = members(Object.fromEntries(sorted.filter(([name]) => name > key))).slice(0, -1);
  return { before: members(before), after: after === '' ? '' : `,${after}` };
}

/** Chunks whose first one is there: what can fail has failed before a byte is sent. */
export function started<Chunk extends { length: number }>(chunks: AsyncIterable<Chunk>): Promise<AsyncIterable<Chunk>> {
  return begunWith(chunks, 0, (work) => work());
}

/** The reader of elements, and the queue in which it waits. */
export interface ReadingQueue {
  queue: WorkQueue;
  caller: Caller | null;
  /** Whether it waits also where the queue is full: something has been sent, or stored, already. */
  patient?: boolean;
}

/** An answer of this length, which most are shorter than, is made in one turn. */
const firstPartBytes = 1024 * 1024;

/**
 * Chunks that are made in turns: the first ones in one, and each further one in another, so that a client who is slow to take them keeps
 * nobody waiting.
 *
 * @throws BusyError when too many wait.
 */
export async function enqueueInParts<Chunk extends { length: number }>(
  open: () => AsyncIterable<Chunk> | Promise<AsyncIterable<Chunk>>,
  { queue, caller, patient = false }: ReadingQueue,
  signal: AbortSignal,
): Promise<AsyncIterable<Chunk>> {
  const waiting = { signal, caller: callerName(caller) };
  const enqueueLater: Enqueue = (work) => queue.run(work, { ...waiting, patient: true });
  return queue.run(async () => begunWith(await open(), firstPartBytes, enqueueLater), { ...waiting, patient });
}

/** Chunks of which at least the first, and so many bytes, are there. */
async function begunWith<Chunk extends { length: number }>(
  chunks: AsyncIterable<Chunk>,
  leastBytes: number,
  enqueue: Enqueue,
): Promise<AsyncIterable<Chunk>> {
  const iterator = chunks[Symbol.asyncIterator]();
  const first: Chunk[] = [];
  let bytes = 0;
  let isDone = false;
  do {
    const next = await iterator.next();
    if (next.done === true) isDone = true;
    else {
      first.push(next.value);
      bytes += next.value.length;
    }
  } while (!isDone && bytes < leastBytes);
  return (async function* () {
    try {
      yield* first.splice(0);
      while (!isDone) {
        const next = await enqueue(() => iterator.next());
        if (next.done === true) isDone = true;
        else yield next.value;
      }
    } finally {
      await iterator.return?.();
    }
  })();
}

/** The text of a record with its elements in place, as it comes from the store. */
export async function recordChunks(view: AnnotationView, sending: ElementSending): Promise<Chunks> {
  const { store, elements, query, waiting, signal, annotationId, version } = sending;
  let reading!: ElementReading;
  const open = async () => (reading = await store.read(elements, query, { signal })).chunks;
  const chunks = await enqueueInParts(open, waiting, signal);
  const head = around({ ...view.head }, 'elements');
  const record = around(view.record, 'annotation');
  return (async function* () {
    yield Buffer.from(`{${record.before}"annotation":{${head.before}"elements":[`);
    yield* chunks;
    const { budget, box, orders } = reading;
    const answer = { annotationId, version, total: elements.count, budget, box, orders };
    const echo = sending.echo === false ? {} : { _elementQuery: elementQueryEcho(query, answer) };
    const last = members({ ...sending.trailer, ...echo }).slice(0, -1);
    yield Buffer.from(`]${head.after}}${record.after}${last === '' ? '' : `,${last}`}}`);
  })();
}

/** The binary form: JSON with 28 bytes for each element between two zero bytes. */
export async function centroidChunks(view: AnnotationView, sending: ElementSending): Promise<Chunks> {
  const { store, elements, query, waiting, signal, annotationId, version } = sending;
  let reading!: CentroidReading;
  const open = async () => (reading = await store.centroids(elements, query, { signal })).chunks;
  const chunks = await enqueueInParts(open, waiting, signal);
  const record = toWire(sortKeys(view.record)) as Record<string, unknown>;
  const annotation = sortKeys({ ...view.head });
  const zero = Buffer.alloc(1);
  return (async function* () {
    yield Buffer.from(centroidFrame({ record, annotation, elementQuery: {} }).before);
    yield zero;
    yield* chunks;
    yield zero;
    const { budget, props } = reading;
    const echo = elementQueryEcho(query, { annotationId, version, total: elements.count, budget });
    const elementQuery = { ...echo, props: props.rows, propskeys: centroidPropKeys };
    yield Buffer.from(centroidFrame({ record, annotation, elementQuery }).after);
  })();
}

/** Bytes for a reply; an error on the way ends the connection, a client that leaves ends the reading. */
export function streamOf(chunks: AsyncIterable<Buffer | string>): Readable {
  return Readable.from(chunks, { objectMode: false });
}
