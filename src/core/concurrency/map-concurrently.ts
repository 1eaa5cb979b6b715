import { isSliceOver, nextSlice } from './slices.js';

/**
 * Calls `work` for each item, for `concurrency` items at a time, and stops after the first failure. Results are in the order of the
 * items. The event loop can do other work in between, even if no call has to wait for anything.
 */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  concurrency: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = Array.from({ length: items.length });
  let nextIndex = 0;
  const workThroughItems = async (): Promise<void> => {
    while (nextIndex < items.length) {
      const index = nextIndex++;
      try {
        results[index] = await work(items[index]!);
      } catch (error) {
        nextIndex = items.length;
        throw error;
      }
      if (isSliceOver()) await nextSlice();
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, workThroughItems));
  return results;
}
