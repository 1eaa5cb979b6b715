import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { sortInSlices } from '../../../../core/concurrency/sort-in-slices.js';
import { BadParameterError } from '../../../../errors.js';

/** Longest JSON text of one element in bytes: about 1.5 million points. */
export const maxElementBytes = 32 * 1024 * 1024;
/** Maximum size of a body without its lists of elements, in bytes. */
export const maxOtherBytes = 8 * 1024 * 1024;
/** Maximum number of groups of an annotation. Its document and lists of annotations contain them all. */
const maxGroups = 65_536;
/** Maximum total length of the names of an annotation's groups in UTF-16 units, because its document contains them. */
const maxGroupLength = 1024 * 1024;

/** The error for an element that is too long to store. */
export function elementTooLong(index: number): BadParameterError {
  return new BadParameterError(`elements[${index}] is longer than ${maxElementBytes} bytes.`);
}

/** Number of groups between checks of the time. */
const groupsAtOnce = 1024;

/** @throws BadParameterError if an annotation has too many groups. */
export function requireListableGroups(groups: ReadonlySet<string | null>): void {
  if (groups.size > maxGroups) throw new BadParameterError(`The elements have more than ${maxGroups} distinct groups.`);
  let length = 0;
  for (const group of groups) length += (group ?? '').length;
  if (length > maxGroupLength) {
    throw new BadParameterError(`The distinct groups of the elements are longer than ${maxGroupLength} characters in total.`);
  }
}

/**
 * Distinct groups as a document lists them: sorted, `null` last. Unpaired surrogates become U+FFFD, because not every database
 * keeps them.
 */
export async function sortedGroups(groups: Iterable<string | null>): Promise<(string | null)[]> {
  const distinct = new Set<string>();
  let hasNone = false;
  let seen = 0;
  for (const group of groups) {
    if (group === null) hasNone = true;
    else distinct.add(Buffer.from(group).toString());
    seen += 1;
    if (seen % groupsAtOnce === 0 && isSliceOver()) await nextSlice();
  }
  const names = [...distinct];
  const order = await sortInSlices(Uint32Array.from(names.keys()), (a, b) =>
    (names[a] as string) < (names[b] as string) ? -1 : 1,
  );
  const sorted: (string | null)[] = [];
  for (const index of order) sorted.push(names[index] as string);
  return hasNone ? [...sorted, null] : sorted;
}
