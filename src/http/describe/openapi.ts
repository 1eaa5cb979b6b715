import { STATUS_CODES } from 'node:http';
import { errorReplies } from '../../errors.js';
import type { Parameter, Parameters } from '../parameters.js';
import type { RouteDefinition } from '../route.js';

/** Where the described API is and what it is called. */
export interface ApiInfo {
  title: string;
  version: string;
  /** Path of the API: `/api/v1`. */
  basePath: string;
  /** Host and port, as the client reached it. */
  host: string;
  scheme: 'http' | 'https';
}

type Json = Record<string, unknown>;

const errorSchema = {
  type: 'object',
  required: ['message', 'type'],
  properties: {
    message: { type: 'string' },
    type: { type: 'string', enum: ['rest', 'validation', 'access', 'internal'] },
    field: { type: 'string' },
  },
};

function wirePath(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}');
}

function tagOf(path: string): string {
  return path.split('/')[1] ?? '';
}

function operationId(route: RouteDefinition): string {
  const words = route.path
    .split('/')
    .filter(Boolean)
    .map((part) => part.replace(/^:/, 'by-'));
  const parts = [route.method, ...words].join('-').split(/[^A-Za-z0-9]+/);
  return parts.map((part, index) => (index === 0 ? part : part.slice(0, 1).toUpperCase() + part.slice(1))).join('');
}

/** What a route asks of its caller, in words. */
function accessText(route: RouteDefinition): string {
  const who = {
    public: 'Anybody may call this; documents still need their own permission.',
    user: 'The caller must be signed in.',
    token: 'The caller needs a valid token.',
    admin: 'Site administrators only.',
  }[route.access];
  return route.scope === undefined ? who : `${who} Token scope: \`${route.scope}\`.`;
}

function descriptionOf(route: RouteDefinition): string {
  return [route.description, accessText(route)].filter(Boolean).join('\n\n');
}

/** Statuses a route may answer besides success, with what leads to them. */
function errorStatuses(route: RouteDefinition): Map<string, string> {
  const statuses = new Map<string, Set<string>>();
  const codes = new Set(route.errors ?? []);
  if (route.access !== 'public') codes.add('login-required').add('access-denied');
  if (Object.keys(route.query ?? {}).length > 0) codes.add('bad-parameter');
  for (const code of codes) {
    const status = String(route.errorStatus?.[code] ?? errorReplies[code].status);
    statuses.set(status, (statuses.get(status) ?? new Set()).add(code));
    if (code === 'access-denied') statuses.set('401', (statuses.get('401') ?? new Set()).add('access-denied'));
  }
  return new Map(
    [...statuses]
      .sort(([a], [b]) => Number(a) - Number(b))
      .map(([status, found]) => [status, `${STATUS_CODES[status] ?? 'Error'}: ${[...found].join(', ')}.`]),
  );
}

function entries(parameters: Parameters | undefined): [string, Parameter<unknown>][] {
  return Object.entries(parameters ?? {});
}

function bodySchema(route: RouteDefinition): { type: string; schema: Json } | null {
  switch (route.body ?? 'none') {
    case 'none':
      return null;
    case 'text':
      return { type: 'text/plain', schema: { type: 'string' } };
    case 'stream':
      return { type: 'application/octet-stream', schema: { type: 'string', format: 'binary' } };
    case 'json-object':
      return { type: 'application/json', schema: { type: 'object' } };
    case 'json-array':
      return { type: 'application/json', schema: { type: 'array', items: {} } };
    case 'json':
      return { type: 'application/json', schema: {} };
  }
}

function successTypes(route: RouteDefinition): readonly string[] {
  return 'types' in route.returns ? route.returns.types : ['application/json'];
}

const bodyIsOptional = (route: RouteDefinition) => route.bodyOptional === true;

