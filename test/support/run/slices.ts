/**
 * How often work on the event loop lets other work run. With a clock by which each slice ends at once, this is how often the work
 * checks the clock. This number is the same on every machine, however fast or busy it is.
 */
export async function slicesOf(work: () => Promise<unknown>): Promise<number> {
  const { setImmediate: realSetImmediate } = globalThis;
  const clock = performance.now.bind(performance);
  let now = performance.now();
  let slices = 0;
  performance.now = () => (now += 1000);
  globalThis.setImmediate = ((callback: (...args: unknown[]) => void, ...args: unknown[]) => {
    if (callback.name !== 'endSlice') slices += 1;
    return realSetImmediate(callback, ...args);
  }) as typeof setImmediate;
  try {
    await work();
    return slices;
  } finally {
    // Ends the slice that began with this clock.
    await new Promise<void>((resolve) => void realSetImmediate(resolve));
    performance.now = clock;
    globalThis.setImmediate = realSetImmediate;
  }
}
