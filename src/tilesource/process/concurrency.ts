/** Calls `work` for each item, `limit` at a time; stops starting new ones after the first failure. Results keep their order. */
export async function mapConcurrently<T, R>(items: readonly T[], limit: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const results = Array.from<R>({ length: items.length });
  let next = 0;
  let failed = false;
  const worker = async () => {
    while (next < items.length && !failed) {
      const position = next;
      next += 1;
      try {
        results[position] = await work(items[position] as T);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  return results;
}

/** Lets other work have the event loop for a moment. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
