import type { Schema } from './schema/common.js';

/** Whether a value fits a schema. */
export type Check = (value: unknown) => boolean;

function isFiniteNumber(value: unknown): value is number {
  // NaN and infinities are the numbers whose difference with themselves is not 0.
  return typeof value === 'number' && value - value === 0;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Limits {
  minItems: number;
  maxItems: number;
}

function compileVectorCheck(length: number): Check {
  if (length === 3) {
    return (value) =>
      Array.isArray(value) &&
      value.length === 3 &&
      isFiniteNumber(value[0]) &&
      isFiniteNumber(value[1]) &&
      isFiniteNumber(value[2]);
  }
  return (value) => {
    if (!Array.isArray(value) || value.length !== length) return false;
    for (let i = 0; i < length; i += 1) if (!isFiniteNumber(value[i])) return false;
    return true;
  };
}

function compileArrayCheck(checkItem: Check, { minItems, maxItems }: Limits): Check {
  return (value) => {
    if (!Array.isArray(value) || value.length < minItems || value.length > maxItems) return false;
    for (let i = 0; i < value.length; i += 1) if (!checkItem(value[i])) return false;
    return true;
  };
}

function compileNumberCheck(schema: Schema): Check {
  const minimum = Number(schema.minimum ?? -Infinity);
  const maximum = Number(schema.maximum ?? Infinity);
  const exclusiveMinimum = Number(schema.exclusiveMinimum ?? -Infinity);
  const isInteger = schema.type === 'integer';
  return (value) =>
    isFiniteNumber(value) &&
    value >= minimum &&
    value <= maximum &&
    value > exclusiveMinimum &&
    (!isInteger || Number.isInteger(value));
}

/** Maximum length, in characters, of a text that a check remembers as matching. */
const maxRememberedLength = 63;
/**
 * Maximum number of distinct texts that a check remembers as matching. An annotation has few colors, and looking up a color is faster
 * than matching it again.
 */
const maxRememberedTexts = 256;

function compileStringCheck(schema: Schema): Check {
  if (typeof schema.const === 'string') return (value) => value === schema.const;
  if (Array.isArray(schema.enum)) return (value) => typeof value === 'string' && (schema.enum as unknown[]).includes(value);
  if (typeof schema.pattern !== 'string') return (value) => typeof value === 'string';
  const pattern = new RegExp(schema.pattern, 'u');
  const matchingTexts = new Set<string>();
  return (value) => {
    if (typeof value !== 'string') return false;
    if (matchingTexts.has(value)) return true;
    if (!pattern.test(value)) return false;
    if (matchingTexts.size < maxRememberedTexts && value.length <= maxRememberedLength) matchingTexts.add(value);
    return true;
  };
}

function compileObjectCheck(schema: Schema): Check {
  if (schema.additionalProperties === true) return isPlainObject;
  const checks = new Map<string, Check>();
  for (const [name, property] of Object.entries(schema.properties as Record<string, Schema>))
    checks.set(name, compileCheck(property));
  const requiredNames = (schema.required ?? []) as readonly string[];
  return (value) => {
    if (!isPlainObject(value)) return false;
    for (const name in value) {
      const check = checks.get(name);
      if (check === undefined || !check(value[name])) return false;
    }
    // A property whose check has passed exists, because no check accepts undefined.
    for (let i = 0; i < requiredNames.length; i += 1) if (value[requiredNames[i] as string] === undefined) return false;
    return true;
  };
}

/**
 * Compiles an element schema to a function that only says whether a value fits, without allocating memory. If a value does not fit, the
 * slower validator of the schema finds the error. Only the keywords that the element schemas use are supported. A test compares the
 * function with the validator.
 *
 * @throws Error if a schema uses an unsupported type.
 */
export function compileCheck(schema: Schema): Check {
  switch (schema.type) {
    case 'object':
      return compileObjectCheck(schema);
    case 'array': {
      const itemSchema = schema.items as Schema;
      const minItems = Number(schema.minItems ?? 0);
      const maxItems = Number(schema.maxItems ?? Infinity);
      if (itemSchema.type === 'number' && Object.keys(itemSchema).length === 1) {
        return minItems === maxItems ? compileVectorCheck(minItems) : compileArrayCheck(isFiniteNumber, { minItems, maxItems });
      }
      return compileArrayCheck(compileCheck(itemSchema), { minItems, maxItems });
    }
    case 'number':
    case 'integer':
      return compileNumberCheck(schema);
    case 'string':
      return compileStringCheck(schema);
    case 'boolean':
      return (value) => typeof value === 'boolean';
    default:
      throw new Error(`No check for a schema of type ${String(schema.type)}`);
  }
}
