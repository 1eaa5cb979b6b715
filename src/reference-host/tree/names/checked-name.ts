import { InvalidError } from '../../../index.js';

/** Longest name, in UTF-16 units: it fits in a header of an answer, whatever its alphabet. */
const maxLength = 1024;

/**
 * A name without blanks at its ends.
 *
 * @param what is named, as messages say it: `Item`.
 * @throws InvalidError when nothing is left, or too much.
 */
export function checkedName(what: string, name: string, field = 'name'): string {
  const trimmed = name.trim();
  if (trimmed === '') throw new InvalidError(`${what} name must not be empty.`, field);
  if (trimmed.length > maxLength) throw new InvalidError(`${what} name must have at most ${maxLength} characters.`, field);
  return trimmed;
}
