/**
 * Maximum number of values that users can store in a document: numbers, texts, lists, objects and all values in them. The driver
 * writes and reads a document without a pause, and each value takes time.
 */
export const maxStoredValues = 20_000;

/** Whether a value consists of more values than one document can contain. */
export function hasTooManyValues(value: unknown): boolean {
  return subtractValues(value, maxStoredValues) < 0;
}

/** Subtracts the number of values in a value from `available`. The count stops when the result is below 0. */
function subtractValues(value: unknown, available: number): number {
  let remaining = available - 1;
  if (typeof value !== 'object' || value === null || remaining < 0) return remaining;
  if (Array.isArray(value)) {
    if (value.length > remaining) return -1;
    for (let i = 0; i < value.length && remaining >= 0; i += 1) remaining = subtractValues(value[i], remaining);
    return remaining;
  }
  for (const name in value) {
    remaining = subtractValues((value as Record<string, unknown>)[name], remaining);
    if (remaining < 0) break;
  }
  return remaining;
}
