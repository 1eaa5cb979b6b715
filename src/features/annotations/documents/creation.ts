import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { ItemRecord } from '../../../core/host/records.js';
import type { Caller } from '../../../host.js';
import { scopes } from '../../../http/scopes.js';
import { loadToAnnotate } from '../access/authorize.js';
import type { AnnotationContext } from '../context.js';
import { bodyChunks, skippedHeaderDescription } from '../replies.js';
import { shapeTableKindOf, shapeTableTypes } from '../table-import/table-imports.js';
import type { AnnotationRecord } from './annotation-record.js';

/** The properties that all routes for creating annotations share. */
export const creationRoute = {
  method: 'post',
  access: 'user',
  scope: scopes.write,
  body: 'stream',
  bodyTypes: shapeTableTypes,
  headers: skippedHeaderDescription,
  errors: [
    'bad-parameter',
    'bad-value',
    'invalid',
    'unknown-id',
    'access-denied',
    'forbidden',
    'too-large',
    'busy',
    'storage-full',
  ],
} as const;

/**
 * Creates the annotations in a body. A table of shapes, recognized by its `Content-Type`, becomes one annotation. Otherwise, `form` says
 * what the body may contain.
 */
export async function createAnnotations(
  form: 'created' | 'list',
  item: ItemRecord,
  { body, headers, name }: { body: Readable; headers: IncomingHttpHeaders; name: string | undefined },
  { caller, signal }: { caller: Caller | null; signal: AbortSignal },
  services: Pick<AnnotationContext, 'items' | 'annotations'>,
): Promise<{ created: readonly AnnotationRecord[]; skippedCount: number }> {
  const { lifecycle, tableImports } = services.annotations;
  const tableKind = shapeTableKindOf(headers['content-type']);
  if (tableKind === null) return lifecycle.create(item, bodyChunks(body), form, { caller, signal });
  const admit = () => loadToAnnotate(item.id, caller, services);
  return tableImports.create({ body, kind: tableKind, name }, { admit, caller, signal });
}
