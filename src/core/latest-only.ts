import { LRUCache } from 'lru-cache';
import { sharedAbortController } from './abort.js';

/** Names of turns that are remembered. */
const maxTurns = 1000;

/** Work of which only the newest of each name is wanted. */
export class Turns {
  readonly #current = new LRUCache<string, AbortController>({ max: maxTurns });

  /** Begins a turn and ends the former one of this name: its signal is aborted. */
  begin(name: string): { signal: AbortSignal; end: () => void } {
    this.#current.get(name)?.abort();
    const turn = sharedAbortController();
    this.#current.set(name, turn);
    const end = () => {
      if (this.#current.get(name) === turn) this.#current.delete(name);
    };
    return { signal: turn.signal, end };
  }
}
