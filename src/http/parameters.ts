import { BadParameterError, InvalidError, LargeImageError } from '../errors.js';

/** The subset of JSON Schema that describes parameters. */
export interface ParameterSchema {
  type: 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array';
  description?: string;
  default?: unknown;
  enum?: readonly (string | number)[];
  minimum?: number;
  maximum?: number;
  pattern?: string;
  format?: string;
}

/**
 * A parameter of a route. It arrives as text, in a query string, a form or the path. `parse` turns the text into the value for the
 * handler; `defaultValue` is the value if the parameter was not sent.
 */
export interface Parameter<T> {
  readonly schema: ParameterSchema;
  readonly required: boolean;
  readonly defaultValue: T;
  /** @throws BadParameterError that names the parameter and the text. */
  parse(text: string, name: string): T;
}

/** Parameters by name; a handler gets their values. */
export type Parameters = Readonly<Record<string, Parameter<unknown>>>;
export type ParameterValues<P extends Parameters> = { [K in keyof P]: P[K] extends Parameter<infer T> ? T : never };

/** Maximum length of a parameter's value in characters, because values are parsed without a pause. A body can be longer. */
const maxParameterLength = 256 * 1024;

/** @throws LargeImageError `too-large` for a value that is longer than {@link maxParameterLength}. */
export function requireParameterLength(value: string, name: string): void {
  if (value.length > maxParameterLength) {
    throw new LargeImageError('too-large', `Parameter ${name} must not be longer than ${maxParameterLength} characters.`);
  }
}

interface ParameterOptions {
  description?: string;
}

function optional<T>(schema: ParameterSchema, parse: Parameter<T>['parse']): Parameter<T | undefined> {
  return { schema, required: false, defaultValue: undefined, parse };
}

/** Text, unchanged. */
export function text(options: ParameterOptions & { pattern?: string } = {}): Parameter<string | undefined> {
  return optional({ type: 'string', ...options }, (value) => value);
}

/** The text of an integer. The route parses the text itself, because its error messages differ from those of {@link integer}. */
export function integerText(options: ParameterOptions & { minimum?: number } = {}): Parameter<string | undefined> {
  return optional({ type: 'integer', ...options }, (value) => value);
}

/** A whole number. */
export function integer(options: ParameterOptions & { minimum?: number; maximum?: number } = {}): Parameter<number | undefined> {
  return optional({ type: 'integer', ...options }, (value, name) => {
    const parsed = /^\s*[-+]?\d+\s*$/.test(value) ? Number(value) : NaN;
    if (!Number.isSafeInteger(parsed)) throw new BadParameterError(`Invalid value for integer parameter ${name}: ${value}.`);
    return requireWithinLimits(parsed, name, options);
  });
}

