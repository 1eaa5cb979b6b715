/** A request about many things is answered after this time, in milliseconds, even if its work goes on. Proxies give up after a minute. */
export const answerLimitMs = 20_000;

/**
 * Returns the result of work that ends within `ms`. Otherwise returns `answer()` after that time, while the work continues.
 *
 * @param options `failed` is called with the error if the work fails after `answer()` was returned.
 * @throws the error of work that fails within `ms`.
 */
export function inTime<T>(
  work: Promise<T>,
  { answer, failed, ms = answerLimitMs }: { answer: () => T | Promise<T>; failed: (error: unknown) => void; ms?: number },
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
