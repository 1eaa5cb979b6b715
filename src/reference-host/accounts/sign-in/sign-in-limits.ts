import { createHash } from 'node:crypto';
import type { Model } from 'mongoose';
import { LRUCache } from 'lru-cache';
import { RateLimiterMemory, RateLimiterMongo, RateLimiterRes } from 'rate-limiter-flexible';
import { TooOftenError, type HostLogger } from '../../../index.js';
import type { CoreSettings } from '../../system/settings.js';
import type { AttemptDocument } from './attempt.model.js';
import { CountingCollection } from './counting-collection.js';
import { networkOf } from './network-of.js';
import type { PasswordHasher } from './passwords.js';
import type { UserDocument } from '../users/user.model.js';

const hourSeconds = 3600;
/** How long a network counts as known to a user after a sign-in. */
const knownSeconds = 21 * 24 * hourSeconds;
/** Who is known for less than this is remembered anew. */
const rememberAgainMs = 20 * 24 * hourSeconds * 1000;

/** How long a limit that was reached is not looked up again, in milliseconds. */
const exhaustedMs = 1000;

/** What is counted; the names are parts of keys in the database. */
type Counted = 'login-and-network' | 'network' | 'login' | 'wrong-key' | 'creation';

interface Budget {
  counted: Counted;
  key: string;
  limiter: RateLimiterMongo;
}

/** A password as somebody tries it. */
export interface Attempt {
  /** What the user signs in with. */
  name: string;
  /** Looks up who has that name. */
  findUser: () => Promise<UserDocument | null>;
  password: string;
  /** The client's. */
  address: string;
}

/** What {@link SignInLimits} works with. */
export interface SignInLimitsOptions {
  passwords: PasswordHasher;
  attempts: () => Model<AttemptDocument>;
  setting<K extends keyof CoreSettings>(key: K): Promise<CoreSettings[K]>;
  logger: HostLogger;
}

/**
 * Counts what guessers do, in the database, for all processes together; while the database refuses, each process counts for itself.
 * A window begins with the first failure and ends by itself: what is refused meanwhile does not extend it.
 */
export class SignInLimits {
  readonly #limiters = new Map<string, RateLimiterMongo>();
  /** Budgets of which nothing was left a moment ago: whoever goes on is refused without asking the database. */
  readonly #exhausted = new LRUCache<string, RateLimiterRes>({ max: 10_000, ttl: exhaustedMs });

  readonly #counting: CountingCollection;

  constructor(private readonly options: SignInLimitsOptions) {
    this.#counting = new CountingCollection(() => options.attempts().collection);
  }

  /**
   * Tries a password if that may be tried. A wrong one counts against the login in the client's network, against the network, and against
   * the login; only against the first where the user has signed in from that network lately, so that nobody locks a user out from elsewhere.
   * An attempt counts as wrong until it has turned out right, so that many at once are not more than one after the other.
   *
   * @returns the user whose password it is; `null` when it is nobody's
   * @throws TooOftenError before anything is tried
   * @throws BusyError when too many others are waiting; this counts for nothing
   */
  async tryPassword({ name, findUser, password, address }: Attempt): Promise<UserDocument | null> {
    const network = networkOf(address);
    const pair = pairKey(name, network);
    const forPair = await this.#failures('login-and-network', pair);
    this.#refuseExhausted(forPair);
    const known = await this.#known().get(pair);
    const lane = known === null ? 'stranger' : 'known';
    // A crowd is sent away before it keeps the database busy.
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
    const isRemembered = known !== null && known.msBeforeNext > rememberAgainMs;
    if (!isRemembered) await this.remember([name, user.login, user.email], address);
    return user;
  }

  /** Takes one from each budget for as long as something is tried, and for good when it is wrong. */
  async #counted(budgets: readonly Budget[], isRight: () => Promise<boolean>): Promise<boolean> {
    const taken: Budget[] = [];
    try {
      const takings = await Promise.allSettled(budgets.map(async (budget) => taken.push(await this.#take(budget))));
      for (const taking of takings) if (taking.status === 'rejected') throw taking.reason;
      if (!(await isRight())) return false;
    } catch (error) {
      await Promise.all(taken.map(giveBack));
      throw error;
    }
    await Promise.all(taken.map((budget) => (budget.counted === 'login-and-network' ? forget(budget) : giveBack(budget))));
    return true;
  }

  /** Remembers that a user, by all names to sign in with, is known in a network. */
  async remember(names: readonly string[], address: string): Promise<void> {
    const keys = new Set(names.map((name) => pairKey(name, networkOf(address))));
    await Promise.all([...keys].map((key) => this.#known().set(key, 1, knownSeconds)));
  }

  /** Counts a wrong API key. Right ones are not limited: nobody guesses one. @throws TooOftenError */
  async countWrongKey(address: string): Promise<void> {
    const budget = await this.#failures('wrong-key', networkOf(address));
    if (budget === null) return;
    await this.#check(budget);
    await this.#take(budget);
  }

  /** Counts an account or an anonymous session that somebody makes without being signed in. @throws TooOftenError */
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

  /** @throws TooOftenError when nothing was left of a budget a moment ago */
  #refuseExhausted(budget: Budget | null): void {
    const seen = budget === null ? undefined : this.#exhausted.get(nameOf(budget));
    if (seen !== undefined) throw refusal(budget!, seen);
  }

  /** @throws TooOftenError when nothing is left of a budget */
  async #check(budget: Budget): Promise<void> {
    this.#refuseExhausted(budget);
    const found = await budget.limiter.get(budget.key);
    if (found === null || found.consumedPoints < budget.limiter.points) return;
    this.#exhausted.set(nameOf(budget), found, { ttl: Math.min(exhaustedMs, Math.max(1, found.msBeforeNext)) });
    throw refusal(budget, found);
  }

  /** Takes one from a budget. @throws TooOftenError when nothing is left */
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

/** Names are as long as somebody likes, and nothing that others should read in a database. */
function digest(name: string): string {
  return createHash('sha256').update(name).digest('base64url');
}

function pairKey(name: string, network: string): string {
  return `${digest(name)} ${network}`;
}
