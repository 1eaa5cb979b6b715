import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { HostLogger } from '../../index.js';
import type { Models } from '../models.js';
import type { ClaimDocument } from './claim.model.js';
import { isDuplicateKey } from '../duplicate-key.js';
import type { ProcessLife } from './process-life.js';

const pollMs = 25;
const releaseRetryMs = 1000;

/** Lets one request at a time, among all processes, do some work. A claim ends at the latest when the process that has it ends. */
export class Claims {
  /** Fences of the claims that this process has or is trying to take. */
  readonly #fences = new Set<string>();

  constructor(private readonly options: { models: Models; life: ProcessLife; logger: HostLogger; closing: AbortSignal }) {}

  /**
   * Does work while no other request does work with the same key.
   *
   * @param options `createBusyError` creates the error that is thrown if another request has the claim for longer than `patienceMs`.
   * @param work gets a function that throws an error if another process may have taken the claim.
   */
  async run<T>(
    key: string,
    options: { patienceMs: number; createBusyError: () => Error },
    work: (requireClaim: () => void) => Promise<T>,
  ): Promise<T> {
    const { life } = this.options;
    const { term } = life;
    const fence = await this.#takeClaim(key, Date.now() + options.patienceMs);
    if (fence === null) throw options.createBusyError();
    try {
      return await work(() => life.requireAliveSince(term));
    } finally {
      this.#fences.delete(fence);
      await this.#releaseClaim(key, fence);
    }
  }

  /** Whether a live process has the claim. */
  async isTaken(key: string): Promise<boolean> {
    const claim = await this.options.models.claim.findById(key).lean();
    return claim !== null && !(await this.#isAbandoned(claim));
  }

  /** Waits until the claim is free, and takes it. @returns the fence of the claim; `null` if it was not free by the deadline */
  async #takeClaim(key: string, deadline: number): Promise<string | null> {
    const { models, life } = this.options;
    const fence = randomUUID();
    this.#fences.add(fence);
    try {
      for (;;) {
        const currentClaim = await models.claim.findById(key).lean();
        if (currentClaim === null) {
          if (await this.#insertClaim({ _id: key, process: life.id, fence })) return fence;
        } else if (await this.#isAbandoned(currentClaim)) {
          const takeoverUpdate = { $set: { process: life.id, fence } };
          if ((await models.claim.updateOne({ _id: key, fence: currentClaim.fence }, takeoverUpdate)).matchedCount === 1)
            return fence;
        } else if (Date.now() > deadline) break;
        else await delay(pollMs);
      }
    } catch (error) {
      // The claim may have been stored although the reply was lost.
      this.#fences.delete(fence);
      void this.#releaseClaim(key, fence);
      throw error;
    }
    this.#fences.delete(fence);
    return null;
  }

  async #insertClaim(claim: ClaimDocument): Promise<boolean> {
    try {
      await this.options.models.claim.create(claim);
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** Whether no request works under a stored claim any more. */
  async #isAbandoned({ process, fence }: ClaimDocument): Promise<boolean> {
    const { life } = this.options;
    return process === life.id ? !this.#fences.has(fence) : !(await life.isAlive(process));
  }

  /**
   * Removes a claim. If the database fails, this is repeated until it succeeds, so that other requests need not wait until this process
   * ends.
   */
  async #releaseClaim(key: string, fence: string): Promise<void> {
    const { models, logger, closing } = this.options;
    try {
      await models.claim.deleteOne({ _id: key, fence });
    } catch (err) {
      logger.warn({ err, key }, 'Claim:Release:Failed');
      if (closing.aborted) return;
      void delay(releaseRetryMs, undefined, { ref: false }).then(() => this.#releaseClaim(key, fence));
    }
  }
}
