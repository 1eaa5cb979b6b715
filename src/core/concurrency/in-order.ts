/** Does the work for each key one after another. Work for different keys runs at the same time. */
export class InOrder {
  readonly #lastByKey: Map<string, Promise<unknown>> = new Map();

  /** Does work when all earlier work for its key has ended, even if that has failed. */
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
