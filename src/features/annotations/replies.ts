import type { Readable } from 'node:stream';
import type { Caller } from '../../host.js';
import type { AnnotationRecord } from './documents/annotation-record.js';
import type { AnnotationPage } from './documents/lists/lists.js';
import type { AnnotationServices } from './annotation-services.js';
import { Reply, type ReplyHeaders } from '../../http/reply.js';
import { jsonPieces } from '../../core/json-pieces.js';
import { allElements, recordChunks, withFirstChunk } from './streams.js';
import {
  annotationHeaders,
  annotationTag,
  filteredView,
  privateHeaders,
  jsonWithoutElements,
  type AnnotationView,
} from './views.js';

/** The annotation to send in a response, and the caller and signal of its request. */
interface ResponseContext {
  annotation: AnnotationRecord;
  caller: Caller | null;
  signal: AbortSignal;
}

/** Makes the record as a caller sees it, and headers with the same entity tag as the response to GET without parameters. */
async function viewFor({ permissions }: AnnotationServices, { annotation, caller }: Omit<ResponseContext, 'signal'>) {
  const level = await permissions.findShownLevel(annotation, caller);
  const headers = annotationHeaders(annotationTag(annotation, level));
  return { view: filteredView(annotation, level), headers };
}

/** Answers with the record and all its elements. Used after a write. */
export async function replyWithElements(
  services: AnnotationServices,
  context: ResponseContext,
  extraHeaders: Record<string, string> = {},
): Promise<Reply> {
  const { view, headers } = await viewFor(services, context);
  const chunks = await chunksWithAllElements(services, view, context);
  return Reply.stream(chunks, 'application/json', { headers: { ...headers, ...extraHeaders } });
}

/** Describes the response header that counts the GeoJSON features or table rows of a body from which no element was made. */
export const skippedHeaderDescription = {
  'Large-Image-Skipped-Features':
    'Number of GeoJSON features or table rows that were skipped because they have no shape. Absent if there are none.',
};

/** Makes the header of {@link skippedHeaderDescription}, or no header if nothing was skipped. */
export function skippedHeader(skippedCount: number): Record<string, string> {
  return skippedCount === 0 ? {} : { 'Large-Image-Skipped-Features': String(skippedCount) };
}

/** Answers with the record without its elements. */
export async function replyWithoutElements(
  services: AnnotationServices,
  context: Omit<ResponseContext, 'signal'>,
  extraMembers: { record?: object; annotation?: object } = {},
): Promise<Reply> {
  const { view, headers } = await viewFor(services, context);
  const { record, head } = view;
  const value = jsonWithoutElements({
    record: { ...record, ...extraMembers.record },
    head: { ...head, ...extraMembers.annotation },
  });
  return Reply.json(value, { headers });
}

/** Streams a page of a list as JSON. The header `Girder-Total-Count` gives the number of annotations on all pages. */
export function replyPage(
  { annotations, total }: AnnotationPage,
  show: (annotation: AnnotationRecord) => object | Promise<object>,
): Promise<Reply> {
  return replyList(annotations, show, { 'Girder-Total-Count': total, ...privateHeaders });
}

/** Streams entries as a JSON list. The first entry is awaited, so that early errors occur before a byte is sent. */
export async function replyList<Entry>(
  entries: AsyncIterable<Entry>,
  show: (entry: Entry) => object | Promise<object>,
  headers: ReplyHeaders,
): Promise<Reply> {
  const texts = (async function* () {
    let separator = '[';
    for await (const entry of entries) {
      yield separator;
      yield* jsonPieces(await show(entry));
      separator = ',';
    }
    yield separator === '[' ? '[]' : ']';
  })();
  return Reply.stream(await withFirstChunk(texts), 'application/json', { headers });
}

/** Answers without a body, but with the entity tag of the new version. */
export async function replyEmpty(services: AnnotationServices, context: Omit<ResponseContext, 'signal'>): Promise<Reply> {
  const { headers } = await viewFor(services, context);
  return Reply.empty(204, headers);
}

function chunksWithAllElements(
  { store, readQueue }: AnnotationServices,
  view: AnnotationView,
  { annotation, caller, signal }: ResponseContext,
) {
  const { id: annotationId, version, elements } = annotation;
  // The elements are stored already, so this read must not be refused.
  const readingQueue = { queue: readQueue, caller, isNeverRefused: true };
  return recordChunks(view, {
    store,
    annotationId,
    version,
    elements,
    query: allElements,
    readingQueue,
    signal,
    includesQueryEcho: false,
  });
}

/**
 * Yields the bytes of a body as they arrive. If the consumer stops early, the connection stays open, so that the client gets the
 * response that says why.
 */
export function bodyChunks(body: Readable): AsyncIterable<Buffer> {
  return { [Symbol.asyncIterator]: () => body.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer> };
}

/** Like {@link bodyChunks}, but returns `null` if the body is empty or has only white space. */
export async function bodyChunksOrNull(body: Readable): Promise<AsyncIterable<Buffer> | null> {
  const iterator = bodyChunks(body)[Symbol.asyncIterator]();
  for (let next = await iterator.next(); next.done !== true; next = await iterator.next()) {
    const first = next.value;
    if (!/[^\s]/.test(first.toString('latin1'))) continue;
    return (async function* () {
      yield first;
      for (let result = await iterator.next(); result.done !== true; result = await iterator.next()) yield result.value;
    })();
  }
  return null;
}
