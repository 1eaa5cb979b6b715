import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { HostLogger } from '../../host.js';
import type { CachedFileModel } from '../cached-files/cached-file.model.js';
import { hasEnded, processName } from '../../core/database/process-name.js';

interface DistributedLockOptions {
  /** Keeps the claims, for all processes on the database. */
  claims: Pick<CachedFileModel, 'claim' | 'claimState' | 'beat' | 'takeOver' | 'release'>;
  logger: HostLogger;
  /** How long who holds a claim may be silent before another takes it, in milliseconds. Default 15 000. */
  leaseMs?: number;
}

const waitMs = 30;

/** Work of which one piece at a time is done under each name, in this process and in all others on the same database. */
export class DistributedLock {
  readonly #options: DistributedLockOptions;
  readonly #leaseMs: number;
  /** What was begun last in this process, by name: who comes next waits for it, and only one asks the database. */
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(options: DistributedLockOptions) {
    this.#options = options;
    this.#leaseMs = options.leaseMs ?? 15_000;
  }

  /** Does the work when its turn has come. @param subjectId the document that it is about. */
  async run<R>(name: string, subjectId: string, work: () => Promise<R>): Promise<R> {
    const before = this.#last.get(name) ?? Promise.resolve();
    const done = before.then(() => this.#claimed(name, subjectId, work));
    const settled = done.catch(() => undefined);
    this.#last.set(name, settled);
    try {
      return await done;
    } finally {
      if (this.#last.get(name) === settled) this.#last.delete(name);
    }
  }

  async #claimed<R>(name: string, subjectId: string, work: () => Promise<R>): Promise<R> {
    const { claims, logger } = this.#options;
    const owner = `${processName()}:${randomUUID()}`;
    const failed = (err: unknown) => logger.warn({ err, name }, 'Lock:Claim:Failed');
    await this.#claim(name, subjectId, owner);
    const beating = setInterval(() => void claims.beat(name, owner).catch(failed), this.#leaseMs / 4);
    beating.unref();
    try {
      return await work();
    } finally {
      clearInterval(beating);
      // Who waits takes it over when it cannot be given back.
      await claims.release(name, owner).catch(failed);
    }
  }

  async #claim(name: string, subjectId: string, owner: string): Promise<void> {
    const { claims } = this.#options;
    let seen: { owner: string; beat: number; since: number } | null = null;
    while (!(await claims.claim(name, subjectId, owner))) {
      await pause(waitMs);
      const state = await claims.claimState(name);
      if (state === null) continue;
      // Judged by this process's clock alone: those of other machines may be wrong.
      if (seen?.owner !== state.owner || seen.beat !== state.beat) seen = { ...state, since: performance.now() };
      if (performance.now() - seen.since < this.#leaseMs && !hasEnded(seen.owner)) continue;
      if (await claims.takeOver(name, { owner: seen.owner, beat: seen.beat }, owner)) return;
    }
  }
}
