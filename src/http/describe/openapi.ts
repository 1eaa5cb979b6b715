import { STATUS_CODES } from 'node:http';
import { errorReplies } from '../../errors.js';
import type { Parameter, Parameters } from '../parameters.js';
import type { RouteOutline } from '../route.js';
import { anyObject, component, objectOf, schemaOf, type Schema } from '../schemas.js';
import { Components } from './components.js';

/** Texts that the description of the API contains. */
export interface ApiInfo {
  title: string;
  version: string;
  /** Name of the host's own header for tokens. */
  headerName: string;
  /** Name of the product in the API. */
  brand: string;
}

type Json = Record<string, unknown>;

const errorTypes = [...new Set(Object.values(errorReplies).map(({ type }) => type))];

const errorSchema = component('Error', {
  ...objectOf(
    {
      message: { type: 'string', description: 'For people.' },
      type: { type: 'string', enum: errorTypes },
      code: { type: 'string', enum: Object.keys(errorReplies), description: 'Stable code of the error, for programs.' },
    },
    {
      field: { type: 'string', description: 'Name of the invalid parameter or field.' },
      level: { type: 'integer', description: 'With access-denied: the permission that is missing: 0 read, 1 write, 2 admin.' },
      uid: { type: 'string', description: 'Identifies the request in the log of the server.' },
      extra: anyObject,
    },
  ),
  additionalProperties: true,
});

const license = { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' };

/** Name of the parameter for the rest of a path. */
const restParameterName = 'path';

function wirePath(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}').replace(/\*$/, `{${restParameterName}}`);
}

function tagOf(path: string): string {
  return path.split('/')[1] ?? '';
}

function operationId(route: RouteOutline): string {
  const words = route.path
    .split('/')
    .filter(Boolean)
    .map((part) => part.replace(/^:/, 'by-'));
  const parts = [route.method, ...words].join('-').split(/[^A-Za-z0-9]+/);
  return parts.map((part, index) => (index === 0 ? part : part.slice(0, 1).toUpperCase() + part.slice(1))).join('');
}

/** Describes who can call a route. */
function accessText(route: RouteOutline): string {
  const callers = {
    public: 'Anybody may call this; documents still need their own permission.',
    user: 'The caller must be signed in.',
    token: 'The caller needs a valid token.',
    admin: 'Site administrators only.',
  }[route.access];
  return route.scope === undefined ? callers : `${callers} Token scope: \`${route.scope}\`.`;
}

function descriptionOf(route: RouteOutline): string {
  return [route.description, accessText(route)].filter(Boolean).join('\n\n');
}

/** Error statuses of a route, with their causes. */
function errorStatuses(route: RouteOutline): Map<string, string> {
  const statuses = new Map<string, Set<string>>();
  // A parameter that is sent twice is always refused.
  const codes = new Set(route.errors ?? []).add('bad-parameter');
  if (route.access !== 'public') codes.add('login-required').add('access-denied');
  for (const code of codes) {
    const status = String(route.errorStatus?.[code] ?? errorReplies[code].status);
    statuses.set(status, (statuses.get(status) ?? new Set()).add(code));
    if (code === 'access-denied') statuses.set('401', (statuses.get('401') ?? new Set()).add('access-denied'));
  }
  return new Map(
    [...statuses]
      .sort(([a], [b]) => Number(a) - Number(b))
      .map(([status, codeNames]) => [status, `${STATUS_CODES[status] ?? 'Error'}: ${[...codeNames].join(', ')}.`]),
  );
}

function parameterEntries(parameters: Parameters | undefined): [string, Parameter<unknown>][] {
  return Object.entries(parameters ?? {}).map(([name, parameter]) => [name === '*' ? restParameterName : name, parameter]);
}

const binarySchema = { type: 'string', format: 'binary' } as const;

/**
 * All media types of a body with their schemas: the type of {@link mainBodyContent}, and the types of files in `bodyTypes`. The
 * main type is left out if the route declares `bodyTypes` but no schema for its body.
 */
function bodyContents(
  route: RouteOutline,
  { type, schema }: { type: string; schema: unknown },
): Record<string, { schema: unknown }> {
  const { bodyTypes = [] } = route;
  const files = Object.fromEntries(bodyTypes.map((fileType) => [fileType, { schema: binarySchema }]));
  return bodyTypes.length > 0 && route.accepts === undefined ? files : { [type]: { schema }, ...files };
}

