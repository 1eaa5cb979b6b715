import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { HostLogger } from '../../../host.js';
import { batches } from '../id-batches.js';
import { NamedQueues } from '../../concurrency/work-queue.js';
import type { LeaseModel } from './lease.model.js';
import { hasEnded, processName } from './process-name.js';
import { Renewal } from './renewal.js';
import { SilenceDetector } from './silence-detector.js';

interface LeasesOptions {
  model: LeaseModel;
  logger: HostLogger;
  /** How long the owner of a lease can be silent before another process takes it over, in milliseconds. Default 15,000. */
  leaseMs?: number;
}

/** Options for acquiring a lease. */
interface LeaseOptions {
  /** Id of the document that the work is about. {@link Leases.revoke} revokes all leases with this id. */
  subject: string;
  signal?: AbortSignal;
  /**
   * Called while another task has the lease.
   *
   * @returns whether the lease is no longer needed, because that task has done the work.
   */
  isDone?: () => Promise<boolean>;
}

/** Time between two checks whether another process has released a lease, in milliseconds. */
const pollMs = 40;

/** The right of this process to do a piece of work. */
export interface Lease {
  /** Checks that the lease was not lost. Must be called before the work becomes visible. @throws LargeImageError `unavailable` */
  confirm(): Promise<void>;
  /** Releases the lease. @returns false if the lease was taken over or revoked; then the results of the work must be removed. */
  release(): Promise<boolean>;
}

/**
 * Distributed locks: under each name only one task runs at a time, in all processes on the same database. A lease is renewed while
 * its process lives, and taken over if that process has ended or has been silent for too long.
 */
export class Leases {
  readonly #model: LeaseModel;
  readonly #logger: HostLogger;
  readonly #leaseMs: number;
  /**
   * Owners in this process that are releasing their lease, or could not release it. Other tasks of this process can take it over.
   */
  readonly #releasingOwners = new Set<string>();
  /** Within this process, work with the same name queues up here, so that only the first task queries the database. */
  readonly #queues = new NamedQueues({ name: 'leases', running: 1 });

  constructor({ model, logger, leaseMs = 15_000 }: LeasesOptions) {
    this.#model = model;
    this.#logger = logger;
    this.#leaseMs = leaseMs;
  }

  /** Runs work while no other work with the same name is running. */
  run<Result>(
    name: string,
    request: Omit<LeaseOptions, 'isDone'>,
    work: (lease: Pick<Lease, 'confirm'>) => Promise<Result>,
  ): Promise<Result> {
    const { signal } = request;
    const workUnderLease = async () => {
      const lease = (await this.acquire(name, request))!;
      try {
        return await work(lease);
      } finally {
        // If the lease cannot be released, the next waiting task takes it over.
        await lease.release().catch((err: unknown) => this.#logger.warn({ err, name }, 'Lease:Release:Failed'));
      }
    };
    return this.#queues.run(name, workUnderLease, signal === undefined ? {} : { signal });
  }

  /** Waits until this process has the lease. @returns `null` if `isDone` says that the lease is no longer needed. */
  async acquire(name: string, { subject, signal, isDone }: LeaseOptions): Promise<Lease | null> {
    const id = createHash('sha256').update(name).digest('hex');
    const owner = `${processName()}:${randomUUID()}`;
    const silenceDetector = new SilenceDetector(this.#leaseMs);
    while (!(await this.#model.insert(id, subject, owner))) {
      await pause(pollMs, undefined, signal === undefined ? {} : { signal });
      if ((await isDone?.()) === true) return null;
      const current = await this.#model.find(id);
      if (current === null) continue;
      const isSilent = silenceDetector.isSilent(`${current.owner} ${current.beat}`);
      if (!isSilent && !this.#releasingOwners.has(current.owner) && !hasEnded(current.owner)) continue;
      if (!(await this.#model.takeOver(id, current, owner))) continue;
      this.#releasingOwners.delete(current.owner);
      break;
    }
    return this.#leaseOf(id, owner);
  }

  #leaseOf(id: string, owner: string): Lease {
    const renew = () => this.#model.renew(id, owner);
    const renewal = new Renewal({ renew, intervalMs: this.#leaseMs / 4, trustedMs: this.#leaseMs / 2 });
    return {
      confirm: () => renewal.confirm(),
      release: async () => {
        renewal.stop();
        this.#releasingOwners.add(owner);
        const wasStillOwned = await this.#model.remove(id, owner);
        this.#releasingOwners.delete(owner);
        return wasStillOwned;
      },
    };
  }

  /** Revokes all leases about these documents. Their owners notice at {@link Lease.release}. */
  async revoke(subjects: readonly string[]): Promise<void> {
    for (const batch of batches(subjects)) await this.#model.revoke(batch);
  }

  /** Removes the leases of processes that have ended. @returns how many leases were removed. */
  removeEnded(): Promise<number> {
    return this.#model.removeEnded();
  }
}
