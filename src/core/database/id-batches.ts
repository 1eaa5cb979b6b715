/** Maximum number of ids in one `$in`, because some databases are slow with thousands. */
export const idsPerQuery = 500;

/** Groups values into lists of `size`; the last list may be shorter. */
export async function* inParts<T>(values: AsyncIterable<T> | Iterable<T>, size: number): AsyncGenerator<T[]> {
  let part: T[] = [];
  for await (const value of values) {
    part.push(value);
    if (part.length < size) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}

/** Splits a list into parts of `size`, by default ids that fit into one query. The last part may be shorter. */
export function* batches<T>(list: readonly T[], size = idsPerQuery): Generator<readonly T[]> {
  for (let i = 0; i < list.length; i += size) yield list.slice(i, i + size);
}
