/** Maximum number of ids in one `$in`, because some databases are slow with thousands. */
export const idsPerQuery = 500;

/** Groups values into lists of `size`; the last list may be shorter. */
export async function* inParts<T>(values: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let part: T[] = [];
  for await (const value of values) {
    part.push(value);
    if (part.length < size) continue;
    yield part;
    part = [];
  }
  if (part.length > 0) yield part;
}

/** Splits a list of ids into parts that fit into one query. */
export function* batches<T>(ids: readonly T[]): Generator<readonly T[]> {
  for (let i = 0; i < ids.length; i += idsPerQuery) yield ids.slice(i, i + idsPerQuery);
}
