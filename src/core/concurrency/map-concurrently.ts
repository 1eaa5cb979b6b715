import pLimit from 'p-limit';

/** Calls `work` for each item, `concurrency` at a time; begins no further ones after the first failure. Results keep their order. */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const limit = pLimit(concurrency);
  const watched = async (item: T): Promise<R> => {
    try {
      return await work(item);
    } catch (error) {
      limit.clearQueue();
      throw error;
    }
  };
  return limit.map(items, watched);
}
