import { Types } from 'mongoose';
import type { HostLogger } from '../../index.js';
import { answerInTime, announceStep } from '../../larger-host.js';
import type { Models } from '../models.js';
import type { Undertaking, UndertakingDocument } from './undertaking.model.js';
import type { ProcessLife } from './process-life.js';

/** Options of {@link Journal}. */
export interface JournalOptions {
  models: Models;
  life: ProcessLife;
  logger: HostLogger;
  /** Finishes or undoes an interrupted undertaking. Can be called again for the same undertaking. */
  recover: (undertaking: Undertaking) => Promise<void>;
  /**
   * How long {@link Journal.undertakeWithoutUndo} and {@link Journal.undertakeOrReturnPartialResult} wait, in milliseconds. By default as long
   * as clients wait.
   */
  maxWaitMs?: number;
}

/** Records multi-step writes (undertakings) while they run, so that interrupted writes can be finished or undone. */
export class Journal {
  /** Ids of the undertakings that this process is doing. */
  readonly #activeIds = new Set<string>();

  constructor(private readonly options: JournalOptions) {}

  /**
   * Does a multi-step write. If it is interrupted by an error or the end of the process, `recover` finishes or undoes it. The client gets its
   * response only after this function has returned.
   *
   * @throws the error of the work, after recovering from it as far as possible.
   */
  async undertake<T>(undertaking: Undertaking, work: () => Promise<T>): Promise<T> {
    return this.#carryOut(await this.#record(undertaking), work);
  }

  /**
   * Like {@link undertake}, for a write that `recover` never undoes, so that the client can get its response as soon as the write is
   * recorded. Returns when the work is done. If the work takes longer than clients wait, this returns earlier, and the work continues.
   */
  async undertakeWithoutUndo(undertaking: Undertaking, work: () => Promise<void>): Promise<void> {
    const { logger, maxWaitMs } = this.options;
    const recordedUndertaking = await this.#record(undertaking);
    await answerInTime(this.#carryOut(recordedUndertaking, work), {
      interimAnswer: () => undefined,
      // `recover` has finished the work, or will later.
      onLateError: (err) => logger.warn({ err, kind: recordedUndertaking.kind }, 'Undertaking:Failed'),
      ...(maxWaitMs !== undefined && { ms: maxWaitMs }),
    });
  }

  /**
   * Like {@link undertake}, for work that may take longer than clients wait. If it does, this returns the partial result, and the work
   * continues. If the work fails later, `recover` finishes or undoes it.
   *
   * @param getPartialResult returns `null` until there is a partial result.
   */
  async undertakeOrReturnPartialResult<T>(
    undertaking: Undertaking,
    work: () => Promise<T>,
    getPartialResult: () => T | null,
  ): Promise<T> {
    const { logger, maxWaitMs } = this.options;
    const recordedUndertaking = await this.#record(undertaking);
    const completion = this.#carryOut(recordedUndertaking, work);
    return answerInTime(completion, {
      interimAnswer: () => getPartialResult() ?? completion,
      onLateError: (err) => logger.warn({ err, kind: recordedUndertaking.kind }, 'Undertaking:Failed'),
      ...(maxWaitMs !== undefined && { ms: maxWaitMs }),
    });
  }

  async #record(undertaking: Undertaking): Promise<UndertakingDocument> {
    const { models, life } = this.options;
    const recordedUndertaking: UndertakingDocument = { ...undertaking, _id: new Types.ObjectId(), process: life.id };
    const key = recordedUndertaking._id.toHexString();
    this.#activeIds.add(key);
    try {
      // The driver is used directly, because Mongoose would interpret `$` keys in texts of users as operators.
      await models.undertaking.collection.insertOne(recordedUndertaking as never);
      return recordedUndertaking;
    } catch (error) {
      // The work has not begun, but the record may have been stored.
      await this.#recover(recordedUndertaking);
      this.#activeIds.delete(key);
      throw error;
    }
  }

  async #carryOut<T>(undertaking: UndertakingDocument, work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      await this.options.models.undertaking.deleteOne({ _id: undertaking._id });
      return result;
    } catch (error) {
      await this.#recover(undertaking);
      throw error;
    } finally {
      this.#activeIds.delete(undertaking._id.toHexString());
    }
  }

  /**
   * Recovers from undertakings of processes that have died, and from undertakings of this process whose recovery failed.
   *
   * @returns the number of recovered undertakings
   */
  async recoverInterrupted(): Promise<number> {
    const { models, life } = this.options;
    const undertakings = await models.undertaking.find().sort({ _id: 1 }).lean<UndertakingDocument[]>();
    const otherProcesses = [...new Set(undertakings.map(({ process }) => process))].filter((id) => id !== life.id);
    const aliveProcesses = new Set(await Promise.all(otherProcesses.map(async (id) => ((await life.isAlive(id)) ? id : null))));
    let recoveredCount = 0;
    for (const each of undertakings) {
      const isRunning = each.process === life.id ? this.#activeIds.has(each._id.toHexString()) : aliveProcesses.has(each.process);
      if (!isRunning && (await this.#isStillRecorded(each)) && (await this.#recover(each))) recoveredCount++;
    }
    return recoveredCount;
  }

  /**
   * Whether an undertaking is still recorded. It may have been completed while other undertakings were recovered, and must not be undone then.
   */
  async #isStillRecorded({ _id }: UndertakingDocument): Promise<boolean> {
    return (await this.options.models.undertaking.exists({ _id })) !== null;
  }

  async #recover(undertaking: UndertakingDocument): Promise<boolean> {
    const { models, logger, recover } = this.options;
    const { _id, kind } = undertaking;
    try {
      await recover(undertaking);
      announceStep(`${kind}:recovered`);
      await models.undertaking.deleteOne({ _id });
      return true;
    } catch (err) {
      logger.warn({ err, kind }, 'Undertaking:Recovery:Failed');
      return false;
    }
  }
}
