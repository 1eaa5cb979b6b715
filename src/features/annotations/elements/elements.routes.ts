import { BadParameterError, InvalidError, NotFoundError } from '../../../errors.js';
import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import type { Caller } from '../../../host.js';
import type { AnnotationServices } from '../annotation-services.js';
import type { ElementEdit } from '../documents/edits.js';
import type { ChangeRequest } from '../documents/annotation-dependencies.js';
import { answerConditional } from '../../../http/conditional.js';
import { anyText, anyObject, component, listOf, objectOf } from '../../../http/schemas.js';
import { elementSchema } from '../schemas.js';
import { scopes } from '../../../http/scopes.js';
import { defineRoute } from '../context.js';
import { required, text } from '../../../http/parameters.js';
import { Reply } from '../../../http/reply.js';
import { loadToChange, loadToRead } from '../access/authorize.js';
import type { AnnotationRecord } from '../documents/annotation-record.js';
import { annotationPath, maxChangeBytes } from '../parameters.js';
import { annotationHeaders, annotationTag, readPrecondition } from '../views.js';

type Json = Record<string, unknown>;

const elementPath = {
  ...annotationPath,
  elementId: required({ ...text(), parse: (value: string) => parseElementId(value) }),
};

const elementIdPattern = /^[0-9a-f]{24}$/;

function parseElementId(value: string): string {
  const id = value.toLowerCase();
  if (!elementIdPattern.test(id)) throw new InvalidError(`Invalid ObjectId: ${value}`, 'id');
  return id;
}

const changeErrors = [
  'bad-parameter',
  'invalid',
  'unknown-id',
  'not-found',
  'access-denied',
  'forbidden',
  'conflict',
  'precondition-failed',
  'too-large',
  'busy',
] as const;

const writeDescription =
  'Only the packs of the affected elements are written, so the cost does not grow with the annotation. With `If-Match` (an entity tag of any response about the annotation, or its `_version` in quotes) the change is only made to that version; otherwise 412. Without it, the current version is changed even if somebody else has just written it, so that both changes are kept.';

const changeReportSchema = component('ElementChange', {
  type: 'object',
  required: ['ids', 'added', 'replaced', 'removed', '_version', '_elementCount', '_detailsCount'],
  properties: {
    ids: { type: 'array', items: { type: 'string' }, description: 'Ids of the elements sent, in their order.' },
    added: { type: 'integer' },
    replaced: { type: 'integer' },
    removed: { type: 'integer' },
    _version: { type: 'integer' },
    _elementCount: { type: 'integer' },
    _detailsCount: { type: 'integer' },
    groups: { type: 'array', items: { type: ['string', 'null'] } },
    updated: { type: 'string', format: 'date-time' },
  },
});

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function elementNotFound(id: string): NotFoundError {
  return new NotFoundError(`The annotation has no element ${id}.`);
}

async function changeElements(annotations: AnnotationServices, request: ChangeRequest, edit: ElementEdit): Promise<Reply> {
  const { annotation, changedElements } = await annotations.edits.changeElements(request, edit);
  const { ids, added, replaced, removed } = changedElements;
  const { version, elements, updated } = annotation;
  const { count, detailsCount, groups } = elements;
  const level = await annotations.permissions.findShownLevel(annotation, request.caller);
  const changeReport = { ids, added, replaced, removed, _version: version, _elementCount: count, _detailsCount: detailsCount };
  return Reply.json({ ...changeReport, groups, updated }, { headers: annotationHeaders(annotationTag(annotation, level)) });
}

function toChangeRequest({
  params,
  caller,
  headers,
  signal,
  authorized,
}: {
  params: { id: string };
  caller: Caller | null;
  headers: Parameters<typeof readPrecondition>[0];
  signal: AbortSignal;
  authorized: AnnotationRecord;
}): ChangeRequest {
  return { id: params.id, caller, signal, checkPrecondition: readPrecondition(headers), current: authorized };
}