function mainBodyContent(route: RouteOutline, brand: string): { type: string; schema: Schema } | null {
  const body = route.body ?? 'none';
  if (body === 'none') return null;
  if (route.accepts !== undefined) return { type: 'application/json', schema: schemaOf(route.accepts, brand) };
  if (body === 'text') return { type: 'text/plain', schema: { type: 'string' } };
  if (body === 'stream') return { type: 'application/octet-stream', schema: binarySchema };
  if (body === 'json-array') return { type: 'application/json', schema: { type: 'array', items: {} } };
  return { type: 'application/json', schema: body === 'json' ? {} : anyObject };
}

/** Media types of the responses of a route, without repetitions. */
function successTypes(route: RouteOutline): readonly string[] {
  return [...new Set(route.returns.types ?? ['application/json'])];
}

const isBodyOptional = (route: RouteOutline) => route.bodyOptional === true;

/** The API as a Swagger 2.0 document, which existing clients read; without the address of the server. */
export function describeAsSwagger2(routes: readonly RouteOutline[], info: ApiInfo): Json {
  const components = new Components('#/definitions/', swagger2Members);
  const errorReference = components.refer(errorSchema);
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const body = mainBodyContent(route, info.brand);
    const operation: Json = {
      tags: [tagOf(route.path)],
      summary: route.summary,
      description: descriptionOf(route),
      operationId: operationId(route),
      produces: successTypes(route),
      parameters: [
        ...parameterEntries(route.params).map(([name, { schema }]) => ({
          name,
          in: 'path',
          required: true,
          ...swagger2ParameterMembers(schema),
        })),
        ...parameterEntries(route.query).map(([name, { schema, required }]) => ({
          name,
          in: 'query',
          required,
          ...swagger2ParameterMembers(schema),
        })),
        ...(body === null
          ? []
          : [{ name: 'body', in: 'body', required: !isBodyOptional(route), schema: components.refer(body.schema) }]),
      ],
      responses: {
        200: {
          description: 'Success.',
          schema: 'schema' in route.returns ? components.refer(schemaOf(route.returns.schema, info.brand)) : { type: 'file' },
          ...(route.headers && { headers: headersOf(route.headers, (description) => ({ type: 'string', description })) }),
        },
        ...Object.fromEntries(
          [...errorStatuses(route)].map(([status, description]) => [status, { description, schema: errorReference }]),
        ),
      },
      ...(body !== null && { consumes: Object.keys(bodyContents(route, body)) }),
      security: securityOf(route),
    };
    (paths[wirePath(route.path)] ??= {})[route.method] = operation;
  }
  return {
    info: { title: info.title, version: info.version, license },
    paths: sortMembers(paths),
    definitions: components.listSchemas(),
    securityDefinitions: {
      token: { type: 'apiKey', in: 'header', name: info.headerName },
      tokenParameter: { type: 'apiKey', in: 'query', name: 'token' },
    },
  };
}

/**
 * The members of a parameter's schema as members of the parameter, as Swagger 2.0 requires. A parameter cannot be an object there,
 * so objects and lists are texts with JSON. Limits that are not integers are left out.
 */
function swagger2ParameterMembers({ type, ...schema }: Parameter<unknown>['schema']): Json {
  const isJson = type === 'object' || type === 'array';
  const allowedMembers = Object.entries(schema).filter(([, value]) => typeof value !== 'number' || Number.isInteger(value));
  return { ...Object.fromEntries(allowedMembers), type: isJson ? 'string' : type, ...(isJson ? { format: 'json' } : {}) };
}

const unsupportedKeywords: ReadonlySet<string> = new Set(
  '$schema $id const oneOf anyOf if then else discriminator propertyNames patternProperties prefixItems'.split(' '),
);

/** The members of a schema in Swagger 2.0, which has no lists of types, `null`, `const` or `oneOf`. Such members are left out. */
function swagger2Members(schema: Json): Json {
  const { exclusiveMinimum, ...others } = schema;
  const remaining = Object.entries(others).filter(
    ([key, value]) => !unsupportedKeywords.has(key) && !(key === 'type' && (Array.isArray(value) || value === 'null')),
  );
  const limit = typeof exclusiveMinimum === 'number' ? { minimum: exclusiveMinimum, exclusiveMinimum: true } : {};
  return { ...Object.fromEntries(remaining), ...limit };
}

