/**
 * Maximum number of values that users can store in a document: numbers, texts, lists, objects and everything in them. The driver
 * writes and reads a document without a pause, and each value takes time.
 */
export const maxStoredValues = 20_000;

/** Whether a value consists of more values than one document can contain. */
export function hasTooManyValues(value: unknown): boolean {
  return countDown(value, maxStoredValues) < 0;
}

/** Subtracts the number of values in a value from `left`; the result is below 0 as soon as there are too many. */
function countDown(value: unknown, left: number): number {
  let rest = left - 1;
  if (typeof value !== 'object' || value === null || rest < 0) return rest;
  if (Array.isArray(value)) {
    if (value.length > rest) return -1;
    for (let i = 0; i < value.length && rest >= 0; i += 1) rest = countDown(value[i], rest);
    return rest;
  }
  for (const name in value) {
    rest = countDown((value as Record<string, unknown>)[name], rest);
    if (rest < 0) break;
  }
  return rest;
}
