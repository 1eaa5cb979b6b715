import { BadParameterError, InvalidError } from '../../../errors.js';
import { anyText, listOf } from '../../../http/schemas.js';
import { scopes } from '../../../http/scopes.js';
import { defineRoute } from '../context.js';
import type { Caller } from '../../../host.js';
import type { AnnotationContext } from '../context.js';
import { boolean, withDefault } from '../../../http/parameters.js';
import { annotationPath } from '../parameters.js';
import { annotationSchema } from '../schemas.js';
import { replyWithoutElements } from '../replies.js';
import { readPrecondition } from '../views.js';

type Attributes = Readonly<Record<string, unknown>>;

const errors = [
  'bad-parameter',
  'invalid',
  'unknown-id',
  'not-found',
  'access-denied',
  'conflict',
  'precondition-failed',
] as const;

/** @throws InvalidError for a key that these routes cannot set. */
function checkKey(key: string): void {
  if (key === '') throw new InvalidError('Key names must not be empty.');
  if (key.includes('.')) throw new InvalidError(`Invalid key ${key}: keys must not contain the "." character.`);
  if (key.startsWith('$')) throw new InvalidError(`Invalid key ${key}: keys must not start with the "$" character.`);
}

/** Checks the keys of a change. Keys that the annotation already has may be changed and removed, even if they break the rules. */
function checkKeys(keys: readonly string[], attributes: Attributes): void {
  for (const key of keys) if (!Object.hasOwn(attributes, key)) checkKey(key);
}

/** Write access to the annotation is enough; access to the item is not checked. */
function authorize({ params, caller }: { params: { id: string }; caller: Caller | null }, { annotations }: AnnotationContext) {
  return annotations.writer.load(params.id, 1, caller);
}

const set = defineRoute({
  method: 'put',
  path: '/annotation/:id/metadata',
  summary: 'Merge metadata into the attributes of an annotation; null removes a key.',
  access: 'user',
  scope: scopes.write,
  params: annotationPath,
  query: { allowNull: withDefault(boolean({ description: 'Whether null is stored like any other value.' }), false) },
  body: 'json-object',
  bodyName: 'metadata',
  returns: { schema: annotationSchema },
  errors,
  authorize,
  async handle({ params, query, authorized: current, body, caller, headers, signal }, { annotations }) {
    const request = { id: params.id, caller, signal, checkPrecondition: readPrecondition(headers), current };
    const annotation = await annotations.edits.changeAttributes(request, (attributes) => {
      checkKeys(Object.keys(body), attributes);
      const newAttributes = new Map(Object.entries(attributes));
      for (const [key, value] of Object.entries(body)) {
        if (value === null && !query.allowNull) newAttributes.delete(key);
        else newAttributes.set(key, value);
      }
      return Object.fromEntries(newAttributes);
    });
    return replyWithoutElements(annotations, { annotation, caller }, { annotation: { elements: [] } });
  },
});

const remove = defineRoute({
  method: 'delete',
  path: '/annotation/:id/metadata',
  summary: 'Remove keys from the attributes of an annotation.',
  description: 'The body is a JSON list of keys; keys that do not exist are ignored.',
  access: 'user',
  scope: scopes.write,
  params: annotationPath,
  body: 'json',
  bodyName: 'fields',
  accepts: listOf(anyText),
  returns: { schema: annotationSchema },
  errors,
  authorize,
  async handle({ params, authorized: current, body, caller, headers, signal }, { annotations }) {
    const keys = parseKeys(body);
    const removedKeys = new Set(keys);
    const request = { id: params.id, caller, signal, checkPrecondition: readPrecondition(headers), current };
    const annotation = await annotations.edits.changeAttributes(request, (attributes) => {
      checkKeys(keys, attributes);
      return Object.fromEntries(Object.entries(attributes).filter(([key]) => !removedKeys.has(key)));
    });
    return replyWithoutElements(annotations, { annotation, caller }, { annotation: { elements: [] } });
  },
});

function parseKeys(body: unknown): string[] {
  const bodyError = (detail: string) => new BadParameterError(`Invalid JSON object for parameter fields: ${detail}`);
  if (!Array.isArray(body)) throw bodyError('must be a list of keys.');
  return (body as unknown[]).map((key) => {
    if (typeof key !== 'string') throw bodyError('keys must be texts.');
    return key;
  });
}

/** Routes for attributes of annotations. */
export const annotationMetadataRoutes = [set, remove];
