/** One queue per key: work for the same key runs one after another, work for different keys at the same time. */
export class KeyedQueues {
  readonly #lastByKey: Map<string, Promise<unknown>> = new Map();

  /** Runs the work when all earlier work for its key has ended, even if that earlier work failed. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const previous = this.#lastByKey.get(key) ?? Promise.resolve();
    const result = previous.then(work, work);
    this.#lastByKey.set(key, result);
    try {
      return await result;
    } finally {
      if (this.#lastByKey.get(key) === result) this.#lastByKey.delete(key);
    }
  }
}
