import { randomUUID } from 'node:crypto';
import type { HostLogger } from '../../host.js';
import { isDatabaseOutage } from './outage.js';
import { hasEnded, processName } from './leases/process-name.js';
import type { OwnCollections } from './own-collections.js';
import type { ScheduleModel } from './schedule.js';

interface SweepOptions {
  /** Whether to check everything. Otherwise, only records that name an ended process are checked. */
  full: boolean;
  signal: AbortSignal;
}

/**
 * Removes or completes what killed processes have left of a feature. Work of live processes is never touched.
 *
 * @returns how many things of each kind were removed.
 */
export type Sweep = (options: SweepOptions) => Promise<Readonly<Record<string, number>>>;

interface SweeperOptions {
  collections: OwnCollections;
  sweeps: readonly Sweep[];
  schedule: ScheduleModel;
  logger: HostLogger;
  /** Whether the first sweep of this process is a full one. */
  fullAtStart: boolean;
}

interface ProcessDocument {
  /** Name of the process and of its installation. */
  _id: string;
  /** When the process was last known to be alive. */
  at: Date;
}

/** Time between two checks whether other processes have ended, in milliseconds. */
const checkIntervalMs = 3000;
/** Time between two full sweeps in milliseconds. All processes on one database share this schedule. */
const fullSweepIntervalMs = 24 * 60 * 60 * 1000;
/** Each process records at this interval in milliseconds that it is alive, and checks whether the full sweep is due. */
const aliveIntervalMs = 60 * 60 * 1000;
/** A process that has been silent for this long, in milliseconds, counts as ended, even if it ran on another machine. */
const maxSilenceMs = fullSweepIntervalMs;

const scheduleName = 'sweep';

/** Sweeps at the start of a process, after another process has ended, and daily. */
export class Sweeper {
  readonly #id = `${processName()}:${randomUUID()}`;
  readonly #closing = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #recordedAtMs = -Infinity;
  /** Whether the next sweep must be a full one, after a sweep failed because the database was down. `null` if none has failed. */
  #isPendingSweepFull: boolean | null = null;
  #runningWork: Promise<void> | null = null;

  constructor(private readonly options: SweeperOptions) {
    this.#runUnlessBusy(() => this.#start());
    this.#timer = setInterval(() => this.#runUnlessBusy(() => this.#check()), checkIntervalMs);
    this.#timer.unref();
  }

  get #processes() {
    return this.options.collections.collection<ProcessDocument>('process');
  }

  async #start(): Promise<void> {
    this.#isPendingSweepFull = this.options.fullAtStart;
    await this.#forgetEndedProcesses();
    const isDailySweepDue = await this.#recordAlive();
    await this.#sweep('start', isDailySweepDue || this.options.fullAtStart);
  }

  /** Starts work unless other work is running. */
  #runUnlessBusy(work: () => Promise<void>): void {
    if (this.#closing.signal.aborted) return;
    this.#runningWork ??= this.#attempt(work).then(() => {
      this.#runningWork = null;
    });
  }

  async #check(): Promise<void> {
    if (await this.#forgetEndedProcesses()) await this.#sweep('process', false);
    if (this.#isPendingSweepFull !== null) await this.#sweep('again', this.#isPendingSweepFull);
    if (performance.now() - this.#recordedAtMs >= aliveIntervalMs && (await this.#recordAlive()))
      await this.#sweep('daily', true);
  }

  /** Records that this process is alive. @returns whether the daily sweep is due and this process has claimed it. */
  async #recordAlive(): Promise<boolean> {
    await this.#processes.updateOne({ _id: this.#id }, { $set: { at: new Date() } }, { upsert: true });
    this.#recordedAtMs = performance.now();
    return this.options.schedule.claim(scheduleName, this.#id, new Date(Date.now() + fullSweepIntervalMs));
  }

  /** Removes the records that ended processes have left. @returns whether this process was the first to remove any of them. */
  async #forgetEndedProcesses(): Promise<boolean> {
    const silentSince = new Date(Date.now() - maxSilenceMs);
    let hasRemoved = false;
    for (const { _id, at } of await this.#processes.find({}).toArray()) {
      if (!hasEnded(_id) && at >= silentSince) continue;
      hasRemoved = (await this.#processes.deleteOne({ _id })).deletedCount > 0 || hasRemoved;
    }
    return hasRemoved;
  }

  async #sweep(why: 'start' | 'process' | 'daily' | 'again', full: boolean): Promise<void> {
    const { sweeps, logger } = this.options;
    const { signal } = this.#closing;
    const removed: Record<string, number> = {};
    const isFull = full || this.#isPendingSweepFull === true;
    this.#isPendingSweepFull = null;
    for (const sweep of sweeps) {
      signal.throwIfAborted();
      // If this sweep fails, the remaining sweeps are still done.
      const isDone = await this.#attempt(async () => {
        for (const [kind, count] of Object.entries(await sweep({ full: isFull, signal }))) {
          removed[kind] = (removed[kind] ?? 0) + count;
        }
      });
      if (!isDone) this.#isPendingSweepFull = isFull;
    }
    signal.throwIfAborted();
    logger.info({ why, full: isFull, removed }, 'Sweep:Done');
  }

  /** Does work, and logs its error. @returns false if the database was down, so that the work should be repeated later. */
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

  /** Stops the sweeper. A running sweep ends at its next step. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort();
    await this.#runningWork;
    await this.#processes.deleteOne({ _id: this.#id });
  }
}
