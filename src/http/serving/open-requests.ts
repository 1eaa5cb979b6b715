import { LargeImageError, type ErrorCode } from '../../errors.js';

/** A request that stays open while its body arrives, or while its response is sent. */
export interface OpenRequest {
  /** Resolves if the request can continue, and rejects if it cannot. */
  check(): Promise<unknown>;
  /** Ends the request with an error. */
  end(reason: LargeImageError): void;
}

/** Time between two checks of the same request, in milliseconds. */
const checkIntervalMs = 1000;
/** How often the watcher looks for requests whose check is due, in milliseconds. */
const sweepIntervalMs = 250;
/** How long a request can continue while it cannot be checked, for example while the database is down. */
const maxUndecidedMs = 30_000;

/** Errors after which it is unknown whether the request can continue. */
const undecidedErrors: readonly ErrorCode[] = ['unavailable', 'busy', 'too-often'];
const refusals: readonly ErrorCode[] = ['access-denied', 'login-required', 'forbidden'];

interface WatchedRequest {
  readonly request: OpenRequest;
  /** When the last check began. */
  checkedAt: number;
  /** When the last check with a known outcome ended. */
  decidedAt: number;
  isBeingChecked: boolean;
}

/**
 * Watches requests that stay open, and ends those whose token or permissions are no longer sufficient. This takes little more than
 * a second, plus the time for which verdicts are cached. A request whose documents were removed continues.
 */
export class OpenRequests {
  readonly #watchedRequests = new Set<WatchedRequest>();
  #timer: NodeJS.Timeout | undefined;

  /** Watches a request until the returned function is called. */
  watch(request: OpenRequest): () => void {
    const now = performance.now();
    const watched: WatchedRequest = { request, checkedAt: now, decidedAt: now, isBeingChecked: false };
    this.#watchedRequests.add(watched);
    this.#timer ??= setInterval(() => this.#sweep(), sweepIntervalMs).unref();
    return () => {
      this.#watchedRequests.delete(watched);
      if (this.#watchedRequests.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  #sweep(): void {
    const now = performance.now();
    for (const watched of this.#watchedRequests)
      if (!watched.isBeingChecked && now - watched.checkedAt >= checkIntervalMs) void this.#check(watched);
  }

  async #check(watched: WatchedRequest): Promise<void> {
    watched.isBeingChecked = true;
    watched.checkedAt = performance.now();
    const reason = await findRefusal(watched);
    watched.isBeingChecked = false;
    if (reason === null || !this.#watchedRequests.delete(watched)) return;
    watched.request.end(reason);
  }
}

/** Checks a request. @returns the reason to end the request; `null` if the request can continue */
async function findRefusal(watched: WatchedRequest): Promise<LargeImageError | null> {
  try {
    await watched.request.check();
  } catch (error) {
    if (!(error instanceof LargeImageError) || undecidedErrors.includes(error.code)) {
      const isOverdue = performance.now() - watched.decidedAt > maxUndecidedMs;
      return isOverdue ? new LargeImageError('unavailable', 'Permissions could not be checked.', { cause: error }) : null;
    }
    if (refusals.includes(error.code)) return error;
  }
  watched.decidedAt = performance.now();
  return null;
}
