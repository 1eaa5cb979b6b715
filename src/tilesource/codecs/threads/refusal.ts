import { TileSourceError } from '../../../errors.js';

/** The message of a TileSourceError. The error itself is not sent, because errors lose their class on the way to another thread. */
export interface Refusal {
  refused: string;
}

/** Returns the result of some work in a thread, or the refusal if the work throws a TileSourceError. */
export function resultOrRefusal<R>(work: () => R): R | Refusal {
  try {
    return work();
  } catch (error) {
    if (error instanceof TileSourceError) return { refused: error.message };
    throw error;
  }
}