function validIdsIn(elements: readonly unknown[]): string[] {
  return elements.flatMap((element) =>
    isObject(element) && typeof element.id === 'string' && elementIdPattern.test(element.id) ? [element.id] : [],
  );
}

const get = defineRoute({
  method: 'get',
  path: '/annotation/:id/elements/:elementId',
  forLinks: true,
  summary: 'Get one element of an annotation.',
  access: 'public',
  scope: scopes.read,
  cookie: true,
  params: elementPath,
  returns: { schema: elementSchema },
  errors: ['invalid', 'unknown-id', 'not-found', 'access-denied', 'precondition-failed'],
  authorize: loadToRead,
  async handle({ params, authorized: annotation, caller, headers, signal }, { annotations }) {
    const elementsById = await annotations.store.find(annotation.elements, [params.elementId], { signal });
    const element = elementsById.get(params.elementId);
    if (element === undefined) throw elementNotFound(params.elementId);
    const level = await annotations.permissions.findShownLevel(annotation, caller);
    const tag = annotationTag(annotation, level, { route: `elements/${params.elementId}` });
    return answerConditional(headers, tag, annotationHeaders(tag)) ?? Reply.json(element, { headers: annotationHeaders(tag) });
  },
});

const append = defineRoute({
  method: 'post',
  path: '/annotation/:id/elements',
  summary: 'Add elements to the end of an annotation.',
  description: `The body is an element or a list of elements. An id that already exists in the annotation is refused. ${writeDescription}`,
  access: 'user',
  scope: scopes.write,
  params: annotationPath,
  body: 'json',
  accepts: (brand) => ({ anyOf: [elementSchema(brand), listOf(elementSchema(brand))] }),
  maxBodyBytes: maxChangeBytes,
  returns: { schema: changeReportSchema },
  errors: changeErrors,
  authorize: loadToChange,
  handle(input, { annotations }) {
    const put: readonly unknown[] = Array.isArray(input.body) ? (input.body as unknown[]) : [input.body];
    const ids = validIdsIn(put);
    const changes: ElementEdit['changes'] = async (stored, editing) => {
      const existingElements = await editing.find(stored, ids, { signal: input.signal });
      for (const id of existingElements.keys()) throw new InvalidError(`Cannot add element ${id} as it already exists`);
      return { put };
    };
    return changeElements(annotations, toChangeRequest(input), { elementIds: ids, changes });
  },
});

const changeMany = defineRoute({
  method: 'patch',
  path: '/annotation/:id/elements',
  summary: 'Add, replace and remove many elements at once.',
  description: `The body is {put: [elements], remove: [ids]}. Elements with an existing id replace that element, others are added to the end; unknown ids in \`remove\` are ignored. ${writeDescription}`,
  access: 'user',
  scope: scopes.write,
  params: annotationPath,
  body: 'json-object',
  accepts: (brand) => objectOf({}, { put: listOf(elementSchema(brand)), remove: listOf(anyText) }),
  maxBodyBytes: maxChangeBytes,
  returns: { schema: changeReportSchema },
  errors: changeErrors,
  authorize: loadToChange,
  async handle(input, { annotations }) {
    return changeElements(annotations, toChangeRequest(input), await parseElementEdit(input.body, input.signal));
  },
});

async function parseElementEdit(body: Json, signal: AbortSignal): Promise<ElementEdit> {
  const unknownKey = Object.keys(body).find((key) => key !== 'put' && key !== 'remove');
  if (unknownKey !== undefined) {
    throw new BadParameterError(`Additional properties are not allowed (${JSON.stringify(unknownKey)}; allowed: put, remove)`);
  }
  const { put = [], remove = [] } = body;
  if (!Array.isArray(put)) throw new BadParameterError('put must be a list of elements.');
  if (!Array.isArray(remove)) throw new BadParameterError('remove must be a list of element ids.');
  const idsToRemove: string[] = [];
  for (const id of remove as unknown[]) {
    if (typeof id !== 'string') throw new BadParameterError('remove must be a list of element ids.');
    idsToRemove.push(parseElementId(id));
    if (isSliceOver()) await nextSlice(signal);
  }
  return { elementIds: [...validIdsIn(put), ...idsToRemove], changes: { put: put as unknown[], remove: idsToRemove } };
}

