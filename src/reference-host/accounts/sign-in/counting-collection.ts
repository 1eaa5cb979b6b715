import type { Model } from 'mongoose';
import { KeyedQueues } from '../../../larger-host.js';
import type { AttemptDocument } from './attempt.model.js';

type Collection = Model<AttemptDocument>['collection'];
type KeyFilter = { key: string };

/**
 * The collection of attempts, as rate-limiter-flexible uses it, with only one write per key at a time. Otherwise many sign-ins as one user
 * would write to the same document at the same time, and engines on PostgreSQL take about one second to resolve each such conflict.
 */
export class CountingCollection {
  readonly #writes = new KeyedQueues();

  constructor(private readonly collection: () => Collection) {}

  findOne(...args: Parameters<Collection['findOne']>): ReturnType<Collection['findOne']> {
    return this.collection().findOne(...args);
  }

  deleteOne(filter: KeyFilter): ReturnType<Collection['deleteOne']> {
    return this.#writes.run(filter.key, () => this.collection().deleteOne(filter));
  }

  /**
   * If two processes insert the first attempt of a key at once, engines on PostgreSQL refuse the second insert with an error that the limiter
   * does not recognize as a duplicate key. The write is then repeated, and updates the document that the other process inserted.
   */
  findOneAndUpdate(filter: KeyFilter, ...args: Tail<Parameters<Collection['findOneAndUpdate']>>) {
    return this.#writes.run(filter.key, async () => {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await this.collection().findOneAndUpdate(filter, ...args);
        } catch (error) {
          if (attempt === 5 || !String(error).includes('violates exclusion constraint')) throw error;
        }
      }
    });
  }
}

type Tail<List extends unknown[]> = List extends [unknown, ...infer Rest] ? Rest : never;