function securityOf(route: RouteOutline): Json[] {
  const schemes = [{ token: [] }, { tokenParameter: [] }];
  return route.access === 'public' ? [{}, ...schemes] : schemes;
}

function sortMembers<T>(members: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * The members of a schema in OpenAPI 3.1. Defaults are written into the description, because code generators treat a member with a
 * default as always present, which is wrong in requests.
 */
function openApi3Members({ $schema: _dialect, default: defaultValue, ...members }: Json): Json {
  const schema = splitEnumByType(members);
  // A member whose name is `default` is not a default value.
  if (typeof defaultValue === 'object' && !Array.isArray(defaultValue)) return { ...schema, default: defaultValue };
  if (defaultValue === undefined) return schema;
  const description = [schema.description, `Default: ${JSON.stringify(defaultValue)}.`].filter(Boolean).join(' ');
  return { ...schema, description };
}

/**
 * Adds the type to an enum, because code generators need it. They drop an enum with values of several types, so each type becomes
 * an alternative.
 */
function splitEnumByType({ enum: values, ...schema }: Json): Json {
  if (!Array.isArray(values)) return values === undefined ? schema : { ...schema, enum: values };
  if (schema.type !== undefined) return { ...schema, enum: values };
  const types = [...new Set(values.map((value: unknown) => (value === null ? 'null' : typeof value)))];
  const alternatives = types.map((type): Json => {
    const valuesOfType = values.filter((value: unknown) => typeof value === type);
    return type === 'null' || (type === 'boolean' && valuesOfType.length === 2) ? { type } : { type, enum: valuesOfType };
  });
  return alternatives.length === 1 ? { ...schema, ...alternatives[0] } : { ...schema, anyOf: alternatives };
}

/** The API as an OpenAPI 3.1 document. */
export function describeAsOpenApi3(routes: readonly RouteOutline[], info: ApiInfo): Json {
  const components = new Components('#/components/schemas/', openApi3Members);
  const errorContent = { 'application/json': { schema: components.refer(errorSchema) } };
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const body = mainBodyContent(route, info.brand);
    const schema =
      'schema' in route.returns
        ? components.refer(schemaOf(route.returns.schema, info.brand))
        : { type: 'string', format: 'binary' };
    const successContent = Object.fromEntries(successTypes(route).map((type) => [type, { schema }]));
    const operation: Json = {
      tags: [tagOf(route.path)],
      summary: route.summary,
      description: descriptionOf(route),
      operationId: operationId(route),
      parameters: [
        ...parameterEntries(route.params).map(([name, parameter]) =>
          openApi3Parameter(name, 'path', { ...parameter, required: true }),
        ),
        ...parameterEntries(route.query).map(([name, parameter]) => openApi3Parameter(name, 'query', parameter)),
      ],
      ...(body !== null && {
        requestBody: {
          required: !isBodyOptional(route),
          content: bodyContents(route, { ...body, schema: components.refer(body.schema) }),
        },
      }),
      responses: {
        200: {
          description: 'Success.',
          ...(route.headers && {
            headers: headersOf(route.headers, (description) => ({ description, schema: { type: 'string' } })),
          }),
          content: successContent,
        },
        ...Object.fromEntries(
          [...errorStatuses(route)].map(([status, description]) => [status, { description, content: errorContent }]),
        ),
      },
      security: securityOf(route),
    };
    (paths[wirePath(route.path)] ??= {})[route.method] = operation;
  }
  return {
    info: { title: info.title, version: info.version, license },
    paths: sortMembers(paths),
    components: {
      schemas: components.listSchemas(),
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        tokenParameter: { type: 'apiKey', in: 'query', name: 'token' },
      },
    },
  };
}

function headersOf(headers: Readonly<Record<string, string>>, describe: (description: string) => Json): Json {
  return Object.fromEntries(Object.entries(headers).map(([name, description]) => [name, describe(description)]));
}

function openApi3Parameter(
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
