import { LRUCache } from 'lru-cache';
import { sharedAbortController } from './abort.js';

/** Names that are remembered. */
const maxNames = 1000;

/** Work of which only the newest of each name is wanted. */
export class LatestOnly {
  readonly #current = new LRUCache<string, AbortController>({ max: maxNames });

  /** Begins work and ends the former one of this name: its signal is aborted. */
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
