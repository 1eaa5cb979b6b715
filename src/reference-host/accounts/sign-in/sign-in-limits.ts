import { createHash } from 'node:crypto';
import type { Model } from 'mongoose';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterMongo, RateLimiterRes } from 'rate-limiter-flexible';
import type { HostLogger } from '../../../index.js';
import { TooOftenError } from '../../../larger-host.js';
import type { CoreSettings } from '../../system/settings.js';
import type { AttemptDocument } from './attempt.model.js';
import { CountingCollection } from './counting-collection.js';
import { networkOf } from './network-of.js';
import type { PasswordHasher } from './passwords.js';
import type { UserDocument } from '../users/user.model.js';

const hourSeconds = 3600;
/** Time for which a user counts as known in a network after signing in there. */
const knownSeconds = 21 * 24 * hourSeconds;
/** A sign-in extends this time again if less than this is left of it. */
const rememberAgainMs = 20 * 24 * hourSeconds * 1000;

/** How long attempts on an exhausted budget are refused without a query, in milliseconds. */
const exhaustedMs = 1000;

/** The kinds of counters, by what they count. Their names are parts of keys in the database. */
type CounterKind = 'login-and-network' | 'network' | 'login' | 'wrong-key' | 'creation';

/** The attempts that are allowed for one key, such as a login or a network, in a window of time. */
interface Budget {
  kind: CounterKind;
  key: string;
  limiter: RateLimiterMongo;
}

/** A sign-in with a password. */
export interface PasswordAttempt {
  /** Login or email address. */
  name: string;
  /** Looks up the user with this name. */
  findUser: () => Promise<UserDocument | null>;
  password: string;
  /** IP address of the client. */
  address: string;
}

/** Options of {@link SignInLimits}. */
export interface SignInLimitsOptions {
  passwords: PasswordHasher;
  attempts: () => Model<AttemptDocument>;
  setting<K extends keyof CoreSettings>(key: K): Promise<CoreSettings[K]>;
  logger: HostLogger;
}

/**
 * Limits the guessing of passwords and keys. Attempts are counted in the database for all processes together; while the database fails, each
 * process counts for itself. A window of time begins with the first failure; attempts that are refused do not extend it.
 */
export class SignInLimits {
  readonly #limiters = new Map<string, RateLimiterMongo>();
  /** Budgets that were exhausted a moment ago. Further attempts are refused without a query. */
  readonly #exhaustedBudgets = new LRUCache<string, RateLimiterRes>({ max: 10_000, ttl: exhaustedMs });

  readonly #attempts: CountingCollection;

  constructor(private readonly options: SignInLimitsOptions) {
    this.#attempts = new CountingCollection(() => options.attempts().collection);
  }

