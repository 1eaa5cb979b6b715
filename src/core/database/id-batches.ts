/** Ids in one `$in`: some engines are slow with thousands. */
export const idsPerQuery = 500;

/** What comes one by one, in lists of some. */
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

/** A list cut into parts that one query may ask for. */
export function* batches<T>(ids: readonly T[]): Generator<readonly T[]> {
  for (let i = 0; i < ids.length; i += idsPerQuery) yield ids.slice(i, i + idsPerQuery);
}
