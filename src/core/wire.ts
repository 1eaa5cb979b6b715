/** Text of a date as clients of this API expect it: ISO 8601 in UTC with offset, without a fraction if it is zero. */
export function formatDate(date: Date): string {
  return date.toISOString().replace(/(\.000)?Z$/, '+00:00');
}

interface HexId {
  toHexString(): string;
}

function isHexId(value: object): value is HexId {
  return 'toHexString' in value && typeof value.toHexString === 'function';
}

/**
 * Converts a value from the database to its JSON form: ids become hexadecimal text, dates are formatted by {@link formatDate}, and
 * members that are `undefined` or functions are left out.
 */
export function toWire(value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : formatDate(value);
  if (Array.isArray(value)) return value.map(toWire);
  if (isHexId(value)) return value.toHexString();
  if (value instanceof Map) return toWire(Object.fromEntries(value));
  const result: Record<string, unknown> = {};
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined || typeof member === 'function') continue;
    // Assigning to `__proto__` would set the prototype instead of a member.
    if (key === '__proto__') Object.defineProperty(result, key, { value: toWire(member), enumerable: true });
    else result[key] = toWire(member);
  }
  return result;
}
