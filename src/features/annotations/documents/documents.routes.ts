import type { OverlaySize } from '../../../annotation-format/bounding-box.js';
import { parseElementQuery } from '../../../annotation-format/element-query.js';
import { schemaFor } from '../../../annotation-format/schema/document.js';
import { NotFoundError, UnknownIdError } from '../../../errors.js';
import { answerConditional } from '../../../http/conditional.js';
import { anyObject, anything, listOf, objectOf, anyText } from '../../../http/schemas.js';
import { scopes } from '../../../http/scopes.js';
import { defineRoute } from '../context.js';
import { createAnnotations, creationRoute } from './creation.js';
import { loadToAnnotate, loadToChange, loadToRead } from '../access/authorize.js';
import { boolean, id, integer, number, oneOf, required, text } from '../../../http/parameters.js';
import { Reply } from '../../../http/reply.js';
import { annotationPath, maxChangeBytes, requireTargetItem, tableName, targetItem } from '../parameters.js';
import { annotationSchema, creationSchema, documentSchema, featureCollectionSchema } from '../schemas.js';
import { bodyChunksOrNull, replyEmpty, replyWithElements, replyWithoutElements, skippedHeader } from '../replies.js';
import { centroidChunks, enqueueInParts, recordChunks } from '../streams.js';
import { annotationHeaders, annotationTag, filteredView, readPrecondition } from '../views.js';

const changeErrors = [
  'bad-parameter',
  'invalid',
  'unknown-id',
  'not-found',
  'access-denied',
  'forbidden',
  'login-required',
  'conflict',
  'precondition-failed',
  'too-large',
  'busy',
] as const;

const ifMatchDescription =
  'With `If-Match` (an entity tag of any response about the annotation, or its `_version` in quotes) the change is only made to that version; otherwise 412.';

const schema = defineRoute({
  method: 'get',
  path: '/annotation/schema',
  summary: 'Get the JSON schema that validates annotation documents.',
  access: 'public',
  scope: scopes.read,
  returns: { schema: anyObject },
  handle: (_input, { annotations }) => schemaFor(annotations.brand),
});

const create = defineRoute({
  ...creationRoute,
  path: '/annotation',
  summary: 'Create an annotation on an item.',
  description:
    'The body is an annotation document (see GET /annotation/schema) or GeoJSON, read and stored while it arrives, or a table of shapes as GeoParquet or an Arrow stream, by its Content-Type. Needs write access to the item, or the flag `large_image_create_annotations` on its folder.',
  query: { itemId: targetItem, name: tableName },
  accepts: creationSchema,
  returns: { schema: annotationSchema },
  authorize: ({ query, caller }, services) => loadToAnnotate(requireTargetItem(query.itemId), caller, services),
  async handle({ authorized: item, query, body, caller, headers, signal }, services) {
    const { name } = query;
    const result = await createAnnotations('created', item, { body, headers, name }, { caller, signal }, services);
    const context = { annotation: result.created[0]!, caller, signal };
    return replyWithElements(services.annotations, context, skippedHeader(result.skippedCount));
  },
});

/** Parameters that select and order elements, as the API description shows them. */
const elementParameters = {
  left: number({ description: 'Only elements whose box extends to this x or beyond. No effect at 0 or below.' }),
  right: number({ description: 'Only elements whose box begins before this x.' }),
  top: number({ description: 'Only elements whose box extends to this y or beyond. No effect at 0 or below.' }),
  bottom: number({ description: 'Only elements whose box begins before this y.' }),
  low: number({ description: 'Only elements whose box extends to this z or beyond. No effect at 0 or below.' }),
  high: number({ description: 'Only elements whose box begins before this z.' }),
  minimumSize: number({ description: 'Only elements whose box has at least this diagonal.' }),
  limit: integer({ description: 'Maximum number of elements; 0 for all.' }),
  offset: integer({ description: 'Number of elements to skip.' }),
  sort: text({ description: 'Order: `size`, `details`, a region parameter, or a field such as `_id`. Default `_id`.' }),
  sortdir: integer({ description: '1 ascending, -1 descending.' }),
  maxDetails: integer({ description: 'Stop after the element at which the sum of details reaches this number.' }),
  minElements: integer({ description: 'With maxDetails: return at least this many elements.' }),
  centroids: boolean({ description: 'Return only the centers, in binary form: 28 bytes per element.' }),
  bbox: boolean({ description: 'Return each element with its bounding box in `_bbox`.' }),
  orders: boolean({
    description:
      'Return `_elementQuery.orders`: for each element a number that increases in the order of all elements of this version, so that the elements of several requests can be drawn in order. With a limit of at most 100,000 and the default `sort` only.',
  }),
};

