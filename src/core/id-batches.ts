/** Ids in one `$in`: some engines are slow with thousands. */
export const idsPerQuery = 500;

/** A list cut into parts that one query may ask for. */
export function* batches(ids: readonly string[]): Generator<readonly string[]> {
  for (let i = 0; i < ids.length; i += idsPerQuery) yield ids.slice(i, i + idsPerQuery);
}
