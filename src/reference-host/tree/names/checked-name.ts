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

/**
 * What lists are ordered by, from a name: `lowerName`, and `naturalName`, where numbers count as such (`slide 2` before `slide 10`): each run of
 * digits has its length before it.
 */
export function orderOf(name: string): { lowerName: string; naturalName: string } {
  const lowerName = name.toLowerCase();
  const naturalName = lowerName.replace(/\d+/g, (digits) => {
    const number = digits.replace(/^0+(?=\d)/, '');
    return `${number.length < 10 ? number.length : `:${String(number.length).padStart(4, '0')}`}${number}`;
  });
  return { lowerName, naturalName };
}