/**
 * The element parameters as texts, because `parseElementQuery` parses and checks them. They keep their schemas for the description of the
 * API.
 */
const elementTextParameters = Object.fromEntries(
  Object.entries(elementParameters).map(([name, { schema: described }]) => [name, { ...text(), schema: described }]),
);

const get = defineRoute({
  method: 'get',
  path: '/annotation/:id',
  forLinks: true,
  summary: 'Get an annotation with its elements, or those in a region, or only their centers.',
  access: 'public',
  scope: scopes.read,
  cookie: true,
  params: annotationPath,
  query: elementTextParameters,
  returns: { schema: annotationSchema },
  errors: ['invalid', 'bad-parameter', 'access-denied', 'not-found', 'precondition-failed', 'busy'],
  authorize: ({ params, caller }, { annotations }) =>
    annotations.writer.load(params.id, 0, caller).catch((error: unknown) => {
      throw error instanceof UnknownIdError ? new NotFoundError('Annotation not found') : error;
    }),
  async handle({ authorized: annotation, sent: sentParameters, caller, headers, signal }, { annotations }) {
    const { permissions, store, readQueue } = annotations;
    const query = parseElementQuery(sentParameters);
    const level = await permissions.findShownLevel(annotation, caller);
    const tag = annotationTag(annotation, level, { sentParameters });
    const replyHeaders = annotationHeaders(tag);
    const unchanged = answerConditional(headers, tag, replyHeaders);
    if (unchanged !== null) return unchanged;
    const { version, elements } = annotation;
    const view = filteredView(annotation, level);
    const readingQueue = { queue: readQueue, caller };
    const elementsToSend = { store, annotationId: annotation.id, version, elements, query, readingQueue, signal };
    const chunks = await (query.asCentroids ? centroidChunks(view, elementsToSend) : recordChunks(view, elementsToSend));
    const type = query.asCentroids ? 'application/octet-stream' : 'application/json';
    return Reply.stream(chunks, type, { headers: replyHeaders });
  },
});

const format = defineRoute({
  method: 'get',
  path: '/annotation/:id/:format',
  summary: 'Get an annotation as GeoJSON, or as GeoJSON for QuPath.',
  access: 'public',
  scope: scopes.read,
  cookie: true,
  params: {
    ...annotationPath,
    format: required(oneOf(['geojson', 'qupath'], { elsewhere: ['table.csv', 'table.arrow', 'table.parquet'] })),
  },
  returns: { schema: featureCollectionSchema },
  errors: ['invalid', 'bad-parameter', 'access-denied', 'not-found', 'unknown-id', 'precondition-failed', 'busy'],
  authorize: loadToRead,
  async handle({ params, authorized: annotation, sent: sentParameters, caller, headers, signal }, { annotations }) {
    const { permissions, geoJson, readQueue, overlayImages } = annotations;
    const level = await permissions.findShownLevel(annotation, caller);
    // The tag depends on the files of the images that elements show, because such a file can be replaced by an image of a different size.
    const readableImages = await overlayImages.readableFileIds(annotation.elements.references, caller);
    const tag = annotationTag(annotation, level, { route: JSON.stringify([params.format, ...readableImages]), sentParameters });
    const replyHeaders = annotationHeaders(tag);
    const unchanged = answerConditional(headers, tag, replyHeaders);
    if (unchanged !== null) return unchanged;
    const writeGeoJson = async () => {
      const sizes: [string, OverlaySize | null][] = [];
      for (const itemId of readableImages.keys()) sizes.push([itemId, await overlayImages.findSize(itemId)]);
      return geoJson.write(annotation, params.format, sizes, signal);
    };
    const chunks = await enqueueInParts(writeGeoJson, { queue: readQueue, caller }, signal);
    return Reply.stream(chunks, 'application/json', { headers: replyHeaders });
  },
});

