import { BadParameterError } from '../../../../errors.js';

/** Makes the error for a body that is not JSON, with the message that existing clients expect. */
export function invalidJsonError(extra: string): BadParameterError {
  return new BadParameterError('Invalid JSON passed in request body.', { details: { extra } });
}

/** Counts the keys at all depths of a parsed value. */
export function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i += 1) {
      const entry: unknown = value[i];
      if (typeof entry === 'object') count += countKeys(entry);
    }
    return count;
  }
  for (const entry of Object.values(value)) count += 1 + (typeof entry === 'object' ? countKeys(entry) : 0);
  return count;
}
