import type { Model } from 'mongoose';
import type { AttemptDocument } from './attempt.model.js';

type Collection = Model<AttemptDocument>['collection'];
type Keyed = { key: string };

/**
 * The collection of attempts as rate-limiter-flexible writes to it: one write of a key at a time. A crowd that signs in as one user would
 * otherwise collide in the same document, and engines on PostgreSQL take a second for each collision that they notice.
 */
export class CountingCollection {
  /** The last write of each key, while it goes on. */
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(private readonly collection: () => Collection) {}

  findOne(...args: Parameters<Collection['findOne']>): ReturnType<Collection['findOne']> {
    return this.collection().findOne(...args);
  }

  deleteOne(filter: Keyed): ReturnType<Collection['deleteOne']> {
    return this.#inOrder(filter.key, () => this.collection().deleteOne(filter));
  }

  /**
   * Where engines on PostgreSQL refuse the second of two first attempts, of two processes, by a message that the limiter does not know for a
   * duplicate key, the attempt is made again: it then finds what the first one wrote.
   */
  findOneAndUpdate(filter: Keyed, ...args: Tail<Parameters<Collection['findOneAndUpdate']>>) {
    return this.#inOrder(filter.key, async () => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await this.collection().findOneAndUpdate(filter, ...args);
        } catch (error) {
          if (attempt === 5 || !String(error).includes('violates exclusion constraint')) throw error;
        }
      }
    });
  }

  async #inOrder<T>(key: string, write: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const own = before.then(write, write);
    this.#last.set(key, own);
    try {
      return await own;
    } finally {
      if (this.#last.get(key) === own) this.#last.delete(key);
    }
  }
}

type Tail<List extends unknown[]> = List extends [unknown, ...infer Rest] ? Rest : never;