const replace = defineRoute({
  method: 'put',
  path: '/annotation/:id',
  summary: 'Replace an annotation, move it to another item, or store it again unchanged.',
  description: `The body is an annotation document; without \`elements\`, the stored elements stay. ${ifMatchDescription} A change by somebody else while the body is sent is a conflict (409).`,
  access: 'user',
  scope: scopes.write,
  params: annotationPath,
  query: { itemId: id({ description: 'Item to which to move the annotation.' }) },
  body: 'stream',
  bodyOptional: true,
  accepts: documentSchema,
  returns: { schema: annotationSchema },
  errors: changeErrors,
  authorize: loadToChange,
  async handle({ params, query, authorized: current, body, caller, headers, signal }, { items, annotations }) {
    const checkPrecondition = readPrecondition(headers);
    checkPrecondition?.(current);
    const request = { id: params.id, caller, signal, checkPrecondition, current };
    const item = query.itemId === undefined ? null : await items.loadFresh(query.itemId, 0, caller);
    const chunks = await bodyChunksOrNull(body);
    const { annotation, repliesWithElements } = await annotations.lifecycle.replace(request, { body: chunks, item });
    return repliesWithElements
      ? replyWithElements(annotations, { annotation, caller, signal })
      : replyWithoutElements(annotations, { annotation, caller });
  },
});

const patch = defineRoute({
  method: 'patch',
  path: '/annotation/:id',
  summary: 'Change parts of an annotation by a list of operations {op, path, value}.',
  description: `Paths: a field, or \`elements/id:<id>\` and below. Either all operations are applied or none. ${ifMatchDescription} Without it, the current version is patched even if somebody else has just written it. Only the packs of the affected elements are written.`,
  access: 'user',
  scope: scopes.write,
  params: annotationPath,
  body: 'json',
  accepts: listOf(objectOf({ op: anyText, path: anyText }, { value: anything, from: anyText })),
  maxBodyBytes: maxChangeBytes,
  returns: { schema: { type: 'null' } },
  errors: changeErrors,
  authorize: loadToChange,
  async handle({ params, authorized: current, body, caller, headers, signal }, { annotations }) {
    const request = { id: params.id, caller, signal, checkPrecondition: readPrecondition(headers), current };
    const annotation = await annotations.edits.patch(request, body);
    return replyEmpty(annotations, { annotation, caller });
  },
});

const remove = defineRoute({
  method: 'delete',
  path: '/annotation/:id',
  summary: 'Delete an annotation. If versions are kept, reverting restores it.',
  description: ifMatchDescription,
  access: 'user',
  scope: scopes.write,
  params: annotationPath,
  returns: { schema: { type: 'null' } },
  errors: changeErrors,
  async handle({ params, caller, headers }, { annotations }) {
    await annotations.lifecycle.remove({ id: params.id, caller, checkPrecondition: readPrecondition(headers) });
    return null;
  },
});

const copy = defineRoute({
  method: 'post',
  path: '/annotation/:id/copy',
  summary: 'Copy an annotation to an item.',
  access: 'user',
  scope: scopes.write,
  params: annotationPath,
  query: { itemId: targetItem },
  returns: { schema: annotationSchema },
  errors: ['bad-parameter', 'invalid', 'unknown-id', 'not-found', 'access-denied', 'forbidden'],
  async authorize({ params, query, caller }, services) {
    const source = await services.annotations.writer.load(params.id, 0, caller);
    const sourceItemExists = (await services.records.findItem(source.itemId)) !== null;
    if (sourceItemExists) await services.items.loadFresh(source.itemId, 0, caller);
    return loadToAnnotate(requireTargetItem(query.itemId), caller, services);
  },
  async handle({ params, authorized: item, caller, signal }, { annotations }) {
    const annotation = await annotations.lifecycle.copy(params.id, item, caller);
    return replyWithElements(annotations, { annotation, caller, signal });
  },
});

/** Routes for whole annotations. */
export const annotationDocumentRoutes = [schema, create, get, format, replace, patch, remove, copy];