const replace = defineRoute({
  method: 'put',
  path: '/annotation/:id/elements/:elementId',
  summary: 'Replace one element, or add it to the end if its id does not exist.',
  description: `The body is the element; its id is that of the path. ${writeDescription}`,
  access: 'user',
  scope: scopes.write,
  params: elementPath,
  body: 'json-object',
  accepts: elementSchema,
  maxBodyBytes: maxChangeBytes,
  returns: { schema: changeReportSchema },
  errors: changeErrors,
  authorize: loadToChange,
  handle(input, { annotations }) {
    const id = input.params.elementId;
    return changeElements(annotations, toChangeRequest(input), { elementIds: [id], changes: { put: [{ ...input.body, id }] } });
  },
});

const merge = defineRoute({
  method: 'patch',
  path: '/annotation/:id/elements/:elementId',
  summary: 'Change fields of an element (JSON Merge Patch).',
  description: `Members of the body replace those of the element, objects member by member; \`null\` removes one (RFC 7396). ${writeDescription}`,
  access: 'user',
  scope: scopes.write,
  params: elementPath,
  body: 'json-object',
  accepts: anyObject,
  maxBodyBytes: maxChangeBytes,
  returns: { schema: changeReportSchema },
  errors: changeErrors,
  authorize: loadToChange,
  handle(input, { annotations }) {
    const { elementId } = input.params;
    const changes: ElementEdit['changes'] = async (stored, editing) => {
      const element = (await editing.find(stored, [elementId], { signal: input.signal })).get(elementId);
      if (element === undefined) throw elementNotFound(elementId);
      const mergedElement = (await applyMergePatch(element, input.body, input.signal)) as Json;
      return { put: [{ ...mergedElement, id: elementId }] };
    };
    return changeElements(annotations, toChangeRequest(input), { elementIds: [elementId], changes });
  },
});

/** Maximum depth of objects in a merge patch. No valid element is nested this deeply. */
const maxPatchDepth = 100;

/**
 * Applies a merge patch (RFC 7396). `Object.fromEntries` keeps even a key `__proto__`, which an assignment would lose, so that the
 * validator refuses this key.
 */
async function applyMergePatch(target: unknown, patch: unknown, signal: AbortSignal, depth = 0): Promise<unknown> {
  if (!isObject(patch)) return patch;
  if (depth > maxPatchDepth) throw new InvalidError(`The patch is nested deeper than ${maxPatchDepth} levels.`);
  const members = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) members.delete(key);
    else members.set(key, isObject(value) ? await applyMergePatch(members.get(key), value, signal, depth + 1) : value);
    if (isSliceOver()) await nextSlice(signal);
  }
  return Object.fromEntries(members);
}

const remove = defineRoute({
  method: 'delete',
  path: '/annotation/:id/elements/:elementId',
  summary: 'Remove one element.',
  description: writeDescription,
  access: 'user',
  scope: scopes.write,
  params: elementPath,
  returns: { schema: changeReportSchema },
  errors: changeErrors,
  authorize: loadToChange,
  handle(input, { annotations }) {
    const { elementId } = input.params;
    const changes: ElementEdit['changes'] = async (stored, editing) => {
      const elementsById = await editing.find(stored, [elementId], { signal: input.signal });
      if (!elementsById.has(elementId)) throw elementNotFound(elementId);
      return { remove: [elementId] };
    };
    return changeElements(annotations, toChangeRequest(input), { elementIds: [elementId], changes });
  },
});

/** Routes for single elements. */
export const annotationElementRoutes = [get, append, changeMany, replace, merge, remove];
