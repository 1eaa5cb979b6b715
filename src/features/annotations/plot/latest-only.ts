import { LRUCache } from 'lru-cache';
import { sharedAbortController } from '../../../core/concurrency/abort.js';

/** Maximum number of names to remember. */
const maxNames = 1000;

/** Cancels earlier work when new work with the same name starts. */
export class LatestOnly {
  readonly #current = new LRUCache<string, AbortController>({ max: maxNames });

  /** Starts work, and aborts the signal of the previous work with this name. */
  begin(name: string): { signal: AbortSignal; end: () => void } {
    this.#current.get(name)?.abort();
    const newest = sharedAbortController();
    this.#current.set(name, newest);
    const end = () => {
      if (this.#current.get(name) === newest) this.#current.delete(name);
    };
    return { signal: newest.signal, end };
  }
}
