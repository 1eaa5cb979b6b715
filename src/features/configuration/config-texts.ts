import { ThreadPool } from '../../core/concurrency/thread-pool.js';
import { programOf } from '../../core/concurrency/program.js';
import type { TextFunctions } from './text-thread.js';

const timeoutMs = 10_000;
const memoryMiB = 256;

/** Checks and formats configuration texts in a thread: what that costs is not to be seen from their length. */
export class ConfigTexts {
  readonly #threads = new ThreadPool<TextFunctions>({
    program: programOf(import.meta.url, { source: './text-thread.ts', built: 'text-thread' }),
    name: 'configurations',
    timeoutMs,
    memoryMiB,
  });

  /** What is wrong with a text: no entry when it is valid, else one. */
  validate(text: string, signal?: AbortSignal) {
    return this.#threads.run('validate', text, { what: 'The configuration', signal });
  }

  /** A text in its normal form; as it is where it has none. */
  format(text: string, signal?: AbortSignal) {
    return this.#threads.run('format', text, { what: 'The configuration', signal });
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}
