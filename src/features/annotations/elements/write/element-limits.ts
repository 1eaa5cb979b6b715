import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { sortInSlices } from '../../../../core/concurrency/sort-in-slices.js';
import { BadParameterError } from '../../../../errors.js';

/** Maximum length of the JSON text of one element in bytes, enough for about 1.5 million points. */
export const maxElementBytes = 32 * 1024 * 1024;
/** Maximum size in bytes of a body outside its lists of elements. */
export const maxBytesOutsideLists = 8 * 1024 * 1024;
/** Maximum number of groups of an annotation. The annotation's document and lists of annotations contain all its groups. */
const maxGroups = 65_536;
/** Maximum total length of the names of an annotation's groups, in UTF-16 units. */
const maxTotalGroupLength = 1024 * 1024;

/** Makes the error for an element that is too long to store. */
export function elementTooLongError(index: number): BadParameterError {
  return new BadParameterError(`elements[${index}] is longer than ${maxElementBytes} bytes.`);
}

/** Number of groups between checks of the time. */
const groupsAtOnce = 1024;

/** @throws BadParameterError if the groups are too many, or their names are too long in total. */
export function checkGroupLimits(groups: ReadonlySet<string | null>): void {
  if (groups.size > maxGroups) throw new BadParameterError(`The elements have more than ${maxGroups} distinct groups.`);
  let length = 0;
  for (const group of groups) length += (group ?? '').length;
  if (length > maxTotalGroupLength) {
    throw new BadParameterError(
      `The distinct groups of the elements are longer than ${maxTotalGroupLength} characters in total.`,
    );
  }
}

/**
 * Returns the distinct groups in the order in which a document lists them: sorted, with `null` last. Unpaired surrogates become U+FFFD,
 * because not every database keeps them.
 */
export async function sortGroups(groups: Iterable<string | null>): Promise<(string | null)[]> {
  const distinctNames = new Set<string>();
  let hasNull = false;
  let seenCount = 0;
  for (const group of groups) {
    if (group === null) hasNull = true;
    else distinctNames.add(Buffer.from(group).toString());
    seenCount += 1;
    if (seenCount % groupsAtOnce === 0 && isSliceOver()) await nextSlice();
  }
  const names = [...distinctNames];
  const order = await sortInSlices(Uint32Array.from(names.keys()), (a, b) =>
    (names[a] as string) < (names[b] as string) ? -1 : 1,
  );
  const sortedNames: string[] = [];
  for (const index of order) sortedNames.push(names[index] as string);
  return hasNull ? [...sortedNames, null] : sortedNames;
}