/** The API as a Swagger 2.0 document, which existing clients of this kind of API read. */
export function swagger2(routes: readonly RouteDefinition[], info: ApiInfo): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const body = bodySchema(route);
    const operation: Json = {
      tags: [tagOf(route.path)],
      summary: route.summary,
      description: descriptionOf(route),
      operationId: operationId(route),
      produces: successTypes(route),
      parameters: [
        ...entries(route.params).map(([name, { schema }]) => ({ name, in: 'path', required: true, ...flat(schema) })),
        ...entries(route.query).map(([name, { schema, required }]) => ({ name, in: 'query', required, ...flat(schema) })),
        ...(body === null
          ? []
          : [{ name: 'body', in: 'body', required: !bodyIsOptional(route), schema: swagger2Schema(body.schema) }]),
      ],
      responses: {
        200: {
          description: 'Success.',
          ...('schema' in route.returns ? { schema: swagger2Schema(route.returns.schema) } : { schema: { type: 'file' } }),
        },
        ...Object.fromEntries(
          [...errorStatuses(route)].map(([status, description]) => [
            status,
            { description, schema: { $ref: '#/definitions/Error' } },
          ]),
        ),
      },
      ...(body !== null && { consumes: [body.type] }),
      security: security(route),
    };
    (paths[wirePath(route.path)] ??= {})[route.method] = operation;
  }
  return {
    swagger: '2.0',
    info: { title: info.title, version: info.version },
    host: info.host,
    basePath: info.basePath,
    schemes: [info.scheme],
    paths: sorted(paths),
    definitions: { Error: errorSchema },
    securityDefinitions: {
      token: { type: 'apiKey', in: 'header', name: 'Girder-Token' },
      tokenParameter: { type: 'apiKey', in: 'query', name: 'token' },
    },
  };
}

/** A parameter of Swagger 2.0 carries its schema flat and is never an object. */
function flat({ type, ...schema }: Parameter<unknown>['schema']): Json {
  return {
    ...schema,
    type: type === 'object' || type === 'array' ? 'string' : type,
    ...(type === 'object' || type === 'array' ? { format: 'json' } : {}),
  };
}

/** Swagger 2.0 has neither lists of types nor `null`, `const`, `oneOf`: what it cannot say is left open. */
function swagger2Schema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(swagger2Schema);
  if (typeof schema !== 'object' || schema === null) return schema;
  const kept = Object.entries(schema).filter(
    ([key, value]) =>
      ![
        '$schema',
        '$id',
        'const',
        'oneOf',
        'anyOf',
        'if',
        'then',
        'else',
        'discriminator',
        'propertyNames',
        'patternProperties',
        'prefixItems',
      ].includes(key) && !(key === 'type' && (Array.isArray(value) || value === 'null')),
  );
  return Object.fromEntries(kept.map(([key, value]) => [key, swagger2Schema(value)]));
}

function security(route: RouteDefinition): Json[] {
  const schemes = [{ token: [] }, { tokenParameter: [] }];
  return route.access === 'public' ? [{}, ...schemes] : schemes;
}

function sorted<T>(members: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The API as an OpenAPI 3.1 document. */
export function openApi3(routes: readonly RouteDefinition[], info: ApiInfo): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const body = bodySchema(route);
    const error = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
    const success =
      'schema' in route.returns
        ? { 'application/json': { schema: route.returns.schema } }
        : Object.fromEntries(route.returns.types.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]));
    const operation: Json = {
      tags: [tagOf(route.path)],
      summary: route.summary,
      description: descriptionOf(route),
      operationId: operationId(route),
      parameters: [
        ...entries(route.params).map(([name, parameter]) => parameter3(name, 'path', { ...parameter, required: true })),
        ...entries(route.query).map(([name, parameter]) => parameter3(name, 'query', parameter)),
      ],
      ...(body !== null && {
        requestBody: { required: !bodyIsOptional(route), content: { [body.type]: { schema: body.schema } } },
      }),
      responses: {
        200: { description: 'Success.', content: success },
        ...Object.fromEntries(
          [...errorStatuses(route)].map(([status, description]) => [status, { description, content: error }]),
        ),
      },
      security: security(route),
    };
    (paths[wirePath(route.path)] ??= {})[route.method] = operation;
  }
  return {
    openapi: '3.1.0',
    info: { title: info.title, version: info.version },
    servers: [{ url: `${info.scheme}://${info.host}${info.basePath}` }],
    paths: sorted(paths),
    components: {
      schemas: { Error: errorSchema },
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        tokenParameter: { type: 'apiKey', in: 'query', name: 'token' },
      },
    },
  };
}

function parameter3(
  name: string,
  location: 'path' | 'query',
  { schema: { description, ...schema }, required }: Pick<Parameter<unknown>, 'schema' | 'required'>,
): Json {
  const isJson = schema.type === 'object' || schema.type === 'array';
  return {
    name,
    in: location,
    required,
    ...(description !== undefined && { description }),
    ...(isJson ? { content: { 'application/json': { schema } } } : { schema }),
  };
}
