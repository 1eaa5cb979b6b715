import { sharedAbortController } from '../../core/concurrency/abort.js';
import { LargeImageError } from '../../errors.js';

interface SharedTask<Result> {
  result: Promise<Result>;
  waitingCallers: number;
  controller: AbortController;
  /** Whether the work has succeeded, so that there is nothing left to abort. */
  isDone: boolean;
}

/** Does work once for all callers that need it at the same time, and aborts it when no caller is waiting. */
export class SharedWork<Result> {
  readonly #tasks = new Map<string, SharedTask<Result>>();

  /**
   * Joins the work with this name, or starts it.
   *
   * @param work gets a signal that is aborted when no caller is waiting.
   * @param signal when it is aborted, this caller stops waiting and gets the signal's reason. Other callers keep waiting.
   */
  async join(name: string, work: (signal: AbortSignal) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted();
    const shared = this.#tasks.get(name) ?? this.#begin(name, work);
    shared.waitingCallers += 1;
    try {
      return await awaitOrAbort(shared.result, signal);
    } finally {
      shared.waitingCallers -= 1;
      if (shared.waitingCallers === 0 && !shared.isDone) {
        this.#forget(name, shared);
        shared.controller.abort(
          new LargeImageError('unavailable', 'The work was canceled, because no request waits for it anymore.'),
        );
      }
    }
  }

  #begin(name: string, work: (signal: AbortSignal) => Promise<Result>): SharedTask<Result> {
    const controller = sharedAbortController();
    const shared: SharedTask<Result> = { result: work(controller.signal), waitingCallers: 0, controller, isDone: false };
    this.#tasks.set(name, shared);
    shared.result.then(
      () => {
        shared.isDone = true;
        this.#forget(name, shared);
      },
      // The waiting callers get the error. If no caller is left, the error is ignored.
      () => this.#forget(name, shared),
    );
    return shared;
  }

  #forget(name: string, shared: SharedTask<Result>): void {
    if (this.#tasks.get(name) === shared) this.#tasks.delete(name);
  }
}

/**
 * Waits for the result.
 *
 * @throws the signal's reason if the signal is aborted first.
 */
export async function awaitOrAbort<Result>(result: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return result;
  let abort: (() => void) | undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([result, aborted]);
  } finally {
    signal.removeEventListener('abort', abort!);
  }
}
