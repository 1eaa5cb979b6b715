import type { Caller } from '../../../host.js';
import type { AnnotationRecord } from './annotation-record.js';
import type { AnnotationServices } from '../annotation-services.js';
import { answerConditional, entityTag } from '../../../http/conditional.js';
import { scopes } from '../../../http/scopes.js';
import { defineRoute } from '../context.js';
import { createAnnotations, creationRoute } from './creation.js';
import { Reply } from '../../../http/reply.js';
import { loadToAnnotate } from '../access/authorize.js';
import { idSet } from '../../../http/parameters.js';
import { itemPath, tableName } from '../parameters.js';
import { annotationListSchema, creationListSchema } from '../schemas.js';
import { skippedHeader } from '../replies.js';
import { allElements, recordChunks, withFirstChunk } from '../streams.js';
import { annotationHeaders, annotationTag, filteredView } from '../views.js';

/** Yields a JSON list of annotations with their elements. One page of elements is in memory at a time. */
async function* listChunks(
  { permissions, store, readQueue }: AnnotationServices,
  annotations: AsyncIterator<AnnotationRecord>,
  { caller, signal, onBegin }: { caller: Caller | null; signal: AbortSignal; onBegin: (annotation: AnnotationRecord) => void },
): AsyncGenerator<Buffer | string> {
  let separator = '[';
  for (let next = await annotations.next(); next.done !== true; next = await annotations.next()) {
    const annotation = next.value;
    onBegin(annotation);
    const view = filteredView(annotation, await permissions.findShownLevel(annotation, caller));
    const { id: annotationId, version, elements } = annotation;
    const readingQueue = { queue: readQueue, caller, isNeverRefused: separator !== '[' };
    const chunks = await recordChunks(view, { store, annotationId, version, elements, query: allElements, readingQueue, signal });
    yield separator;
    yield* chunks;
    separator = ',\n';
  }
  yield separator === '[' ? '[]' : ']';
}

const get = defineRoute({
  method: 'get',
  path: '/annotation/item/:id',
  summary: 'Get the annotations of an item that you can read, with their elements.',
  access: 'public',
  scope: scopes.read,
  cookie: true,
  params: itemPath,
  query: { ids: idSet({ description: 'Only these annotations: a JSON array of ids. Default: all.' }) },
  returns: { schema: annotationListSchema },
  errors: ['invalid', 'bad-parameter', 'unknown-id', 'access-denied', 'precondition-failed', 'busy'],
  authorize: ({ params, caller }, { items }) => items.load(params.id, 0, caller),
  async handle({ authorized: item, query, caller, headers, signal }, { annotations }) {
    const listAnnotations = () => annotations.lists.listInItem(item.id, caller, query.ids);
    const tag = await makeListTag(annotations, listAnnotations(), caller);
    const unchanged = answerConditional(headers, tag, annotationHeaders(tag));
    if (unchanged !== null) return unchanged;
    let lastBegun: AnnotationRecord | undefined;
    const onBegin = (annotation: AnnotationRecord) => (lastBegun = annotation);
    const chunks = listChunks(annotations, listAnnotations(), { caller, signal, onBegin });
    return Reply.stream(await withFirstChunk(chunks), 'application/json', {
      headers: annotationHeaders(tag),
      checkPermission: async () => lastBegun && annotations.writer.load(lastBegun.id, 0, caller, { deletedToo: true }),
    });
  },
});

/** Makes the entity tag of a list of annotations with their elements. */
async function makeListTag(
  { permissions }: AnnotationServices,
  annotations: AsyncIterable<AnnotationRecord>,
  caller: Caller | null,
) {
  const tags: string[] = [];
  for await (const annotation of annotations)
    tags.push(annotationTag(annotation, await permissions.findShownLevel(annotation, caller)));
  return entityTag(tags.join());
}

const create = defineRoute({
  ...creationRoute,
  path: '/annotation/item/:id',
  summary: 'Create one or many annotations on an item: either all or none.',
  description:
    'The body is an annotation document, a record with one in `annotation`, GeoJSON, or a list of these, each a separate annotation; or a table of shapes, as GeoParquet or an Arrow stream.',
  params: itemPath,
  query: { name: tableName },
  accepts: creationListSchema,
  returns: { schema: { type: 'integer', description: 'Number of new annotations.' } },
  authorize: ({ params, caller }, services) => loadToAnnotate(params.id, caller, services),
  async handle({ authorized: item, query, body, caller, headers, signal }, services) {
    const { name } = query;
    const { created, skippedCount } = await createAnnotations(
      'list',
      item,
      { body, headers, name },
      { caller, signal },
      services,
    );
    return Reply.json(created.length, { headers: skippedHeader(skippedCount) });
  },
});

const remove = defineRoute({
  method: 'delete',
  path: '/annotation/item/:id',
  summary: 'Delete all annotations of an item: either all or none.',
  access: 'user',
  scope: scopes.write,
  params: itemPath,
  returns: { schema: { type: 'integer', description: 'Number of deleted annotations.' } },
  errors: ['invalid', 'unknown-id', 'access-denied'],
  async handle({ params, caller }, { items, annotations }) {
    const item = await items.loadFresh(params.id, 1, caller);
    const { lists, permissions, bulkChanges } = annotations;
    // All rights are checked first, because a refusal in the middle would leave some annotations deleted.
    for await (const annotation of lists.listAll({ itemIds: [item.id] })) await permissions.requireLevel(annotation, 2, caller);
    return bulkChanges.remove({ itemId: item.id });
  },
});

/** Routes for the annotations of an item. */
export const annotationItemRoutes = [get, create, remove];
