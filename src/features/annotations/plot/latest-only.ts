import { LRUCache } from 'lru-cache';
import { sharedAbortController } from '../../../core/concurrency/abort.js';

/** Maximum number of names to remember. */
const maxNames = 1000;

/** Cancels earlier work when new work of the same name starts. */
export class LatestOnly {
  readonly #controllerByName = new LRUCache<string, AbortController>({ max: maxNames });

  /** Begins work, and aborts the signal of earlier work of this name. The caller must call `end` when the work has ended. */
  begin(name: string): { signal: AbortSignal; end: () => void } {
    this.#controllerByName.get(name)?.abort();
    const controller = sharedAbortController();
    this.#controllerByName.set(name, controller);
    const end = () => {
      if (this.#controllerByName.get(name) === controller) this.#controllerByName.delete(name);
    };
    return { signal: controller.signal, end };
  }
}
