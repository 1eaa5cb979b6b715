import type { ErrorObject } from 'ajv';
import { BadParameterError, InvalidError, type LargeImageError } from '../errors.js';
import { colorPattern, fillPattern, idPattern } from './schema/common.js';

/** Makes the error that is thrown for a schema problem. */
export type MakeError = (detail: string) => LargeImageError;

/** The error for schema problems in requests that create or replace annotations, with the message that existing clients expect. */
export function schemaError(detail: string): BadParameterError {
  return new BadParameterError(`Validation Error: JSON doesn't follow schema (${detail})`);
}

/** The error for schema problems in PATCH requests. Its message is just the detail. */
export function patchSchemaError(detail: string): InvalidError {
  return new InvalidError(detail);
}

/**
 * Returns an error whose message names the annotation by its index in a list. The message still begins as existing clients expect. An
 * error that is not a {@link BadParameterError} is returned unchanged.
 */
export function addEntryNumber(error: unknown, index: number): unknown {
  if (!(error instanceof BadParameterError)) return error;
  const { message } = error;
  const at = message.indexOf('(') + 1;
  const text = message.startsWith('Validation Error:')
    ? `${message.slice(0, at)}entry ${index}: ${message.slice(at)}`
    : `Entry ${index} of the annotation list: ${message}`;
  return new BadParameterError(text, { cause: error });
}

/** Beginning of the message if two elements have the same id. */
export const idsNotUniqueMessage = 'Annotation Element IDs are not unique';

/** Maximum number of characters of a refused text that a message quotes. */
const maxQuotedCharacters = 60;

/** Describes a value for messages. Long texts are cut. A long list is described by its length, and an object only as an object. */
export function describeValue(value: unknown): string {
  if (typeof value === 'string') {
    return value.length <= maxQuotedCharacters
      ? JSON.stringify(value)
      : `${JSON.stringify(value.slice(0, maxQuotedCharacters))}…`;
  }
  if (Array.isArray(value)) {
    const isShort = value.length <= 4 && value.every((entry) => typeof entry !== 'object' || entry === null);
    return isShort ? `[${value.map(describeValue).join(', ')}]` : `an array of ${value.length}`;
  }
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value);
}

const patternRules: Readonly<Record<string, string>> = {
  [colorPattern]:
    'a color: #RGB, #RGBA, #RRGGBB, #RRGGBBAA, rgb(r, g, b) or rgba(r, g, b, a) with integer channels and 0 <= a <= 1',
  [fillPattern]: 'one of circle, triangle, diamond, flower(n), star(n), jack(n) with n from 1 to 16',
  [idPattern]: '24 lowercase hexadecimal digits',
};

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a finite number',
  integer: 'an integer',
  boolean: 'true or false',
  object: 'an object',
  array: 'an array',
};

/** Converts a JSON pointer to the notation of JavaScript: `/points/2/1` to `.points[2][1]`. */
function pathText(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part}`))
    .join('');
}

function sizeRule(schema: Record<string, unknown>): string {
  const { minItems, maxItems } = schema;
  if (minItems === maxItems) return `exactly ${Number(minItems)}`;
  return minItems === undefined ? `at most ${Number(maxItems)}` : `at least ${Number(minItems)}`;
}

/**
 * Describes a schema error: where it is, what is required, and what was sent.
 * @param subject the element or field that was checked; empty for the document
 */
export function describeSchemaError(error: ErrorObject, subject: string): string {
  const path = `${subject}${pathText(error.instancePath)}`;
  const location = path.replace(/^\./, '') || 'document';
  const parent = (error.parentSchema ?? {}) as Record<string, unknown>;
  const actual = `not ${describeValue(error.data)}`;
  switch (error.keyword) {
    case 'required':
      return `${path}.${String(error.params.missingProperty)}: is required`.replace(/^\./, '');
    case 'additionalProperties': {
      const allowed = Object.keys((parent.properties ?? {}) as object).join(', ');
      const name = describeValue(error.params.additionalProperty);
      return `${location}: Additional properties are not allowed (${name} was unexpected; allowed: ${allowed})`;
    }
    case 'type':
      return `${location}: must be ${typeNames[String(error.params.type)] ?? String(error.params.type)}, ${actual}`;
    case 'enum':
      return `${location}: must be one of ${(error.params.allowedValues as unknown[]).map((value) => JSON.stringify(value)).join(', ')}, ${actual}`;
    case 'pattern':
      return `${location}: must be ${patternRules[String(error.params.pattern)] ?? `text like ${String(error.params.pattern)}`}, ${actual}`;
    case 'minItems':
    case 'maxItems': {
      const length = Array.isArray(error.data) ? error.data.length : 0;
      return `${location}: must have ${sizeRule(parent)} entries, not ${length}`;
    }
    case 'minimum':
      return `${location}: must be at least ${String(error.params.limit)}, ${actual}`;
    case 'maximum':
      return `${location}: must be at most ${String(error.params.limit)}, ${actual}`;
    case 'exclusiveMinimum':
      return `${location}: must be greater than ${String(error.params.limit)}, ${actual}`;
    case 'minLength':
      return `${location}: must not be empty`;
    default:
      return `${location}: ${error.message ?? error.keyword}`;
  }
}
