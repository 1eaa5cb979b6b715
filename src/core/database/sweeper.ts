import { randomUUID } from 'node:crypto';
import type { HostLogger } from '../../host.js';
import { isDatabaseOutage } from './outage.js';
import { hasEnded, processName } from './leases/process-name.js';
import type { OwnCollections } from './own-collections.js';
import type { ScheduleModel } from './schedule.js';

/** How a {@link Sweep} goes about it. */
interface SweepOptions {
  /** Whether everything is looked at; else only what says itself that it was left by a process that has ended. */
  full: boolean;
  signal: AbortSignal;
}

/**
 * Removes or completes what killed processes have left of a feature, and nothing that a living process works on.
 *
 * @returns how much, by kind.
 */
export type Sweep = (options: SweepOptions) => Promise<Readonly<Record<string, number>>>;

interface SweeperOptions {
  collections: OwnCollections;
  sweeps: readonly Sweep[];
  schedule: ScheduleModel;
  logger: HostLogger;
  /** Whether everything is looked at when this process starts. */
  fullAtStart: boolean;
}

interface ProcessDocument {
  /** Name of the process, and of one of its installations. */
  _id: string;
  /** When it was last known to live. */
  at: Date;
}

/** Between two looks whether other processes have ended, in milliseconds. */
const checkMs = 3000;
/** Between two whole sweeps, of all processes together. */
const fullMs = 24 * 60 * 60 * 1000;
/** Between two times that a process asks for the next whole sweep, and says that it lives. */
const askMs = 60 * 60 * 1000;
/** Processes of which nothing was heard for so long have ended, wherever they were. */
const silentMs = fullMs;

const scheduleName = 'sweep';

/** Sweeps at the start of a process, when another process is seen to have ended, and daily. */
export class Sweeper {
  readonly #id = `${processName()}:${randomUUID()}`;
  readonly #closing = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #askedAt = -Infinity;
  /** A sweep that the database was away for: whether it was a whole one. */
  #owed: boolean | null = null;
  #running: Promise<void> | null = null;

  constructor(private readonly options: SweeperOptions) {
    this.#run(() => this.#start());
    this.#timer = setInterval(() => this.#run(() => this.#check()), checkMs);
    this.#timer.unref();
  }

  get #processes() {
    return this.options.collections.collection<ProcessDocument>('process');
  }

  async #start(): Promise<void> {
    this.#owed = this.options.fullAtStart;
    await this.#forgetEnded();
    await this.#ask();
    await this.#sweep('start', this.options.fullAtStart);
  }

  /** Begins work unless other work goes on. */
  #run(work: () => Promise<void>): void {
    if (this.#closing.signal.aborted) return;
    this.#running ??= this.#attempt(work).then(() => {
      this.#running = null;
    });
  }

  async #check(): Promise<void> {
    if (await this.#forgetEnded()) await this.#sweep('process', false);
    if (this.#owed !== null) await this.#sweep('again', this.#owed);
    if (performance.now() - this.#askedAt >= askMs && (await this.#ask())) await this.#sweep('daily', true);
  }

  /** Notes that this process lives. @returns whether the daily sweep is due, and this process does it. */
  async #ask(): Promise<boolean> {
    await this.#processes.updateOne({ _id: this.#id }, { $set: { at: new Date() } }, { upsert: true });
    this.#askedAt = performance.now();
    return this.options.schedule.claim(scheduleName, this.#id, new Date(Date.now() + fullMs));
  }

  /** @returns whether there was a process that has ended without saying so, of which no other process has taken care. */
  async #forgetEnded(): Promise<boolean> {
    const silent = new Date(Date.now() - silentMs);
    let any = false;
    for (const { _id, at } of await this.#processes.find({}).toArray()) {
      if (!hasEnded(_id) && at >= silent) continue;
      any = (await this.#processes.deleteOne({ _id })).deletedCount > 0 || any;
    }
    return any;
  }

  async #sweep(why: 'start' | 'process' | 'daily' | 'again', full: boolean): Promise<void> {
    const { sweeps, logger } = this.options;
    const { signal } = this.#closing;
    const removed: Record<string, number> = {};
    const isFull = full || this.#owed === true;
    this.#owed = null;
    for (const sweep of sweeps) {
      signal.throwIfAborted();
      // One that fails keeps none of the others from their work.
      const isTried = await this.#attempt(async () => {
        for (const [kind, count] of Object.entries(await sweep({ full: isFull, signal }))) {
          removed[kind] = (removed[kind] ?? 0) + count;
        }
      });
      if (!isTried) this.#owed = isFull;
    }
    signal.throwIfAborted();
    logger.info({ why, full: isFull, removed }, 'Sweep:Done');
  }

  /** @returns whether it was done as far as it can be; else the database was away, and it can be done later. */
  async #attempt(work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (err) {
      if (this.#closing.signal.aborted) return true;
      if (isDatabaseOutage(err)) return false;
      this.options.logger.warn({ err }, 'Sweep:Failed');
      return true;
    }
  }

  /** Ends; a sweep that is going on ends at its next step. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort();
    await this.#running;
    await this.#processes.deleteOne({ _id: this.#id });
  }
}
