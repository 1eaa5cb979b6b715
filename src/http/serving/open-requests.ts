import { LargeImageError, type ErrorCode } from '../../errors.js';

/** A request that stays open while its body arrives, or while its response is sent. */
export interface OpenRequest {
  /** Resolves if the request can continue, and rejects if it cannot. */
  check(): Promise<unknown>;
  /** Ends it. */
  end(reason: LargeImageError): void;
}

/** Time between two checks of a request, in milliseconds. */
const checkIntervalMs = 1000;
const sweepMs = 250;
/** How long a request can continue while it cannot be checked, for example while the database is down. */
const maxUndecidedMs = 30_000;

/** Errors after which it is unknown whether the request can continue. */
const undecidedErrors: readonly ErrorCode[] = ['unavailable', 'busy', 'too-often'];
const refusals: readonly ErrorCode[] = ['access-denied', 'login-required', 'forbidden'];

interface Entry {
  readonly request: OpenRequest;
  /** Time of the last check, and of the last check whose outcome is known. */
  checkedAt: number;
  decidedAt: number;
  isBeingChecked: boolean;
}

/**
 * Watches requests that stay open, and ends those whose token or permissions are no longer sufficient, within little more than a
 * second plus the lifetime of cached verdicts. A request whose documents were removed continues.
 */
export class OpenRequests {
  readonly #entries = new Set<Entry>();
  #timer: NodeJS.Timeout | undefined;

  /** Watches a request until the returned function is called. */
  watch(request: OpenRequest): () => void {
    const now = performance.now();
    const entry: Entry = { request, checkedAt: now, decidedAt: now, isBeingChecked: false };
    this.#entries.add(entry);
    this.#timer ??= setInterval(() => this.#sweep(), sweepMs).unref();
    return () => {
      this.#entries.delete(entry);
      if (this.#entries.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  #sweep(): void {
    const now = performance.now();
    for (const entry of this.#entries)
      if (!entry.isBeingChecked && now - entry.checkedAt >= checkIntervalMs) void this.#check(entry);
  }

  async #check(entry: Entry): Promise<void> {
    entry.isBeingChecked = true;
    entry.checkedAt = performance.now();
    const reason = await refusalOf(entry);
    entry.isBeingChecked = false;
    if (reason === null || !this.#entries.delete(entry)) return;
    entry.request.end(reason);
  }
}

async function refusalOf(entry: Entry): Promise<LargeImageError | null> {
  try {
    await entry.request.check();
  } catch (error) {
    if (!(error instanceof LargeImageError) || undecidedErrors.includes(error.code)) {
      const isLong = performance.now() - entry.decidedAt > maxUndecidedMs;
      return isLong ? new LargeImageError('unavailable', 'Permissions could not be checked.', { cause: error }) : null;
    }
    if (refusals.includes(error.code)) return error;
  }
  entry.decidedAt = performance.now();
  return null;
}
