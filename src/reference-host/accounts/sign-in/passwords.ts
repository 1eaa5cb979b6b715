import { hash, verify } from '@node-rs/argon2';
import { setTimeout as pause } from 'node:timers/promises';
import pLimit from 'p-limit';
import { BusyError } from '../../../index.js';
import { InvalidError } from '../../../larger-host.js';

const minLength = 6;
/** Largest length of a password in UTF-16 units. */
const maxLength = 1024;
/** Longest time that a request waits for a hash to be computed. Requests that would have to wait longer are refused. */
const patienceMs = 10_000;
/** Longest time that a request in each lane waits for its password to be checked. */
const patienceMsByLane = { known: patienceMs, stranger: 1500 } as const;
const retryAfterSeconds = 2;
/**
 * A request waits this long before it is refused, so that clients that retry immediately do so less often. If there is capacity by then, the
 * request is served.
 */
const refusalDelayMs = 1000;
/** Maximum number of requests that are delayed at the same time. */
const maxDelayedRequests = 1000;

/**
 * The queue in which a password is hashed: `known` for users who are signed in or have recently signed in from the same network,
 * `stranger` for all others. People who guess passwords therefore delay only strangers.
 */
export type HashLane = 'known' | 'stranger';

/** @throws InvalidError if a password is too short or too long. */
export function checkPasswordRule(password: string): void {
  if (password.length < minLength) {
    throw new InvalidError(`Password must be at least ${minLength} characters long.`, 'password');
  }
  if (password.length > maxLength) {
    throw new InvalidError(`Password must be at most ${maxLength} characters long.`, 'password');
  }
}

/** Number of requests of a lane that run at the same time. One of them hashes while the others query the database. */
const maxConcurrentRequests = 4;

/** Calls `work`, which computes a request's hash, and can do something before and after the call. */
type RequestWrapper<T> = (work: () => Promise<T>) => Promise<T>;

/** A queue in which one hash is computed at a time. */
class Lane {
  readonly #limitRequests = pLimit(maxConcurrentRequests);
  readonly #limitHashes = pLimit(1);
  /** Average time in milliseconds that the lane has lately needed for one request. */
  #averageMs = 50;

  /** Whether a new request would wait at most this long. */
  hasCapacity(maxWaitMs: number): boolean {
    return this.#limitRequests.pendingCount * this.#averageMs <= maxWaitMs;
  }

  /** @throws BusyError if a new request would wait longer than this */
  requireCapacity(maxWaitMs: number): void {
    if (!this.hasCapacity(maxWaitMs)) {
      throw new BusyError('Too many people are signing in. Try again in a moment.', retryAfterSeconds);
    }
  }

  /** Does the work of a request when its turn has come. @param hashOne computes the hash. The lane calls one such function at a time. */
  run<T>(hashOne: () => Promise<T>, wrap: RequestWrapper<T> = (work) => work()): Promise<T> {
    return this.#limitRequests(async () => {
      const startedMs = performance.now();
      try {
        return await wrap(() => this.#limitHashes(hashOne));
      } finally {
        this.#averageMs += ((performance.now() - startedMs) / maxConcurrentRequests - this.#averageMs) / 8;
      }
    });
  }
}

/**
 * Hashes passwords with Argon2id on threads of libuv's pool. Each of the two lanes uses one thread, so that half of the pool is left for
 * files and pictures.
 */
export class PasswordHasher {
  readonly #lanes: Record<HashLane, Lane> = { known: new Lane(), stranger: new Lane() };
  readonly #memoryKiB: number;
  #delayedCount = 0;

  /** @param memoryKiB memory that a hash needs; its time grows with it. The default is the minimum that OWASP recommends. */
  constructor(memoryKiB = 19_456) {
    this.#memoryKiB = memoryKiB;
  }

  /** The hash of a password for storage. @throws BusyError */
  async hash(password: string, lane: HashLane): Promise<string> {
    this.#lanes[lane].requireCapacity(patienceMs);
    return this.#lanes[lane].run(() => this.#hash(password));
  }

  /**
   * Whether a password matches a hash. If there is no hash, the result is false, and takes the same time as for a wrong password.
   *
   * @param wrap is called when the request leaves the queue, and calls its argument to check the password.
   * @throws BusyError
   */
  async verifyPassword(
    password: string,
    storedHash: string | null,
    { lane, wrap }: { lane: HashLane; wrap?: RequestWrapper<boolean> },
  ): Promise<boolean> {
    const canMatch = storedHash !== null && password.length <= maxLength;
    const check = async () => (canMatch ? verify(storedHash, password) : this.#hash('').then(() => false));
    this.#lanes[lane].requireCapacity(patienceMsByLane[lane]);
    return this.#lanes[lane].run(check, wrap);
  }

  /** If a sign-in would have to wait too long, pauses for {@link refusalDelayMs}. @throws BusyError if it would still have to wait too long. */
  async waitForCapacity(lane: HashLane): Promise<void> {
    if (!this.#lanes[lane].hasCapacity(patienceMsByLane[lane]) && this.#delayedCount < maxDelayedRequests) {
      this.#delayedCount += 1;
      await pause(refusalDelayMs);
      this.#delayedCount -= 1;
    }
    this.#lanes[lane].requireCapacity(patienceMsByLane[lane]);
  }

  #hash(password: string): Promise<string> {
    return hash(password, { memoryCost: this.#memoryKiB, timeCost: 2, parallelism: 1 });
  }
}
