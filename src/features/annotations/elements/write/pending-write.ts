import { LargeImageError } from '../../../../errors.js';
import type { ElementWrite } from '../element-store.js';
import type { FamilyLease } from '../leases.js';

/** The functions that a {@link PendingWrite} calls to end a write, and the signal of the request. */
interface WriteControls {
  signal: AbortSignal | undefined;
  /** Returns the lease that keeps the sweeper away; `null` if nothing was stored. */
  getLease: () => Promise<FamilyLease | null>;
  /** Removes the stored elements. */
  undo: () => Promise<void>;
  /** Tells background work that elements are being written, so that it waits. */
  recordActivity: () => void;
}

/** Whether an error of `publish` proves that nothing was published. After a lost connection, for example, this is unknown. */
function isRefusal(error: unknown): boolean {
  return error instanceof LargeImageError;
}

/** See ElementWrite. */
export class PendingWrite<Value> implements ElementWrite<Value> {
  private constructor(
    readonly value: Value,
    private readonly controls: WriteControls,
  ) {}

  /** Begins a write. If `store` fails, nothing remains stored. */
  static async begin<Value>(controls: WriteControls, store: () => Promise<Value>): Promise<PendingWrite<Value>> {
    const write = new PendingWrite(null, controls);
    return write.map(store);
  }

  async map<Other>(make: (value: Value) => Promise<Other>): Promise<PendingWrite<Other>> {
    try {
      return new PendingWrite(await make(this.value), this.controls);
    } catch (error) {
      await this.discard();
      throw error;
    }
  }

  async commit<Result>(publish: (value: Value) => Promise<Result>): Promise<Result> {
    const { signal, getLease, undo } = this.controls;
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
      await this.controls.undo();
    } finally {
      await this.#end();
    }
  }

  async #end(): Promise<void> {
    this.controls.recordActivity();
    await (await this.controls.getLease())?.release();
  }
}
