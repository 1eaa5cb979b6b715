import { BadParameterError } from '../../../errors.js';

/** Longest JSON text of one element, bytes: about 1.5 million points. */
export const maxElementBytes = 32 * 1024 * 1024;
/** Everything in a body that is no list of elements, bytes. */
export const maxOtherBytes = 8 * 1024 * 1024;
/** Names of all groups of an annotation together, UTF-16 units: each head document lists them. */
const maxGroupLength = 1024 * 1024;

/** The error of an element that is too long to be stored. */
export function elementTooLong(index: number): BadParameterError {
  return new BadParameterError(`elements[${index}] is longer than ${maxElementBytes} bytes.`);
}

/** @throws BadParameterError when a head could not list all groups. */
export function requireListableGroups(groups: Iterable<string | null>): void {
  let length = 0;
  for (const group of groups) length += (group ?? '').length;
  if (length > maxGroupLength) {
    throw new BadParameterError(`The distinct groups of the elements are longer than ${maxGroupLength} characters together.`);
  }
}

/** Distinct groups as a head lists them: sorted, `null` last, and as every database keeps text: unpaired surrogates are U+FFFD. */
export function sortedGroups(groups: Iterable<string | null>): (string | null)[] {
  const distinct = new Set(Array.from(groups, (group) => group && Buffer.from(group).toString()));
  const names = [...distinct].filter((group) => group !== null).sort();
  return distinct.has(null) ? [...names, null] : names;
}
