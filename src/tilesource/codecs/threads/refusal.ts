import { TileSourceError } from '../../../errors.js';

/** Message of a TileSourceError. Errors lose their class on the way to another thread. */
export interface Refusal {
  refused: string;
}

/** The result of some work in a thread, or why a file was refused. */
export function orRefusal<R>(work: () => R): R | Refusal {
  try {
    return work();
  } catch (error) {
    if (error instanceof TileSourceError) return { refused: error.message };
    throw error;
  }
}
