import type { HostLogger } from '../../src/index.js';

/** FerretDB's engine refuses one of two colliding writes with this text, which no MongoDB does. */
export function isDeadlock(error: unknown): boolean {
  return /deadlock detected/.test(String(error));
}

/** Does work again that such a refusal has ended. */
export async function retryDeadlock<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isDeadlock(error)) throw error;
    }
  }
}

/** Notices the refusals that a server has logged, for tests that see no more than its answer 500. */
export class DeadlockLog implements HostLogger {
  #count = 0;

  debug(): void {}
  info(): void {}
  warn(): void {}

  error(fields: object): void {
    if ('err' in fields && isDeadlock(fields.err)) this.#count += 1;
  }

  /** Whether one was logged that nobody has asked for yet. */
  takeOne(): boolean {
    if (this.#count === 0) return false;
    this.#count -= 1;
    return true;
  }
}
