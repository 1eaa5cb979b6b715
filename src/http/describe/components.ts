import { componentName, type Schema } from '../schemas.js';

type Json = Record<string, unknown>;

/** Collects the named schemas of a document, so that each is written once and referred to. */
export class Components {
  readonly #schemas = new Map<string, unknown>();

  /**
   * @param prefix the start of each reference, such as `#/definitions/`
   * @param adaptMembers converts the members of a schema to the format of the document, such as Swagger 2.0
   */
  constructor(
    private readonly prefix: string,
    private readonly adaptMembers: (schema: Json) => Json,
  ) {}

  /** A reference to the schema if it is named; otherwise the schema itself, with references in place of its named parts. */
  refer(schema: Schema): unknown {
    return this.#convert(schema);
  }

  /** All referenced schemas, by name. */
  listSchemas(): Json {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  #convert(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((entry) => this.#convert(entry));
    if (typeof value !== 'object' || value === null) return value;
    const name = componentName(value);
    if (name === undefined) return this.#convertMembers(value);
    if (!this.#schemas.has(name)) {
      // The name is entered first, so that a schema may contain itself.
      this.#schemas.set(name, null);
      this.#schemas.set(name, this.#convertMembers(value));
    }
    return { $ref: `${this.prefix}${name}` };
  }

  #convertMembers(value: object): Json {
    const converted = Object.entries(value).map(([key, member]) => [key, this.#convert(member)] as const);
    return this.adaptMembers(Object.fromEntries(converted));
  }
}
