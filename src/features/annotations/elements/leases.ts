import { LargeImageError } from '../../../errors.js';
import type { IdMaker } from './packs/ids.js';
import type { ElementRecords } from './records.js';

/** How often a holder or sweeper says that it is alive. */
const renewMs = 20_000;
/** A sweep that has not shown itself for so long has died. */
export const sweepStaleMs = 120_000;
/** How long a writer waits for a sweep of its family to end. */
const waitMs = 10_000;

/** Keeps the sweeper away from a family until it is released; says every few seconds that its process is alive. */
export class Hold {
  #lost = false;
  readonly #timer: NodeJS.Timeout;

  private constructor(
    private readonly records: ElementRecords,
    readonly family: string,
    private readonly id: string,
  ) {
    this.#timer = setInterval(() => void this.#renew(), renewMs);
    this.#timer.unref();
  }

  /** Begins a family. */
  static async ofNewFamily(records: ElementRecords, family: string, ids: IdMaker): Promise<Hold> {
    const id = ids.make();
    await records.startFamily(family, id, new Date());
    return new Hold(records, family, id);
  }

  /** Holds a family that exists. @throws LargeImageError `unavailable` when a sweep of it does not end, or it is gone. */
  static async of(records: ElementRecords, family: string, ids: IdMaker): Promise<Hold> {
    const id = ids.make();
    const deadline = Date.now() + waitMs;
    for (;;) {
      const now = new Date();
      if (await records.addHold(family, id, now, new Date(now.getTime() - sweepStaleMs))) return new Hold(records, family, id);
      if (Date.now() > deadline) throw new LargeImageError('unavailable', 'The elements are being cleaned up; try again.');
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async #renew(): Promise<void> {
    try {
      if (!(await this.records.renewHold(this.family, this.id, new Date()))) this.#lost = true;
    } catch {
      // The next renewal, or the check before publishing, tells whether the hold is still there.
    }
  }

  /** Makes sure that the hold was not lost meanwhile, as after a long sleep of the machine. @throws LargeImageError `unavailable`. */
  async confirm(): Promise<void> {
    const held = !this.#lost && (await this.records.renewHold(this.family, this.id, new Date()));
    if (!held) throw new LargeImageError('unavailable', 'The write took too long without a sign of life; try again.');
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.records.dropHold(this.family, this.id);
  }
}
