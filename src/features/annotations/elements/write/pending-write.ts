import { LargeImageError } from '../../../../errors.js';
import type { ElementWrite } from '../element-store.js';
import type { FamilyLease } from '../leases.js';

/** The parts of a write that {@link PendingWrite} needs. */
interface WriteSteps {
  signal: AbortSignal | undefined;
  /** Returns the lease that keeps the sweeper away; `null` if nothing was stored. */
  getLease: () => Promise<FamilyLease | null>;
  /** Removes the stored elements. */
  undo: () => Promise<void>;
  /** Tells background work that elements are being written. */
  recordActivity: () => void;
}

/** Whether an error of `publish` means that nothing was published. A lost connection does not mean this. */
function isRefusal(error: unknown): boolean {
  return error instanceof LargeImageError;
}

/** See ElementWrite. */
export class PendingWrite<Value> implements ElementWrite<Value> {
  private constructor(
    readonly value: Value,
    private readonly steps: WriteSteps,
  ) {}

  /** Stores elements; if that fails, none are kept. */
  static async begin<Value>(steps: WriteSteps, store: () => Promise<Value>): Promise<PendingWrite<Value>> {
    const write = new PendingWrite(null, steps);
    return write.map(store);
  }

  async map<Other>(make: (value: Value) => Promise<Other>): Promise<PendingWrite<Other>> {
    try {
      return new PendingWrite(await make(this.value), this.steps);
    } catch (error) {
      await this.discard();
      throw error;
    }
  }

  async commit<Result>(publish: (value: Value) => Promise<Result>): Promise<Result> {
    const { signal, getLease, undo } = this.steps;
    let mayBeVisible = false;
    try {
      signal?.throwIfAborted();
      await (await getLease())?.confirm();
      mayBeVisible = true;
      return await publish(this.value);
    } catch (error) {
      if (!mayBeVisible || isRefusal(error)) await undo();
      throw error;
    } finally {
      await this.#end();
    }
  }

  async discard(): Promise<void> {
    try {
      await this.steps.undo();
    } finally {
      await this.#end();
    }
  }

  async #end(): Promise<void> {
    this.steps.recordActivity();
    await (await this.steps.getLease())?.release();
  }
}
