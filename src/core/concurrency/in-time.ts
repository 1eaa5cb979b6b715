/** How long the client of a request about very many things waits for its end, in milliseconds: proxies give up after a minute as a rule. */
export const answerMs = 20_000;

/**
 * What work gives when it ends in the time that clients wait; else what is to be answered then, while the work goes on.
 *
 * @throws what the work throws in that time. What it throws afterwards is for `failed`.
 */
export function inTime<T>(
  work: Promise<T>,
  { answer, failed, ms = answerMs }: { answer: () => T; failed: (error: unknown) => void; ms?: number },
): Promise<T> {
  return new Promise((resolve, reject) => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      resolve(answer());
    }, ms);
    work
      .then(resolve, (error: unknown) => {
        if (isLate) failed(error);
        else reject(error as Error);
      })
      .finally(() => clearTimeout(timer));
  });
}
