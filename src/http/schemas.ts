/** A JSON schema, in the vocabulary of draft 2020-12. */
export type Schema = Readonly<Record<string, unknown>>;

/**
 * The schema of a response or a body. If names of fields contain the brand, a function returns the schema for each brand.
 */
export type RouteSchema = Schema | ((brand: string) => Schema);

const schemaName = Symbol('name of a schema');

/** Gives a schema a name. The API description contains each named schema once and refers to it by this name. */
export function component<S extends Schema>(name: string, schema: S): S {
  // A copy with other members is another schema, so it does not keep the name.
  return Object.defineProperty({ ...schema }, schemaName, { value: name });
}

/** The name that {@link component} has given a schema, if any. */
export function componentName(schema: object): string | undefined {
  return (schema as { [schemaName]?: string })[schemaName];
}

export function schemaOf(schema: RouteSchema, brand: string): Schema {
  return typeof schema === 'function' ? schema(brand) : schema;
}

export const anyText = { type: 'string' } as const;
export const anyNumber = { type: 'number' } as const;
export const anyInteger = { type: 'integer' } as const;
export const anyBoolean = { type: 'boolean' } as const;
export const nothing = { type: 'null' } as const;
/** An object with any members. */
export const anyObject = { type: 'object', additionalProperties: true } as const;
/** Any JSON value. */
export const anything = { description: 'Any JSON value.' } as const;
export const dateText = { type: 'string', format: 'date-time' } as const;
/** An id: 24 hexadecimal digits, or the form that the host's ids have. */
export const idText = { type: 'string', description: 'An id.' } as const;

/** A value of this schema, or `null`. */
export function orNull(schema: Schema): Schema {
  const { type } = schema;
  const isPlain = typeof type === 'string' && componentName(schema) === undefined && !('enum' in schema);
  return isPlain ? { ...schema, type: [type, 'null'] } : { oneOf: [schema, nothing] };
}

export function listOf(items: Schema): Schema {
  return { type: 'array', items };
}

/** An object with members of any name, whose values are of this schema. */
export function mapOf(additionalProperties: Schema): Schema {
  return { type: 'object', additionalProperties };
}

/** An object with these members. Later versions may add members. */
export function objectOf(required: Readonly<Record<string, Schema>>, optional: Readonly<Record<string, Schema>> = {}): Schema {
  const names = Object.keys(required);
  return { type: 'object', properties: { ...required, ...optional }, ...(names.length > 0 && { required: names }) };
}

/** Permission levels in responses. */
export const shownAccess = { type: 'integer', enum: [-1, 0, 1, 2] } as const;

/** An access list, with the names of its users and groups. */
export const accessSchema = component(
  'AccessList',
  objectOf({
    users: listOf(objectOf({ id: idText, level: anyInteger, flags: listOf(anyText) }, { login: anyText, name: anyText })),
    groups: listOf(objectOf({ id: idText, level: anyInteger, flags: listOf(anyText) }, { name: anyText, description: anyText })),
  }),
);

/** The record on an item that makes it a large image. */
const markerSchema = component('LargeImageMarker', {
  ...objectOf(
    {},
    {
      fileId: { ...idText, description: 'The displayed file; absent while a job makes it.' },
      sourceName: { ...anyText, description: 'The tile source that reads it.' },
      originalId: { ...idText, description: 'The file before its conversion.' },
      jobId: { ...idText, description: 'The job of the conversion.' },
      expected: { ...anyBoolean, description: 'True while a job makes it.' },
      notify: anyBoolean,
    },
  ),
  additionalProperties: true,
});

/** An item, with the members that the plugin knows; hosts may add more. */
export const itemSchema = component('Item', {
  ...objectOf(
    { _id: idText, name: anyText, folderId: idText },
    {
      description: orNull(anyText),
      creatorId: orNull(idText),
      created: dateText,
      updated: dateText,
      size: anyInteger,
      meta: anyObject,
      baseParentType: orNull(anyText),
      baseParentId: orNull(idText),
      copyOfItem: idText,
      lowerName: orNull(anyText),
      largeImage: orNull(markerSchema),
      largeImageRefused: { ...anyText, description: 'Why its file is not a large image.' },
      _modelType: { const: 'item' },
    },
  ),
  additionalProperties: true,
});