  /**
   * Tries a password, if the limits allow it. A wrong password counts against three budgets: one for the login in the client's network, one for
   * the network, and one for the login. If the user is known in the network, a wrong password counts only against the first budget, so that
   * nobody elsewhere can lock out the user. An attempt is counted before the password is checked, so that simultaneous attempts cannot exceed
   * a limit.
   *
   * @returns the user; `null` if there is no such user or the password is wrong
   * @throws TooOftenError if a limit has been reached; the password is then not checked
   * @throws BusyError if too many other requests are waiting; the attempt is then not counted
   */
  async tryPassword({ name, findUser, password, address }: PasswordAttempt): Promise<UserDocument | null> {
    const network = networkOf(address);
    const pairKey = createPairKey(name, network);
    const pairBudget = await this.#createFailureBudget('login-and-network', pairKey);
    this.#refuseExhausted(pairBudget);
    const knownPairState = await this.#knownPairLimiter().get(pairKey);
    const lane = knownPairState === null ? 'stranger' : 'known';
    // If the password cannot be checked soon, the attempt is refused here, without the further queries below.
    await this.options.passwords.waitForCapacity(lane);
    const otherBudgets =
      lane === 'known'
        ? []
        : await Promise.all([this.#createFailureBudget('network', network), this.#createFailureBudget('login', hashName(name))]);
    const budgets = [pairBudget, ...otherBudgets].filter((budget) => budget !== null);
    const [user] = await Promise.all([findUser(), ...budgets.map((budget) => this.#requireAvailable(budget))]);
    const isPasswordRight = await this.options.passwords.verifyPassword(password, user?.passwordHash ?? null, {
      lane,
      wrap: (check) => this.#countWhileChecking(budgets, check),
    });
    if (user === null || !isPasswordRight) return null;
    const isRecentlyRemembered = knownPairState !== null && knownPairState.msBeforeNext > rememberAgainMs;
    if (!isRecentlyRemembered) await this.rememberUser([name, user.login, user.email], address);
    return user;
  }

  /**
   * Takes one attempt from each budget, then checks the password. If the password is wrong, the attempts stay counted. If it is right or cannot
   * be checked, they are given back. A right password also resets the budget of the login in the network.
   */
  async #countWhileChecking(budgets: readonly Budget[], checkPassword: () => Promise<boolean>): Promise<boolean> {
    const takenBudgets: Budget[] = [];
    try {
      const results = await Promise.allSettled(budgets.map(async (budget) => takenBudgets.push(await this.#takeAttempt(budget))));
      for (const result of results) if (result.status === 'rejected') throw result.reason;
      if (!(await checkPassword())) return false;
    } catch (error) {
      await Promise.all(takenBudgets.map(giveBackAttempt));
      throw error;
    }
    await Promise.all(
      takenBudgets.map((budget) => (budget.kind === 'login-and-network' ? resetBudget(budget) : giveBackAttempt(budget))),
    );
    return true;
  }

  /** Remembers that a user is known in a network, by all names with which the user can sign in. */
  async rememberUser(names: readonly string[], address: string): Promise<void> {
    const keys = new Set(names.map((name) => createPairKey(name, networkOf(address))));
    await Promise.all([...keys].map((key) => this.#knownPairLimiter().set(key, 1, knownSeconds)));
  }

  /** Counts a wrong API key against its network. @throws TooOftenError */
  async countWrongKey(address: string): Promise<void> {
    const budget = await this.#createFailureBudget('wrong-key', networkOf(address));
    if (budget === null) return;
    await this.#requireAvailable(budget);
    await this.#takeAttempt(budget);
  }

  /** Counts an account or anonymous session that is created without a sign-in. @throws TooOftenError */
  async countCreation(address: string): Promise<void> {
    const points = await this.options.setting('core.registrations_per_address');
    if (points === 0) return;
    const budget: Budget = {
      kind: 'creation',
      key: networkOf(address),
      limiter: this.#limiterFor('creation', points, hourSeconds),
    };
    await this.#requireAvailable(budget);
    await this.#takeAttempt(budget);
  }

  async #createFailureBudget(kind: Exclude<CounterKind, 'creation'>, key: string): Promise<Budget | null> {
    const points = await this.options.setting(
      kind === 'login-and-network'
        ? 'core.sign_in_failures_per_login_and_address'
        : kind === 'login'
          ? 'core.sign_in_failures_per_login'
          : 'core.sign_in_failures_per_address',
    );
    if (points === 0) return null;
    return { kind, key, limiter: this.#limiterFor(kind, points, await this.options.setting('core.sign_in_window')) };
  }

  /** @throws TooOftenError if a budget was exhausted a moment ago */
  #refuseExhausted(budget: Budget | null): void {
    const exhaustedState = budget === null ? undefined : this.#exhaustedBudgets.get(exhaustedKeyOf(budget));
    if (exhaustedState !== undefined) throw createTooOftenError(budget!, exhaustedState);
  }

  /** @throws TooOftenError if a budget is exhausted */
  async #requireAvailable(budget: Budget): Promise<void> {
    this.#refuseExhausted(budget);
    const state = await budget.limiter.get(budget.key);
    if (state === null || state.consumedPoints < budget.limiter.points) return;
    this.#exhaustedBudgets.set(exhaustedKeyOf(budget), state, { ttl: Math.min(exhaustedMs, Math.max(1, state.msBeforeNext)) });
    throw createTooOftenError(budget, state);
  }

  /** Takes one attempt from a budget. @throws TooOftenError if it is exhausted */
  async #takeAttempt(budget: Budget): Promise<Budget> {
    const { kind, key, limiter } = budget;
    try {
      const { consumedPoints } = await limiter.consume(key);
      if (consumedPoints === limiter.points) this.options.logger.warn({ counted: kind, key }, 'SignIn:Limit:Reached');
      return budget;
    } catch (error) {
      throw error instanceof RateLimiterRes ? createTooOftenError(budget, error) : error;
    }
  }

  #knownPairLimiter(): RateLimiterMongo {
    return this.#limiterFor('known', 1, knownSeconds);
  }

  #limiterFor(keyPrefix: CounterKind | 'known', points: number, durationSeconds: number): RateLimiterMongo {
    const limiterName = `${keyPrefix} ${points} ${durationSeconds}`;
    let limiter = this.#limiters.get(limiterName);
    if (limiter === undefined) {
      limiter = new RateLimiterMongo({
        storeClient: { collection: () => this.#attempts },
        disableIndexesCreation: true,
        keyPrefix,
        points,
        duration: durationSeconds,
        insuranceLimiter: new RateLimiterMemory({ keyPrefix, points, duration: durationSeconds }),
      });
      this.#limiters.set(limiterName, limiter);
    }
    return limiter;
  }
}

const reasonByKind: Record<CounterKind, string> = {
  'login-and-network': 'Too many wrong passwords for this login.',
  network: 'Too many wrong passwords from your network.',
  login: 'Too many wrong passwords for this login.',
  'wrong-key': 'Too many wrong API keys from your network.',
  creation: 'Too many new accounts and sessions from your network.',
};

function createTooOftenError({ kind }: Budget, { msBeforeNext }: RateLimiterRes): TooOftenError {
  const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
  return new TooOftenError(`${reasonByKind[kind]} Try again in ${seconds} seconds.`, seconds);
}

function exhaustedKeyOf({ kind, key }: Budget): string {
  return `${kind} ${key}`;
}

function resetBudget({ limiter, key }: Budget): Promise<unknown> {
  return limiter.delete(key);
}

function giveBackAttempt({ limiter, key }: Budget): Promise<unknown> {
  return limiter.reward(key);
}

/** Names are stored as a hash, because they may be long, and should not be readable in the database. */
function hashName(name: string): string {
  return createHash('sha256').update(name).digest('base64url');
}

function createPairKey(name: string, network: string): string {
  return `${hashName(name)} ${network}`;
}
