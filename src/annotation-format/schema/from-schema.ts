/**
 * The type of the values that a JSON schema describes, so that the types of elements follow from their schemas. Only the keywords that
 * the schemas of annotations use are supported. For a schema without any of these keywords, the type is `unknown`.
 */
export type FromSchema<S> = S extends { const: infer Value }
  ? Value
  : S extends { enum: readonly (infer Value)[] }
    ? Value
    : S extends { type: 'string' }
      ? string
      : S extends { type: 'number' | 'integer' }
        ? number
        : S extends { type: 'boolean' }
          ? boolean
          : S extends { type: 'array'; items: infer Items }
            ? ListOf<S, FromSchema<Items>>
            : S extends { type: 'object'; properties: infer Properties }
              ? Members<Properties, S extends { required: readonly (infer Name)[] } ? Name : never>
              : S extends { type: 'object' }
                ? Record<string, unknown>
                : unknown;

/** A list; a tuple if the schema allows one length only. */
type ListOf<S, Item> = S extends { minItems: 2; maxItems: 2 }
  ? [Item, Item]
  : S extends { minItems: 3; maxItems: 3 }
    ? [Item, Item, Item]
    : S extends { minItems: 4; maxItems: 4 }
      ? [Item, Item, Item, Item]
      : Item[];

type Members<Properties, Required> = {
  -readonly [Name in keyof Properties as Name extends Required ? Name : never]: FromSchema<Properties[Name]>;
} & {
  -readonly [Name in keyof Properties as Name extends Required ? never : Name]?: FromSchema<Properties[Name]>;
};
