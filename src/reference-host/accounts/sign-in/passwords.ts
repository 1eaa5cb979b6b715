import { hash, verify } from '@node-rs/argon2';
import { setTimeout as pause } from 'node:timers/promises';
import pLimit from 'p-limit';
import { BusyError, InvalidError } from '../../../index.js';

const minLength = 6;
/** Longest password, in UTF-16 units. */
const maxLength = 1024;
/** Whoever would wait longer for a hash is told to come again: users and those who register, and strangers who sign in. */
const patienceMs = 10_000;
const patience = { known: patienceMs, stranger: 1500 } as const;
const retryAfterSeconds = 2;
/** Who is to be told so is told after this time, or gets the room that there is then: a crowd that asks again at once asks less often. */
const delayMs = 1000;
/** Most who are held at a time. */
const mostDelayed = 1000;

/**
 * In which line a password is hashed: that of users who are signed in, or have signed in from the same network lately, or that of
 * everybody else. A crowd of guessers makes strangers wait, not users.
 */
export type HashLane = 'known' | 'stranger';

/** @throws InvalidError when a password may not be one. */
export function checkPasswordRule(password: string): void {
  if (password.length < minLength) {
    throw new InvalidError(`Password must be at least ${minLength} characters long.`, 'password');
  }
  if (password.length > maxLength) {
    throw new InvalidError(`Password must be at most ${maxLength} characters long.`, 'password');
  }
}

/** How many of a line prepare themselves, or ask the database, while one of them is hashed. */
const concurrency = 4;

/** What is done in a turn: something before and after the hash, which is made when this asks for it. */
type Around<T> = (make: () => Promise<T>) => Promise<T>;

/** A line in which one hash is made at a time. */
class Lane {
  readonly #limit = pLimit(concurrency);
  readonly #hash = pLimit(1);
  /** How long the line takes for one who waits in it, as seen lately. */
  #defaultMs = 50;

  /** Whether whoever comes now need not wait longer than this. */
  hasCapacity(longestMs: number): boolean {
    return this.#limit.pendingCount * this.#defaultMs <= longestMs;
  }

  /** @throws BusyError when whoever comes now would wait longer than this */
  requireCapacity(longestMs: number): void {
    if (!this.hasCapacity(longestMs)) {
      throw new BusyError('Too many people are signing in at the moment. Try again in a moment.', retryAfterSeconds);
    }
  }

  run<T>(hashOne: () => Promise<T>, around: Around<T> = (make) => make()): Promise<T> {
    return this.#limit(async () => {
      const begun = performance.now();
      try {
        return await around(() => this.#hash(hashOne));
      } finally {
        this.#defaultMs += ((performance.now() - begun) / concurrency - this.#defaultMs) / 8;
      }
    });
  }
}

/**
 * Hashes passwords with Argon2id on threads of libuv's pool: one in each of two lines, so that half of the pool is left for files and
 * pictures.
 */
export class PasswordHasher {
  readonly #lanes: Record<HashLane, Lane> = { known: new Lane(), stranger: new Lane() };
  readonly #memoryKiB: number;
  #delayed = 0;

  /** @param memoryKiB memory that a hash takes; its time grows with it. Default: what OWASP asks for at least. */
  constructor(memoryKiB = 19_456) {
    this.#memoryKiB = memoryKiB;
  }

  /** The hash of a password, as it is kept. @throws BusyError */
  async hash(password: string, lane: HashLane): Promise<string> {
    this.#lanes[lane].requireCapacity(patienceMs);
    return this.#lanes[lane].run(() => this.#hash(password));
  }

  /**
   * Whether a password belongs to a hash. Without a hash the answer is no, and takes as long as with one.
   *
   * @param turn around: what is done when the turn has come; it asks whether the password is right
   * @throws BusyError
   */
  async isRight(
    password: string,
    kept: string | null,
    { lane, around }: { lane: HashLane; around?: Around<boolean> },
  ): Promise<boolean> {
    const isPossible = kept !== null && password.length <= maxLength;
    const check = async () => (isPossible ? verify(kept, password) : this.#hash('').then(() => false));
    this.#lanes[lane].requireCapacity(patience[lane]);
    return this.#lanes[lane].run(check, around);
  }

  /** @throws BusyError when somebody who signs in would wait too long, now and a little later */
  async waitForCapacity(lane: HashLane): Promise<void> {
    if (!this.#lanes[lane].hasCapacity(patience[lane]) && this.#delayed < mostDelayed) {
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
