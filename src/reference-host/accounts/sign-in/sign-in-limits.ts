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
/** Time after a sign-in in which the user counts as known in the network. */
const knownSeconds = 21 * 24 * hourSeconds;
/** When the remaining time of a known user falls below this, it is extended. */
const rememberAgainMs = 20 * 24 * hourSeconds * 1000;

/** How long an exhausted budget is refused without a query, in milliseconds. */
const exhaustedMs = 1000;

/** The kinds of counters. The names are parts of keys in the database. */
type Counted = 'login-and-network' | 'network' | 'login' | 'wrong-key' | 'creation';

/** A number of attempts that are allowed in a window of time. */
interface Budget {
  counted: Counted;
  key: string;
  limiter: RateLimiterMongo;
}

/** A sign-in with a password. */
export interface Attempt {
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
  readonly #exhausted = new LRUCache<string, RateLimiterRes>({ max: 10_000, ttl: exhaustedMs });

  readonly #counting: CountingCollection;

  constructor(private readonly options: SignInLimitsOptions) {
    this.#counting = new CountingCollection(() => options.attempts().collection);
  }

  /**
   * Tries a password, if the limits allow it. A wrong password counts against three budgets: the budget of the login in the client's network, the
   * budget of the network, and the budget of the login. If the user is known in the network, only the first counts, so that nobody can lock out a user from
   * elsewhere. An attempt counts from its start and is uncounted if the password is right, so that simultaneous attempts cannot exceed a limit.
   *
   * @returns the user; `null` if there is no such user or the password is wrong
   * @throws TooOftenError if a limit has been reached; the password is then not checked
   * @throws BusyError if too many other requests are waiting; the attempt is then not counted
   */
  async tryPassword({ name, findUser, password, address }: Attempt): Promise<UserDocument | null> {
    const network = networkOf(address);
    const pair = pairKey(name, network);
    const forPair = await this.#failures('login-and-network', pair);
    this.#refuseExhausted(forPair);
    const knownPair = await this.#known().get(pair);
    const lane = knownPair === null ? 'stranger' : 'known';
    // Requests that cannot be served are refused before they query the database.
    await this.options.passwords.waitForCapacity(lane);
    const others =
      lane === 'known' ? [] : await Promise.all([this.#failures('network', network), this.#failures('login', digest(name))]);
    const budgets = [forPair, ...others].filter((budget) => budget !== null);
    const [user] = await Promise.all([findUser(), ...budgets.map((budget) => this.#check(budget))]);
    const isRight = await this.options.passwords.isRight(password, user?.passwordHash ?? null, {
      lane,
      around: (check) => this.#counted(budgets, check),
    });
    if (user === null || !isRight) return null;
    const isRemembered = knownPair !== null && knownPair.msBeforeNext > rememberAgainMs;
    if (!isRemembered) await this.remember([name, user.login, user.email], address);
    return user;
  }

  /** Takes one attempt from each budget while the password is checked, and gives it back unless the password is wrong. */
  async #counted(budgets: readonly Budget[], isRight: () => Promise<boolean>): Promise<boolean> {
    const spent: Budget[] = [];
    try {
      const takings = await Promise.allSettled(budgets.map(async (budget) => spent.push(await this.#take(budget))));
      for (const taking of takings) if (taking.status === 'rejected') throw taking.reason;
      if (!(await isRight())) return false;
    } catch (error) {
      await Promise.all(spent.map(giveBack));
      throw error;
    }
    await Promise.all(spent.map((budget) => (budget.counted === 'login-and-network' ? forget(budget) : giveBack(budget))));
    return true;
  }

  /** Remembers that a user is known in a network, by all names with which the user can sign in. */
  async remember(names: readonly string[], address: string): Promise<void> {
    const keys = new Set(names.map((name) => pairKey(name, networkOf(address))));
    await Promise.all([...keys].map((key) => this.#known().set(key, 1, knownSeconds)));
  }

  /** Counts a wrong API key against its network. @throws TooOftenError */
  async countWrongKey(address: string): Promise<void> {
    const budget = await this.#failures('wrong-key', networkOf(address));
    if (budget === null) return;
    await this.#check(budget);
    await this.#take(budget);
  }

  /** Counts an account or anonymous session that is created without a sign-in. @throws TooOftenError */
  async countCreation(address: string): Promise<void> {
    const points = await this.options.setting('core.registrations_per_address');
    if (points === 0) return;
    const budget: Budget = {
      counted: 'creation',
      key: networkOf(address),
      limiter: this.#limiter('creation', points, hourSeconds),
    };
    await this.#check(budget);
    await this.#take(budget);
  }

  async #failures(counted: Exclude<Counted, 'creation'>, key: string): Promise<Budget | null> {
    const points = await this.options.setting(
      counted === 'login-and-network'
        ? 'core.sign_in_failures_per_login_and_address'
        : counted === 'login'
          ? 'core.sign_in_failures_per_login'
          : 'core.sign_in_failures_per_address',
    );
    if (points === 0) return null;
    return { counted, key, limiter: this.#limiter(counted, points, await this.options.setting('core.sign_in_window')) };
  }

  /** @throws TooOftenError if a budget was exhausted a moment ago */
  #refuseExhausted(budget: Budget | null): void {
    const exhaustedState = budget === null ? undefined : this.#exhausted.get(nameOf(budget));
    if (exhaustedState !== undefined) throw refusal(budget!, exhaustedState);
  }

  /** @throws TooOftenError if a budget is exhausted */
  async #check(budget: Budget): Promise<void> {
    this.#refuseExhausted(budget);
    const state = await budget.limiter.get(budget.key);
    if (state === null || state.consumedPoints < budget.limiter.points) return;
    this.#exhausted.set(nameOf(budget), state, { ttl: Math.min(exhaustedMs, Math.max(1, state.msBeforeNext)) });
    throw refusal(budget, state);
  }

  /** Takes one attempt from a budget. @throws TooOftenError if it is exhausted */
  async #take(budget: Budget): Promise<Budget> {
    const { counted, key, limiter } = budget;
    try {
      const { consumedPoints } = await limiter.consume(key);
      if (consumedPoints === limiter.points) this.options.logger.warn({ counted, key }, 'SignIn:Limit:Reached');
      return budget;
    } catch (refused) {
      throw refused instanceof RateLimiterRes ? refusal(budget, refused) : refused;
    }
  }

  #known(): RateLimiterMongo {
    return this.#limiter('known', 1, knownSeconds);
  }

  #limiter(keyPrefix: Counted | 'known', points: number, duration: number): RateLimiterMongo {
    const name = `${keyPrefix} ${points} ${duration}`;
    let limiter = this.#limiters.get(name);
    if (limiter === undefined) {
      limiter = new RateLimiterMongo({
        storeClient: { collection: () => this.#counting },
        disableIndexesCreation: true,
        keyPrefix,
        points,
        duration,
        insuranceLimiter: new RateLimiterMemory({ keyPrefix, points, duration }),
      });
      this.#limiters.set(name, limiter);
    }
    return limiter;
  }
}

const reasons: Record<Counted, string> = {
  'login-and-network': 'Too many wrong passwords for this login.',
  network: 'Too many wrong passwords from your network.',
  login: 'Too many wrong passwords for this login.',
  'wrong-key': 'Too many wrong API keys from your network.',
  creation: 'Too many new accounts and sessions from your network.',
};

function refusal({ counted }: Budget, { msBeforeNext }: RateLimiterRes): TooOftenError {
  const seconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
  return new TooOftenError(`${reasons[counted]} Try again in ${seconds} seconds.`, seconds);
}

function nameOf({ counted, key }: Budget): string {
  return `${counted} ${key}`;
}

function forget({ limiter, key }: Budget): Promise<unknown> {
  return limiter.delete(key);
}

function giveBack({ limiter, key }: Budget): Promise<unknown> {
  return limiter.reward(key);
}

/** Names are stored as a hash, because they may be long, and should not be readable in the database. */
function digest(name: string): string {
  return createHash('sha256').update(name).digest('base64url');
}

function pairKey(name: string, network: string): string {
  return `${digest(name)} ${network}`;
}
