import { hash, verify } from '@node-rs/argon2';
import { setTimeout as pause } from 'node:timers/promises';
import pLimit from 'p-limit';
import { BusyError } from '../../../index.js';
import { InvalidError } from '../../../larger-host.js';

const minLength = 6;
/** Largest length of a password in UTF-16 units. */
const maxLength = 1024;
/** Longest time that a request waits for a hash, by its lane. Requests that would have to wait longer are refused. */
const patienceMs = 10_000;
const patience = { known: patienceMs, stranger: 1500 } as const;
const retryAfterSeconds = 2;
/**
 * A refusal is delayed by this time, so that clients that retry immediately do so less often. A request that fits in by then is served.
 */
const delayMs = 1000;
/** Maximum number of requests that are delayed at the same time. */
const maxDelayed = 1000;

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
const concurrency = 4;

/** Wraps the work of a request in a lane. It calls `make` to compute the hash, and can do something before and after it. */
type Around<T> = (make: () => Promise<T>) => Promise<T>;

/** A queue in which one hash is computed at a time. */
class Lane {
  readonly #limit = pLimit(concurrency);
  readonly #hash = pLimit(1);
  /** Average time in milliseconds that the lane has lately needed for one request. */
  #averageMs = 50;

  /** Whether a new request would wait at most this long. */
  hasCapacity(longestMs: number): boolean {
    return this.#limit.pendingCount * this.#averageMs <= longestMs;
  }

  /** @throws BusyError if a new request would wait longer than this */
  requireCapacity(longestMs: number): void {
    if (!this.hasCapacity(longestMs)) {
      throw new BusyError('Too many people are signing in. Try again in a moment.', retryAfterSeconds);
    }
  }

  run<T>(hashOne: () => Promise<T>, around: Around<T> = (make) => make()): Promise<T> {
    return this.#limit(async () => {
      const started = performance.now();
      try {
        return await around(() => this.#hash(hashOne));
      } finally {
        this.#averageMs += ((performance.now() - started) / concurrency - this.#averageMs) / 8;
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
  #delayed = 0;

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
   * Whether a password matches a hash. Without a hash it does not, but the response takes the same time.
   *
   * @param around wraps the check: it is called when the request leaves the queue, and calls its argument to check the password.
   * @throws BusyError
   */
  async isRight(
    password: string,
    storedHash: string | null,
    { lane, around }: { lane: HashLane; around?: Around<boolean> },
  ): Promise<boolean> {
    const isPossible = storedHash !== null && password.length <= maxLength;
    const check = async () => (isPossible ? verify(storedHash, password) : this.#hash('').then(() => false));
    this.#lanes[lane].requireCapacity(patience[lane]);
    return this.#lanes[lane].run(check, around);
  }

  /** @throws BusyError if a sign-in would have to wait too long, now and still after {@link delayMs} */
  async waitForCapacity(lane: HashLane): Promise<void> {
    if (!this.#lanes[lane].hasCapacity(patience[lane]) && this.#delayed < maxDelayed) {
      this.#delayed += 1;
      await pause(delayMs);
      this.#delayed -= 1;
    }
    this.#lanes[lane].requireCapacity(patience[lane]);
  }

  #hash(password: string): Promise<string> {
    return hash(password, { memoryCost: this.#memoryKiB, timeCost: 2, parallelism: 1 });
  }
}
