/**
 * Repeats a check until its result is truthy, and returns this. An error counts as a falsy result.
 *
 * @throws with `what` and the last error when the deadline has passed
 */
export async function until<T>(
  what: string,
  ask: () => T | Promise<T>,
  timeoutMs = 300_000,
): Promise<Exclude<T, undefined | null | false | 0 | ''>> {
  const deadline = Date.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    const askedAt = Date.now();
    try {
      const answer = await ask();
      // The truthy test is what the return type excludes.
      if (answer) return answer as Exclude<T, undefined | null | false | 0 | ''>;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) throw new Error(`Not within ${timeoutMs} ms: ${what}`, { cause: last });
    // The pause grows with the time of a check, so that checks leave a busy machine time for the work that they wait for.
    const pauseMs = Math.max(50, 2 * (Date.now() - askedAt));
    await new Promise((resolve) => setTimeout(resolve, Math.min(pauseMs, 1000)));
  }
}