/** A finite number. */
export function number(options: ParameterOptions & { minimum?: number; maximum?: number } = {}): Parameter<number | undefined> {
  return optional({ type: 'number', ...options }, (value, name) => {
    const parsed = /^\s*[-+]?(\d+(?:\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*$/.test(value) ? Number(value) : NaN;
    if (!Number.isFinite(parsed)) throw new BadParameterError(`Invalid value for numeric parameter ${name}: ${value}.`);
    return requireWithinLimits(parsed, name, options);
  });
}

function requireWithinLimits(
  value: number,
  name: string,
  { minimum = -Infinity, maximum = Infinity }: { minimum?: number; maximum?: number },
) {
  if (value >= minimum && value <= maximum) return value;
  const allowed =
    maximum === Infinity ? `at least ${minimum}` : minimum === -Infinity ? `at most ${maximum}` : `${minimum} to ${maximum}`;
  throw new BadParameterError(`Invalid value for parameter ${name}: ${value}. Allowed values: ${allowed}.`);
}

/** The texts `true`, `on`, `1` and `yes` are true, in upper or lower case. Every other text is false. */
export function boolean(options: ParameterOptions = {}): Parameter<boolean | undefined> {
  return optional({ type: 'boolean', ...options }, parseBoolean);
}

/** Parses a text by the rule of {@link boolean}. */
export function parseBoolean(value: string): boolean {
  return ['true', 'on', '1', 'yes'].includes(value.trim().toLowerCase());
}

/** One of several words. `elsewhere` are words that other routes answer in its place; only messages name them. */
export function oneOf<const V extends string>(
  values: readonly V[],
  { elsewhere = [], ...options }: ParameterOptions & { elsewhere?: readonly string[] } = {},
): Parameter<V | undefined> {
  return optional({ type: 'string', enum: values, ...options }, (value, name) => {
    const match = values.find((allowed) => allowed === value);
    if (match !== undefined) return match;
    throw new BadParameterError(
      `Invalid value for ${name}: "${value}". Allowed values: ${[...values, ...elsewhere].join(', ')}.`,
    );
  });
}

/** 1 or -1. */
export function sortDirection(): Parameter<1 | -1 | undefined> {
  return optional({ type: 'integer', enum: [1, -1], description: '1 ascending, -1 descending.' }, (value, name) => {
    if (value.trim() === '1') return 1;
    if (value.trim() === '-1') return -1;
    throw new BadParameterError(`Invalid value for ${name}: "${value}". Allowed values: 1, -1.`);
  });
}

/** Maximum nesting of a JSON parameter, because handlers may recurse as deeply as the value is nested. */
const maxDepth = 100;

/** Whether lists and objects of a JSON text are nested more deeply than allowed. */
function isTooDeep(value: string): boolean {
  let depth = 0;
  for (let i = 0; i < value.length; i += 1) {
    const char = value[i];
    if (char === '"') {
      for (i += 1; i < value.length && value[i] !== '"'; i += 1) if (value[i] === '\\') i += 1;
    } else if (char === '[' || char === '{') {
      depth += 1;
      if (depth > maxDepth) return true;
    } else if (char === ']' || char === '}') depth -= 1;
  }
  return false;
}

/** JSON text of any value; with `kind`, of an object or of an array. */
export function json(options?: ParameterOptions): Parameter<unknown>;
export function json(options: ParameterOptions & { kind: 'object' }): Parameter<Record<string, unknown> | undefined>;
export function json(options: ParameterOptions & { kind: 'array' }): Parameter<unknown[] | undefined>;
export function json({ kind, ...options }: ParameterOptions & { kind?: 'object' | 'array' } = {}): Parameter<unknown> {
  return optional<unknown>({ type: kind ?? 'string', ...options }, (value, name) => {
    let parsed: unknown;
    try {
      parsed = JSON.parse(value);
    } catch (cause) {
      throw new BadParameterError(`Parameter ${name} must be valid JSON.`, { cause });
    }
    if (isTooDeep(value)) throw new BadParameterError(`Parameter ${name} must not be nested deeper than ${maxDepth} levels.`);
    if (kind === 'array' && !Array.isArray(parsed)) throw new BadParameterError(`Parameter ${name} must be a JSON array.`);
    if (kind === 'object' && (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))) {
      throw new BadParameterError(`Parameter ${name} must be a JSON object.`);
    }
    return parsed;
  });
}

/** A date and time in ISO 8601. */
export function date(options: ParameterOptions = {}): Parameter<Date | undefined> {
  return optional({ type: 'string', format: 'date-time', ...options }, (value, name) => {
    const parsed = new Date(value);
    if (Number.isNaN(parsed.getTime())) throw new BadParameterError(`Invalid date format for parameter ${name}: ${value}.`);
    return parsed;
  });
}

/** Whether a text is an id: 24 hexadecimal digits. */
export function isId(value: string): boolean {
  return /^[0-9a-f]{24}$/i.test(value);
}

/** The id of a document. */
export function id(options: ParameterOptions = {}): Parameter<string | undefined> {
  return optional({ type: 'string', pattern: '^[0-9a-f]{24}$', ...options }, (value) => {
    if (value === '') throw new InvalidError('Attempt to load null ObjectId: ', 'id');
    if (!isId(value)) throw new InvalidError(`Invalid ObjectId: ${value}`, 'id');
    return value.toLowerCase();
  });
}

/** A JSON array of ids. */
export function idSet(options: ParameterOptions = {}): Parameter<ReadonlySet<string> | undefined> {
  const list = json({ kind: 'array', ...options });
  return {
    ...list,
    parse(value, name) {
      const parsed = list.parse(value, name) ?? [];
      const invalid = parsed.find((entry) => typeof entry !== 'string' || !isId(entry));
      if (invalid !== undefined) throw new InvalidError(`Invalid ObjectId: ${JSON.stringify(invalid)}`, name);
      return new Set((parsed as string[]).map((entry) => entry.toLowerCase()));
    },
    defaultValue: undefined,
  };
}

/** Gives an optional parameter a default value. */
export function withDefault<T>(parameter: Parameter<T | undefined>, defaultValue: T): Parameter<T> {
  const schema = { ...parameter.schema, default: defaultValue };
  return { ...parameter, schema, defaultValue, parse: (value, name) => parameter.parse(value, name) ?? defaultValue };
}

/** Makes an optional parameter required. */
export function required<T>(parameter: Parameter<T | undefined>): Parameter<T> {
  // `defaultValue` is never used, because a missing required parameter is an error.
  return { ...(parameter as Parameter<T>), required: true };
}

/** `limit`, `offset`, `sort` and `sortdir` of a list route. */
export function paging<const S extends string>(defaultSort: S, defaultDirection: 1 | -1 = 1) {
  return {
    limit: withDefault(integer({ minimum: 0, description: 'Maximum number of entries; 0 for all.' }), 50),
    offset: withDefault(integer({ minimum: 0, description: 'Number of entries to skip.' }), 0),
    sort: withDefault<string>(text({ description: 'Field to sort by.' }), defaultSort),
    sortdir: withDefault<1 | -1>(sortDirection(), defaultDirection),
  };
}
