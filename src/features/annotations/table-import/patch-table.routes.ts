import { LargeImageError } from '../../../errors.js';
import { oneOf, withDefault } from '../../../http/parameters.js';
import { Reply } from '../../../http/reply.js';
import { anyInteger, component, objectOf } from '../../../http/schemas.js';
import { scopes } from '../../../http/scopes.js';
import { loadToChange } from '../access/authorize.js';
import { defineRoute } from '../context.js';
import { annotationPath } from '../parameters.js';
import { annotationHeaders, annotationTag, readPrecondition } from '../views.js';
import { tableKindOf, tableTypes } from './table-imports.js';

/** Schema of the response to a table of values. */
const patchedSchema = component(
  'AnnotationTableChange',
  objectOf({
    changed: { ...anyInteger, description: 'Number of elements with new values.' },
    _version: anyInteger,
  }),
);

/** The route that sets values of elements. */
export const patchTable = defineRoute({
  method: 'patch',
  path: '/annotation/:id/table',
  summary: 'Set values of elements from a table with their ids: CSV, Parquet, or an Arrow stream.',
  description:
    'The table has a column `id` and the columns to change. The columns `group`, `label`, `fillColor`, `lineColor` and `lineWidth` set fields of the elements; others set values in `user`, named by a JSON pointer or a plain name. Shapes stay as they are, and so do elements without a row. Either all rows are stored in one new version, or none. With `If-Match` (an entity tag of any response about the annotation, or its `_version` in quotes) the change is only made to that version; otherwise 412.',
  access: 'user',
  scope: scopes.write,
  params: annotationPath,
  query: {
    empty: withDefault(
      oneOf(['keep', 'remove'], { description: 'Whether an empty cell keeps the value of the element, or removes it.' }),
      'keep',
    ),
  },
  body: 'stream',
  bodyTypes: tableTypes,
  returns: { schema: patchedSchema },
  errors: [
    'bad-parameter',
    'bad-value',
    'invalid',
    'unknown-id',
    'not-found',
    'access-denied',
    'forbidden',
    'conflict',
    'precondition-failed',
    'too-large',
    'unsupported-encoding',
    'busy',
    'storage-full',
  ],
  authorize: loadToChange,
  async handle({ params, query, authorized, body, caller, headers, signal }, { annotations }) {
    const checkPrecondition = readPrecondition(headers);
    checkPrecondition?.(authorized);
    const kind = tableKindOf(headers['content-type']);
    if (kind === null) {
      throw new LargeImageError(
        'unsupported-encoding',
        `Send a table with the Content-Type ${tableTypes.slice(0, -1).join(', ')} or ${tableTypes.at(-1)}.`,
      );
    }
    const request = { id: params.id, caller, signal, checkPrecondition };
    const table = { body, kind, removesEmpty: query.empty === 'remove' };
    const { annotation, changedCount } = await annotations.tableImports.patch(request, table);
    const level = await annotations.permissions.findShownLevel(annotation, caller);
    return Reply.json(
      { changed: changedCount, _version: annotation.version },
      { headers: annotationHeaders(annotationTag(annotation, level)) },
    );
  },
});
