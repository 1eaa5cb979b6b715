import { dump, FAILSAFE_SCHEMA, load, Type, YAMLException } from 'js-yaml';
import { BadParameterError } from '../errors.js';

/** A mapping in a YAML text, as an object. */
export type YamlMapping = Record<string, unknown>;

/** Whether a value is a mapping. */
export function isMapping(value: unknown): value is YamlMapping {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Defines a type of plain scalars.
 *
 * @param pattern matches the texts of this type.
 * @param valueOf returns the value of a text.
 * @param write how values of this type are written: `isValue` recognizes them, `textOf` returns their texts. Default: they are not
 * written.
 */
function scalarType<T>(
  tag: string,
  pattern: RegExp,
  valueOf: (text: string) => T,
  write?: { isValue: (value: unknown) => boolean; textOf: (value: T) => string },
): Type {
  return new Type(`tag:yaml.org,2002:${tag}`, {
    kind: 'scalar',
    resolve: (text: unknown) => typeof text === 'string' && pattern.test(text),
    construct: valueOf,
    ...(write && { predicate: write.isValue, represent: (value) => write.textOf(value as T) }),
  });
}

function integerOf(text: string): number {
  const digits = text.replaceAll('_', '').replace(/^[-+]/, '');
  const base60 = () => digits.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
  const isOctal = /^0[0-7]+$/.test(digits);
  const magnitude = digits.includes(':') ? base60() : isOctal ? Number.parseInt(digits, 8) : Number(digits);
  return text.startsWith('-') ? -magnitude : magnitude;
}

function floatOf(text: string): number {
  const digits = text.replaceAll('_', '').replace(/^[-+]/, '').toLowerCase();
  if (digits === '.nan') return NaN;
  const magnitude = digits === '.inf' ? Infinity : digits.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
  return text.startsWith('-') ? -magnitude : magnitude;
}

/** In YAML 1.1 a float has a point, even if it has an exponent. */
function floatText(value: number): string {
  if (Number.isNaN(value)) return '.nan';
  if (!Number.isFinite(value)) return value < 0 ? '-.inf' : '.inf';
  return /^-?\d+(e|$)/.test(`${value}`) ? `${value}`.replace(/(?=e|$)/, '.0') : `${value}`;
}

/** Converts times to UTC, like all times of the server. Dates stay unchanged. */
function normalizeTime(text: string): string {
  if (/^\d{4}-\d\d-\d\d$/.test(text)) return text;
  const [, date, time, zone = ''] = /^([-\d]+)(?:[Tt]|[ \t]+)([:.\d]+)[ \t]*([-+Z].*)?$/.exec(text) ?? [];
  const [, sign = '+', hours = '0', minutes = '0'] = /^([-+])(\d\d?)(?::?(\d\d))?$/.exec(zone) ?? [];
  const [year, month, day] = date!.split('-').map(Number);
  const [hour, minute, seconds] = time!.split(':').map(Number);
  const offset = (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1);
  const instant = new Date(Date.UTC(year!, month! - 1, day, hour, minute! - offset, 0, seconds! * 1000));
  return instant.toISOString().replace('Z', '+00:00');
}

/** YAML 1.1, which existing texts use: `yes` is true, but `y` alone is text; `017` is fifteen; `1e3` has no point and is text. */
const schema = FAILSAFE_SCHEMA.extend({
  implicit: [
    scalarType('null', /^(~|null|Null|NULL|)$/, () => null, { isValue: (value) => value === null, textOf: () => 'null' }),
    scalarType(
      'bool',
      /^([Yy]es|YES|[Nn]o|NO|[Tt]rue|TRUE|[Ff]alse|FALSE|[Oo]n|ON|[Oo]ff|OFF)$/,
      (text) => /^(y|t|on)/i.test(text),
      {
        isValue: (value) => typeof value === 'boolean',
        textOf: String,
      },
    ),
    scalarType('int', /^[-+]?(0b[01_]+|0x[\da-fA-F_]+|0[0-7_]*|[1-9][\d_]*(:[0-5]?\d)*)$/, integerOf, {
      isValue: (value) => Number.isSafeInteger(value),
      textOf: String,
    }),
    scalarType(
      'float',
      /^([-+]?\d[\d_]*\.[\d_]*([eE][-+]\d+)?|[-+]?\.\d[\d_]*([eE][-+]\d+)?|[-+]?\d[\d_]*(:[0-5]?\d)+\.[\d_]*|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$/,
      floatOf,
      { isValue: (value) => typeof value === 'number' && !Number.isSafeInteger(value), textOf: floatText },
    ),
    scalarType(
      'timestamp',
      /^\d{4}-(\d\d-\d\d|\d\d?-\d\d?([Tt]|[ \t]+)\d\d?:\d\d:\d\d(\.\d*)?([ \t]*(Z|[-+]\d\d?(:?\d\d)?))?)$/,
      normalizeTime,
    ),
    scalarType('merge', /^<<$/, (text) => text),
  ],
  explicit: [new Type('tag:yaml.org,2002:set', { kind: 'mapping' }), new Type('tag:yaml.org,2002:omap', { kind: 'sequence' })],
});

/**
 * Maximum number of characters and values in a text after its aliases are expanded, because ten bytes of aliases can represent any
 * number of values.
 */
const maxExpandedSize = 30_000_000;
const maxDepth = 500;

/**
 * Counts values and characters, as if aliases were expanded.
 *
 * @throws Error for circular aliases, and for nesting that is too deep.
 */
function countExpanded(value: unknown, sizes = new Map<object, number>(), depth = 0): number {
  if (typeof value === 'string') return 1 + value.length;
  if (typeof value !== 'object' || value === null) return 1;
  if (depth > maxDepth) throw new Error(`it is nested more than ${maxDepth} levels deep, or contains itself`);
  const knownSize = sizes.get(value);
  if (knownSize !== undefined) return knownSize;
  let size = 1;
  const isList = Array.isArray(value);
  for (const [name, member] of Object.entries(value))
    size += (isList ? 0 : name.length) + countExpanded(member, sizes, depth + 1);
  sizes.set(value, size);
  return size;
}

/** Parses a text that is one YAML document. @param name names the text in error messages. @throws BadParameterError */
export function parseYaml(text: string, name: string): unknown {
  try {
    const value = load(text, { schema }) ?? null;
    if (countExpanded(value) > maxExpandedSize) throw new Error('its aliases expand to too much');
    return value;
  } catch (cause) {
    throw new BadParameterError(`${name} is not valid YAML: ${reasonOf(cause)}`, { cause });
  }
}

function reasonOf(cause: unknown): string {
  if (cause instanceof RangeError) return 'it is nested too deep';
  if (!(cause instanceof YAMLException)) return (cause as Error).message;
  const { mark } = cause as { mark?: { line: number; column: number } };
  return mark === undefined ? cause.reason : `${cause.reason} (line ${mark.line + 1}, column ${mark.column + 1})`;
}

/** Writes a value as YAML text in block style, with sorted keys. */
export function writeYaml(value: unknown): string {
  return dump(value, { schema, sortKeys: true, noRefs: true });
}
