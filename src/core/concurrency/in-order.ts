/** Does work one after another for each key, while other keys do not wait. */
export class InOrder {
  readonly #last: Map<string, Promise<unknown>> = new Map();

  /** Does work when all earlier work for its key has ended, even if that has failed. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const previous = this.#last.get(key) ?? Promise.resolve();
    const result = previous.then(work, work);
    this.#last.set(key, result);
    try {
      return await result;
    } finally {
      if (this.#last.get(key) === result) this.#last.delete(key);
    }
  }
}
