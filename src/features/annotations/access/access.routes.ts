import { accessSchema } from '../../../http/schemas.js';
import { scopes } from '../../../http/scopes.js';
import { defineRoute } from '../context.js';
import { boolean, json, required } from '../../../http/parameters.js';
import { annotationPath } from '../parameters.js';
import { annotationSchema } from '../schemas.js';
import { replyWithoutElements } from '../replies.js';

/** Parameters of the routes that replace an access list. */
export const accessQuery = {
  access: required(json({ kind: 'object', description: 'The complete new list: {users: [{id, level, flags}], groups: […]}.' })),
  public: boolean({ description: 'Whether everybody can read. Unchanged if absent.' }),
  publicFlags: json({ kind: 'array', description: 'Flags that everybody has. Unchanged if absent.' }),
};

const get = defineRoute({
  method: 'get',
  path: '/annotation/:id/access',
  summary: 'Get the permissions on an annotation.',
  access: 'user',
  scope: scopes.own,
  params: annotationPath,
  returns: { schema: accessSchema },
  errors: ['invalid', 'unknown-id', 'not-found', 'access-denied'],
  async handle({ params, caller }, { annotations }) {
    const annotation = await annotations.writer.load(params.id, 2, caller);
    return annotations.permissions.describeAccess(annotation);
  },
});

const set = defineRoute({
  method: 'put',
  path: '/annotation/:id/access',
  summary: 'Set the permissions on an annotation.',
  access: 'user',
  scope: scopes.own,
  params: annotationPath,
  query: accessQuery,
  returns: { schema: annotationSchema },
  errors: ['invalid', 'bad-parameter', 'unknown-id', 'not-found', 'access-denied'],
  async handle({ params, query, caller }, { annotations }) {
    const current = await annotations.writer.load(params.id, 2, caller);
    const change = await annotations.permissions.readChange(query, caller, current.access);
    const annotation = await annotations.lifecycle.setAccess(params.id, change);
    return replyWithoutElements(annotations, { annotation, caller }, { record: { access: annotation.access } });
  },
});

/** Routes that get and set the permissions on an annotation. */
export const annotationAccessRoutes = [get, set];
