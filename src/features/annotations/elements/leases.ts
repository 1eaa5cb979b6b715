import { LargeImageError } from '../../../errors.js';
import type { IdMaker } from './packs/ids.js';
import type { ElementRecords } from './records.js';
import { hasEnded, processName } from '../../../core/database/leases/process-name.js';
import { Renewal } from '../../../core/database/leases/renewal.js';
import { announceStep } from '../../../core/steps.js';

/** Interval in milliseconds at which writers and sweepers report that they are alive. */
const renewEveryMs = 20_000;
/** A sweep that has not renewed its claim for this many milliseconds counts as dead, even if its process cannot be checked. */
export const sweepStaleMs = 120_000;
/** Maximum time in milliseconds that a writer waits for a sweep of its family to end. */
const maxWaitMs = 10_000;
/** A lease that was renewed within this many milliseconds is not checked again, because sweepers respect a lease for much longer. */
const trustedMs = 10_000;

/** Makes an id for a lease or a claim. The id contains the name of this process. */
export function newLeaseId(ids: IdMaker): string {
  return `${processName()}:${ids.make()}`;
}

/** Ends the claim on a family if the process of its sweeper has ended. */
export async function endClaimOfDeadSweeper(records: ElementRecords, family: string): Promise<void> {
  const claimId = await records.findClaimId(family);
  if (claimId !== null && hasEnded(claimId)) await records.endClaim(family, claimId, false);
}

/** Keeps sweepers away from a family until the lease is released, and reports every 20 seconds that this process is alive. */
export class FamilyLease {
  readonly #renewal: Renewal;

  private constructor(
    private readonly records: ElementRecords,
    readonly family: string,
    private readonly id: string,
  ) {
    const renew = () => records.renewLease(family, id, new Date());
    this.#renewal = new Renewal({ renew, intervalMs: renewEveryMs, trustedMs });
  }

  /** Creates a family with a lease. */
  static async createFamily(records: ElementRecords, family: string, ids: IdMaker): Promise<FamilyLease> {
    const id = newLeaseId(ids);
    await records.createFamily(family, id, new Date());
    announceStep('elements:begun');
    return new FamilyLease(records, family, id);
  }

  /**
   * Leases an existing family.
   *
   * @throws LargeImageError `unavailable` if a sweep of the family does not end, or if the family no longer exists.
   */
  static async leaseFamily(records: ElementRecords, family: string, ids: IdMaker): Promise<FamilyLease> {
    const id = newLeaseId(ids);
    const deadline = Date.now() + maxWaitMs;
    for (;;) {
      const now = new Date();
      if (await records.addLease(family, id, now, new Date(now.getTime() - sweepStaleMs))) {
        announceStep('elements:leased');
        return new FamilyLease(records, family, id);
      }
      await endClaimOfDeadSweeper(records, family);
      if (Date.now() > deadline) throw new LargeImageError('unavailable', 'The elements are being cleaned up. Try again.');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Checks that the lease was not lost in the meantime. @throws LargeImageError `unavailable` if it was. */
  async confirm(): Promise<void> {
    await this.#renewal.confirm();
    announceStep('elements:stored');
  }

  async release(): Promise<void> {
    this.#renewal.stop();
    await this.records.dropLease(this.family, this.id);
    announceStep('elements:released');
  }
}
