/**
 * Calls `work` for each item, and yields the results in the order of the items. The work for some further items has begun
 * meanwhile.
 *
 * @param atOnce number of items that are worked on at the same time; with 1, each begins after the result before was taken.
 */
export async function* mapAhead<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  atOnce: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  const running: Promise<R>[] = [];
  for await (const item of items) {
    const result = work(item);
    // Its error is thrown when its turn comes; until then, it must not count as unhandled.
    result.catch(() => undefined);
    running.push(result);
    if (running.length >= atOnce) yield await running.shift()!;
  }
  for (const result of running) yield await result;
}
