/**
 * Repeats a question until its answer is truthy and returns that; an error of the question counts as no.
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
    // Many who ask much of a busy machine leave it the time to do what they wait for.
    const pauseMs = Math.max(50, 2 * (Date.now() - askedAt));
    await new Promise((resolve) => setTimeout(resolve, Math.min(pauseMs, 1000)));
  }
}
