import { sharedAbortController } from '../../core/concurrency/abort.js';
import { LargeImageError } from '../../errors.js';

interface SharedTask<Result> {
  result: Promise<Result>;
  waiting: number;
  controller: AbortController;
  /** Whether the work is finished, so that it can no longer be aborted. */
  done: boolean;
}

/** Does work once for all callers that need it at the same time, and aborts it when no caller is waiting. */
export class SharedWork<Result> {
  readonly #underWay = new Map<string, SharedTask<Result>>();

  /**
   * Joins the work with this name, or starts it.
   *
   * @param work gets a signal that is aborted when no caller is waiting.
   * @param signal ends only the waiting of this caller, with its reason.
   */
  async join(name: string, work: (signal: AbortSignal) => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted();
    const shared = this.#underWay.get(name) ?? this.#begin(name, work);
    shared.waiting += 1;
    try {
      return await awaitOrAbort(shared.result, signal);
    } finally {
      shared.waiting -= 1;
      if (shared.waiting === 0 && !shared.done) {
        this.#forget(name, shared);
        shared.controller.abort(
          new LargeImageError('unavailable', 'The work was canceled, because no request waits for it anymore.'),
        );
      }
    }
  }

  #begin(name: string, work: (signal: AbortSignal) => Promise<Result>): SharedTask<Result> {
    const controller = sharedAbortController();
    const shared: SharedTask<Result> = { result: work(controller.signal), waiting: 0, controller, done: false };
    this.#underWay.set(name, shared);
    shared.result.then(
      () => {
        shared.done = true;
        this.#forget(name, shared);
      },
      // The waiting callers get the error. If there are none left, it is ignored.
      () => this.#forget(name, shared),
    );
    return shared;
  }

  #forget(name: string, shared: SharedTask<Result>): void {
    if (this.#underWay.get(name) === shared) this.#underWay.delete(name);
  }
}

/** The result of the work, unless the signal is aborted first. */
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
