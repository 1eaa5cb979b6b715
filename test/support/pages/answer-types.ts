import openapiTS, { astToString } from 'openapi-typescript';

type Operation = { responses: Record<string, { content?: Record<string, { schema?: object }> }> };

interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, object> };
}

const heading = `// Made by test/rest/host/api-description.test.ts from the description of the API. To renew it: npx vitest run test/rest/host/api-description.test.ts -u
`;

/** The routes that the page requests. */
const viewerRoutes: ReadonlySet<string> = new Set([
  'GET annotation',
  'POST annotation',
  'GET annotation/folder/{id}',
  'PUT annotation/folder/{id}/access',
  'GET annotation/folder/{id}/create',
  'GET annotation/item/{id}',
  'POST annotation/item/{id}',
  'GET annotation/deleted',
  'GET annotation/{id}',
  'PATCH annotation/{id}',
  'DELETE annotation/{id}',
  'GET annotation/{id}/access',
  'PUT annotation/{id}/access',
  'PATCH annotation/{id}/elements',
  'GET annotation/{id}/elements/{elementId}',
  'GET annotation/{id}/history',
  'PUT annotation/{id}/history/revert',
  'GET annotation/{id}/table',
  'GET annotation/{id}/table/histogram',
  'POST annotation/{id}/table/ids',
  'GET annotation/{id}/table/rows',
  'GET annotation/{id}/table/summary',
  'GET annotation/{id}/tiles',
  'GET assetstore',
  'GET collection',
  'POST collection',
  'PUT collection/{id}',
  'GET collection/{id}',
  'GET collection/{id}/access',
  'PUT collection/{id}/access',
  'PUT collection/{id}/metadata',
  'POST file',
  'POST file/chunk',
  'POST file/completion',
  'GET comment/inbox',
  'PUT comment/inbox',
  'GET comment/inbox/count',
  'GET comment/{id}',
  'PUT comment/{id}',
  'DELETE comment/{id}',
  'GET comment/{id}/reply',
  'POST comment/{id}/reply',
  'PUT comment/{id}/state',
  'GET file/offset',
  'DELETE file/upload/{id}',
  'GET folder',
  'POST folder',
  'PUT folder/{id}',
  'GET folder/{id}',
  'GET folder/{id}/access',
  'PUT folder/{id}/access',
  'PUT folder/{id}/metadata',
  'GET folder/{id}/rootpath',
  'GET group',
  'POST group',
  'GET group/{id}',
  'PUT group/{id}',
  'DELETE group/{id}',
  'GET group/{id}/access',
  'GET group/{id}/invitation',
  'POST group/{id}/invitation',
  'GET group/{id}/member',
  'POST group/{id}/member',
  'DELETE group/{id}/member',
  'GET item',
  'PUT item/{id}',
  'GET item/{id}',
  'DELETE item/{id}',
  'GET item/{id}/adjacent_images',
  'GET item/{id}/files',
  'PUT item/{id}/metadata',
  'GET item/{id}/rootpath',
  'GET item/{itemId}/comment',
  'POST item/{itemId}/comment',
  'GET item/{itemId}/comment/places',
  'GET item/{itemId}/link',
  'POST item/{itemId}/link',
  'GET item/{itemId}/tiles',
  'POST item/{itemId}/tiles',
  'GET item/{itemId}/tiles/histogram',
  'GET item/{itemId}/tiles/images',
  'GET item/{itemId}/tiles/internal_metadata',
  'GET item/{itemId}/tiles/item',
  'GET item/{itemId}/tiles/pixel',
  'GET job/all',
  'PUT job/{id}/cancel',
  'GET large_image/associated_images',
  'DELETE large_image/associated_images',
  'GET large_image/cache',
  'PUT large_image/cache/clear',
  'GET large_image/config',
  'POST large_image/config/format',
  'POST large_image/config/replace',
  'POST large_image/config/validate',
  'PUT large_image/folder/{folderId}/tiles',
  'GET large_image/histograms',
  'DELETE large_image/histograms',
  'GET large_image/settings',
  'GET large_image/thumbnails',
  'PUT large_image/thumbnails',
  'DELETE large_image/thumbnails',
  'DELETE large_image/tiles/incomplete',
  'GET large_image/tiles/refused',
  'GET folder/{folderId}/link',
  'GET link/view',
  'DELETE link/{linkId}',
  'POST resource/paths',
  'GET resource/search',
  'GET resource/extent',
  'GET resource/shared',
  'PUT resource/state',
  'POST resource/trash',
  'POST resource/restore',
  'GET trash',
  'DELETE trash',
  'GET system/check',
  'GET system/public_settings',
  'POST system/rescan',
  'GET system/setting',
  'PUT system/setting',
  'DELETE system/setting',
  'GET system/setting/definitions',
  'GET system/uploads',
  'GET system/version',
  'GET user',
  'POST user',
  'GET user/authentication',
  'DELETE user/authentication',
  'POST user/authentication/link',
  'GET user/me',
  'PUT user/password',
  'PUT user/{id}',
  'GET user/{id}',
  'DELETE user/{id}',
  'PUT user/{id}/password',
]);

/** A copy without descriptions and without unnamed members, because the page needs only the types. */
function namedOnly(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(namedOnly);
  if (typeof value !== 'object' || value === null) return value;
  const isOpen = 'properties' in value && 'additionalProperties' in value && value.additionalProperties === true;
  const isLeftOut = (key: string, member: unknown) =>
    (key === 'description' && typeof member === 'string') || (key === 'additionalProperties' && isOpen);
  const entries = Object.entries(value).filter(([key, member]) => !isLeftOut(key, member));
  return Object.fromEntries(entries.map(([key, member]) => [key, namedOnly(member)]));
}

/** The named schemas to which a value refers, in the order of the description. */
function referenced(value: unknown, schemas: Record<string, object>): Record<string, object> {
  const names = new Set<string>();
  const visit = (part: unknown): void => {
    for (const [, name] of JSON.stringify(part).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (names.has(name!)) continue;
      names.add(name!);
      visit(schemas[name!]);
    }
  };
  visit(value);
  return Object.fromEntries(Object.entries(schemas).filter(([name]) => names.has(name)));
}

/** TypeScript with the types of the JSON answers that the page reads, by method and path. */
export async function answerTypes({ paths, components }: Description): Promise<string> {
  const answers: Record<string, object> = {};
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { responses }] of Object.entries(operations)) {
      const [, good] = Object.entries(responses).find(([status]) => status.startsWith('2')) ?? [];
      const schema = good?.content?.['application/json']?.schema;
      const route = `${method.toUpperCase()} ${path.slice(1)}`;
      if (schema && viewerRoutes.has(route)) answers[route] = schema;
    }
  }
  const missing = [...viewerRoutes].filter((route) => !Object.hasOwn(answers, route));
  if (missing.length > 0) throw new Error(`The server does not describe the responses of: ${missing.join(', ')}.`);
  const schemas = {
    ...referenced(answers, components.schemas),
    Answers: { type: 'object', properties: answers, required: Object.keys(answers) },
  };
  const document = { openapi: '3.1.0', info: { title: 'answers', version: '1' }, paths: {}, components: { schemas } };
  const code = astToString(await openapiTS(namedOnly(document) as never));
  const [declared] = /^export interface components \{$[^]*?^\}$/m.exec(code) ?? [];
  return `${heading}${declared}\n`;
}
