import { textAroundCentroids, centroidPropKeys } from '../../annotation-format/centroids.js';
import { elementQueryEcho, parseElementQuery, type ElementQuery } from '../../annotation-format/element-query.js';
import type { CentroidReading, ElementReading, ElementStore, StoredElements } from './elements/element-store.js';
import { callerName } from '../../core/concurrency/queues.js';
import type { Enqueue, WorkQueue } from '../../core/concurrency/work-queue.js';
import type { Caller } from '../../host.js';
import { toWire } from '../../core/wire.js';
import { sortKeys, type AnnotationView } from './views.js';

/** The elements to send, the query that selects them, and the annotation's version. */
export interface ElementsToSend {
  store: ElementStore;
  annotationId: string;
  version: number;
  elements: StoredElements;
  query: ElementQuery;
  readingQueue: ReadingQueue;
  signal: AbortSignal;
  /** Additional members of the record. They are written last. */
  trailer?: Record<string, unknown>;
  /** Whether to add the member `_elementQuery`. Default true. */
  includesQueryEcho?: boolean;
}

/** The query for all elements in their order. */
export const allElements: ElementQuery = parseElementQuery({});

type Chunks = AsyncGenerator<Buffer, void, undefined>;

/** Writes members as JSON without the braces around them. A comma follows the last member. */
function membersText(values: Record<string, unknown>): string {
  const text = JSON.stringify(toWire(values)).slice(1, -1);
  return text === '' ? '' : `${text},`;
}

/**
 * Sorts members by key, and writes the members before and after `key` as JSON without braces. Unless they are empty, `before` ends with a
 * comma and `after` begins with one, so that the caller can write the member of `key` between them.
 */
function splitAtKey(values: Record<string, unknown>, key: string): { before: string; after: string } {
  const sortedEntries = Object.entries(sortKeys(values));
  const before = Object.fromEntries(sortedEntries.filter(([name]) => name < key));
  const after = membersText(Object.fromEntries(sortedEntries.filter(([name]) => name > key))).slice(0, -1);
  return { before: membersText(before), after: after === '' ? '' : `,${after}` };
}

/** Waits for the first chunk, so that early errors occur before a byte is sent. */
export function withFirstChunk<Chunk extends { length: number }>(chunks: AsyncIterable<Chunk>): Promise<AsyncIterable<Chunk>> {
  return withFirstBytes(chunks, 0, (work) => work());
}

/** The queue in which a read of elements waits, and the caller who reads the elements. */
export interface ReadingQueue {
  queue: WorkQueue;
  caller: Caller | null;
  /** Whether the read waits even if the queue is full, because a part of the response is already sent or the elements are already stored. */
  isNeverRefused?: boolean;
}

/** Responses up to this length, in bytes, are made in one turn of the queue. Most responses are shorter. */
const firstPartBytes = 1024 * 1024;

/**
 * Makes the chunks of a response in turns of the queue. The first megabyte is made in one turn. Each further chunk takes a turn of its own,
 * so that a client that reads slowly does not occupy the queue.
 *
 * @throws BusyError if too many requests wait.
 */
export async function enqueueInParts<Chunk extends { length: number }>(
  open: () => AsyncIterable<Chunk> | Promise<AsyncIterable<Chunk>>,
  { queue, caller, isNeverRefused = false }: ReadingQueue,
  signal: AbortSignal,
): Promise<AsyncIterable<Chunk>> {
  const queueOptions = { signal, caller: callerName(caller) };
  const enqueueLater: Enqueue = (work) => queue.run(work, { ...queueOptions, isNeverRefused: true });
  return queue.run(async () => withFirstBytes(await open(), firstPartBytes, enqueueLater), {
    ...queueOptions,
    isNeverRefused,
  });
}

/** Waits for the first chunk and at least this many bytes. Each later chunk is made by `enqueue` when it is read. */
async function withFirstBytes<Chunk extends { length: number }>(
  chunks: AsyncIterable<Chunk>,
  minBytes: number,
  enqueue: Enqueue,
): Promise<AsyncIterable<Chunk>> {
  const iterator = chunks[Symbol.asyncIterator]();
  const firstChunks: Chunk[] = [];
  let byteCount = 0;
  let isDone = false;
  do {
    const next = await iterator.next();
    if (next.done === true) isDone = true;
    else {
      firstChunks.push(next.value);
      byteCount += next.value.length;
    }
  } while (!isDone && byteCount < minBytes);
  return (async function* () {
    try {
      yield* firstChunks.splice(0);
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

/** Streams the JSON text of a record with its elements from the store. */
export async function recordChunks(view: AnnotationView, elementsToSend: ElementsToSend): Promise<Chunks> {
  const { store, elements, query, readingQueue, signal, annotationId, version } = elementsToSend;
  let reading!: ElementReading;
  const open = async () => (reading = await store.read(elements, query, { signal })).chunks;
  const chunks = await enqueueInParts(open, readingQueue, signal);
  const head = splitAtKey({ ...view.head }, 'elements');
  const record = splitAtKey(view.record, 'annotation');
  return (async function* () {
    yield Buffer.from(`{${record.before}"annotation":{${head.before}"elements":[`);
    yield* chunks;
    const { budget, box, orders } = reading;
    const response = { annotationId, version, total: elements.count, budget, box, orders };
    const echo = elementsToSend.includesQueryEcho === false ? {} : { _elementQuery: elementQueryEcho(query, response) };
    const lastMembers = membersText({ ...elementsToSend.trailer, ...echo }).slice(0, -1);
    yield Buffer.from(`]${head.after}}${record.after}${lastMembers === '' ? '' : `,${lastMembers}`}}`);
  })();
}

/** Streams centroids in binary form: JSON in two parts, and between them a zero byte, 28 bytes for each element, and a zero byte. */
export async function centroidChunks(view: AnnotationView, elementsToSend: ElementsToSend): Promise<Chunks> {
  const { store, elements, query, readingQueue, signal, annotationId, version } = elementsToSend;
  let reading!: CentroidReading;
  const open = async () => (reading = await store.readCentroids(elements, query, { signal })).chunks;
  const chunks = await enqueueInParts(open, readingQueue, signal);
  const record = toWire(sortKeys(view.record)) as Record<string, unknown>;
  const annotation = sortKeys({ ...view.head });
  const zeroByte = Buffer.alloc(1);
  return (async function* () {
    yield Buffer.from(textAroundCentroids({ record, annotation, elementQuery: {} }).before);
    yield zeroByte;
    yield* chunks;
    yield zeroByte;
    const { budget, props } = reading;
    const echo = elementQueryEcho(query, { annotationId, version, total: elements.count, budget });
    const elementQuery = { ...echo, props: props.rows, propskeys: centroidPropKeys };
    yield Buffer.from(textAroundCentroids({ record, annotation, elementQuery }).after);
  })();
}
