import { InvalidError } from '../../../larger-host.js';

/** Largest length of a name in UTF-16 units. Such a name fits into a header in any alphabet. */
const maxLength = 1024;

/**
 * Checks a name. Returns it without white space at its ends.
 *
 * @param typeName word for the named thing in messages, such as `Item`.
 * @throws InvalidError if the name is empty or too long.
 */
export function checkName(typeName: string, name: string, field = 'name'): string {
  const trimmedName = name.trim();
  if (trimmedName === '') throw new InvalidError(`${typeName} name must not be empty.`, field);
  if (trimmedName.length > maxLength)
    throw new InvalidError(`${typeName} name must have at most ${maxLength} characters.`, field);
  return trimmedName;
}

/**
 * Computes the forms of a name by which lists are sorted. In `naturalName` each run of digits is preceded by its length, so that numbers are
 * sorted by value (`slide 2` before `slide 10`). A length of two or more digits is written as `:` and four digits; `:` sorts after `9`.
 */
export function computeSortableNames(name: string): { lowerName: string; naturalName: string } {
  const lowerName = name.toLowerCase();
  const naturalName = lowerName.replace(/\d+/g, (digits) => {
    const number = digits.replace(/^0+(?=\d)/, '');
    return `${number.length < 10 ? number.length : `:${String(number.length).padStart(4, '0')}`}${number}`;
  });
  return { lowerName, naturalName };
}
