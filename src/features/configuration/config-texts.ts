import { ThreadPool } from '../../core/concurrency/thread-pool.js';
import { findProgram } from '../../core/concurrency/program.js';
import type { TextFunctions } from './text-thread.js';

const timeoutMs = 10_000;
const memoryMiB = 256;

/** Checks and formats configuration texts in a thread, because even a short text may take a long time. */
export class ConfigTexts {
  readonly #threads = new ThreadPool<TextFunctions>({
    program: findProgram(import.meta.url, { source: './text-thread.ts', built: 'text-thread' }),
    name: 'configurations',
    timeoutMs,
    memoryMiB,
  });

  /** Checks a text. @returns an empty list if it is valid, otherwise a list with the first problem. */
  validate(text: string, signal?: AbortSignal) {
    return this.#threads.run('validate', text, { inputName: 'The configuration', signal });
  }

  /** Formats a text. A text that cannot be formatted is returned unchanged. */
  format(text: string, signal?: AbortSignal) {
    return this.#threads.run('format', text, { inputName: 'The configuration', signal });
  }

  close(): Promise<void> {
    return this.#threads.close();
  }
}
