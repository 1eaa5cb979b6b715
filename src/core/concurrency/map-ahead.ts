/**
 * Calls `work` for each item, and yields the results in the order of the items. While a result is used, the work for
 * some further items already runs.
 *
 * @param concurrency number of items that are worked on at the same time; with 1, the work for an item begins only after the
 * previous result was taken.
 */
export async function* mapAhead<T, R>(
  items: AsyncIterable<T> | Iterable<T>,
  concurrency: number,
  work: (item: T) => Promise<R>,
): AsyncGenerator<R, void, undefined> {
  const running: Promise<R>[] = [];
  for await (const item of items) {
    const result = work(item);
    // An error of `work` is thrown when the turn of this item comes. Until then, the error must not count as unhandled.
    result.catch(() => undefined);
    running.push(result);
    if (running.length >= concurrency) yield await running.shift()!;
  }
  for (const result of running) yield await result;
}
