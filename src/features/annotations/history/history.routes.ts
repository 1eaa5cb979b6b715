import { BadParameterError, UnknownIdError } from '../../../errors.js';
import type { Caller } from '../../../host.js';
import type { AnnotationRecord } from '../documents/annotation-record.js';
import type { AnnotationVersion } from './history.js';
import type { AnnotationServices } from '../annotation-services.js';
import { answerConditional } from '../../../http/conditional.js';
import { scopes } from '../../../http/scopes.js';
import { defineRoute } from '../context.js';
import { integer, required } from '../../../http/parameters.js';
import { Reply } from '../../../http/reply.js';
import { annotationPaging, annotationPath, parsePaging } from '../parameters.js';
import { annotationListSchema, annotationSchema } from '../schemas.js';
import { allElements, recordChunks } from '../streams.js';
import { replyList } from '../replies.js';
import {
  annotationHeaders,
  annotationTag,
  readPrecondition,
  privateHeaders,
  storedView,
  versionView,
  jsonWithoutElements,
} from '../views.js';

/** Finds an annotation, even a deleted one. Returns `null` if it does not exist or the caller may not read it. */
async function findReadableAnnotation({ permissions, writer }: AnnotationServices, id: string, caller: Caller | null) {
  let annotation: AnnotationRecord;
  try {
    annotation = await writer.load(id, -1, caller, { deletedToo: true });
  } catch (error) {
    if (error instanceof UnknownIdError) return null;
    throw error;
  }
  return (await permissions.findLevel(annotation, caller)) >= 0 ? annotation : null;
}

const list = defineRoute({
  method: 'get',
  path: '/annotation/:id/history',
  summary: 'List the versions of an annotation, without elements.',
  access: 'public',
  scope: scopes.read,
  cookie: true,
  params: annotationPath,
  query: annotationPaging('_version', -1, 0),
  returns: { schema: annotationListSchema },
  errors: ['invalid', 'bad-parameter', 'precondition-failed'],
  async handle({ params, query, sent: sentParameters, caller, headers }, { annotations }) {
    const { limit, offset, sort } = parsePaging(query);
    const annotation = await findReadableAnnotation(annotations, params.id, caller);
    if (annotation === null) return Reply.json([], { headers: privateHeaders });
    const level = await annotations.permissions.findShownLevel(annotation, caller);
    const tag = annotationTag(annotation, level, {
      route: `history/${await annotations.history.fingerprintOf(annotation)}`,
      sentParameters,
    });
    const unchanged = answerConditional(headers, tag, annotationHeaders(tag));
    if (unchanged !== null) return unchanged;
    const [[field, direction] = ['_version', -1] as const] = sort;
    const order = { field, direction, limit, offset };
    const show = (version: AnnotationVersion) => jsonWithoutElements(versionView(version, annotation));
    return replyList(annotations.history.listVersions(annotation, order), show, annotationHeaders(tag));
  },
});

const get = defineRoute({
  method: 'get',
  path: '/annotation/:id/history/:version',
  summary: 'Get a version of an annotation with its elements.',
  access: 'public',
  scope: scopes.read,
  cookie: true,
  params: { ...annotationPath, version: required(integer({ description: 'The `_version`.' })) },
  returns: { schema: annotationSchema },
  errors: ['invalid', 'bad-parameter', 'access-denied'],
  authorize: ({ params, caller }, { annotations }) => loadReadableAnnotation(annotations, params.id, caller),
  async handle({ params, authorized: annotation, caller, signal }, { annotations }) {
    const version = await annotations.history.findVersion(annotation, params.version);
    const { elements } = version;
    const chunks = await recordChunks(versionView(version, annotation), {
      store: annotations.store,
      annotationId: annotation.id,
      version: version.version,
      elements,
      query: allElements,
      readingQueue: { queue: annotations.readQueue, caller },
      signal,
      trailer: { _versionId: version.id },
    });
    return Reply.stream(chunks, 'application/json', { headers: privateHeaders });
  },
});

/**
 * Loads an annotation, even a deleted one.
 *
 * @throws BadParameterError if the annotation does not exist. Clients get the same error if only the version does not exist.
 * AccessDeniedError if the caller may not read the annotation.
 */
async function loadReadableAnnotation(
  { writer }: AnnotationServices,
  id: string,
  caller: Caller | null,
): Promise<AnnotationRecord> {
  try {
    return await writer.load(id, 0, caller, { deletedToo: true });
  } catch (error) {
    if (error instanceof UnknownIdError) throw new BadParameterError('Annotation history version not found.', { cause: error });
    throw error;
  }
}

const revert = defineRoute({
  method: 'put',
  path: '/annotation/:id/history/revert',
  summary: 'Make a previous version current again. This also restores a deleted annotation.',
  description: 'Only the document is restored; item and permissions stay unchanged.',
  access: 'public',
  scope: scopes.write,
  params: annotationPath,
  query: {
    version: integer({
      description: 'Default: the version before the current one, or the last version of a deleted annotation.',
    }),
  },
  returns: { schema: annotationSchema },
  errors: ['invalid', 'bad-parameter', 'access-denied', 'forbidden', 'conflict', 'precondition-failed'],
  async handle({ params, query, caller, headers, signal }, { annotations }) {
    await loadReadableAnnotation(annotations, params.id, caller);
    const request = { id: params.id, caller, signal, checkPrecondition: readPrecondition(headers) };
    const annotation = await annotations.history.revert(request, query.version);
    return Reply.json(jsonWithoutElements(storedView(annotation, { access: false })), { headers: privateHeaders });
  },
});

/** Routes for the versions of an annotation. */
export const annotationHistoryRoutes = [list, get, revert];
