/**
 * Maximum time for the answer to a request about many documents, in milliseconds. If the work takes longer, the request gets an
 * interim answer, because proxies give up after a minute.
 */
export const answerLimitMs = 20_000;

/**
 * Returns the result of work that ends within `ms`. Otherwise returns `interimAnswer()` after that time, while the work continues.
 *
 * @param options `onLateError` is called if the work fails after `ms`.
 * @throws the error of `work` if it fails within `ms`.
 */
export function answerInTime<T>(
  work: Promise<T>,
  {
    interimAnswer,
    onLateError,
    ms = answerLimitMs,
  }: { interimAnswer: () => T | Promise<T>; onLateError: (error: unknown) => void; ms?: number },
): Promise<T> {
  return new Promise((resolve, reject) => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      resolve(interimAnswer());
    }, ms);
    work
      .then(resolve, (error: unknown) => {
        if (isLate) onLateError(error);
        else reject(error as Error);
      })
      .finally(() => clearTimeout(timer));
  });
}
