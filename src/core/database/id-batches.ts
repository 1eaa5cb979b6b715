/** Maximum number of ids in one `$in`, because some databases are slow with thousands of ids. */
export const idsPerQuery = 500;

/** Groups values into lists of `size` as the values arrive. The last list may be shorter. */
export async function* groupInBatches<T>(values: AsyncIterable<T> | Iterable<T>, size: number): AsyncGenerator<T[]> {
  let batch: T[] = [];
  for await (const value of values) {
    batch.push(value);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Splits a list into lists of `size`, by default {@link idsPerQuery}. The last list may be shorter. */
export function* batches<T>(list: readonly T[], size = idsPerQuery): Generator<readonly T[]> {
  for (let i = 0; i < list.length; i += size) yield list.slice(i, i + size);
}
