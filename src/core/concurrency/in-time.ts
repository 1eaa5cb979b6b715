/** How long a request about very many things may take before it is answered, in milliseconds. Most proxies give up after a minute. */
export const answerMs = 20_000;

/**
 * Gives the result of work that ends in time. Otherwise it gives `answer()` when the time is over, while the work goes on.
 *
 * @param options `failed` is called with the error when the work fails after that.
 * @throws what the work throws in time.
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
