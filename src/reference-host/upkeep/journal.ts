import { Types } from 'mongoose';
import { inTime, step, type HostLogger } from '../../index.js';
import type { Models } from '../models.js';
import type { Undertaking, UndertakingDocument } from './undertaking.model.js';
import type { ProcessLife } from './process-life.js';

/** What {@link Journal} works with. */
export interface JournalOptions {
  models: Models;
  life: ProcessLife;
  logger: HostLogger;
  /** Finishes or undoes what ended half way. It may be done again. */
  recover: (undertaking: Undertaking) => Promise<void>;
  /** How long {@link Journal.finish} waits, in milliseconds. Default: as long as clients wait. */
  answerMs?: number;
}

/** Writes of several steps are noted in it while they are under way, so that none stays half done. */
export class Journal {
  readonly #active = new Set<string>();

  constructor(private readonly options: JournalOptions) {}

  /**
   * Does a write of several steps so that it is finished or undone when it ends half way, by an error or with the process. It may be
   * acknowledged when this has returned.
   *
   * @throws What the work throws, after it has been recovered from as far as that is possible.
   */
  async undertake<T>(undertaking: Undertaking, work: () => Promise<T>): Promise<T> {
    return this.#carryOut(await this.#note(undertaking), work);
  }

  /**
   * The same for a write that recovering from finishes: it may be acknowledged once it is noted. So this returns when it has been done, or when
   * clients would wait no longer, and the work goes on.
   */
  async finish(undertaking: Undertaking, work: () => Promise<void>): Promise<void> {
    const { logger, answerMs } = this.options;
    const noted = await this.#note(undertaking);
    await inTime(this.#carryOut(noted, work), {
      answer: () => undefined,
      // It has been recovered from, or will be.
      failed: (err) => logger.warn({ err, kind: noted.kind }, 'Undertaking:Failed'),
      ...(answerMs !== undefined && { ms: answerMs }),
    });
  }

  async #note(undertaking: Undertaking): Promise<UndertakingDocument> {
    const { models, life } = this.options;
    const noted: UndertakingDocument = { ...undertaking, _id: new Types.ObjectId(), process: life.id };
    const key = noted._id.toHexString();
    this.#active.add(key);
    try {
      // Past Mongoose, which would read operators into what users have written.
      await models.undertaking.collection.insertOne(noted as never);
      return noted;
    } catch (error) {
      // Nothing has been done, but it may be noted.
      await this.#recover(noted);
      this.#active.delete(key);
      throw error;
    }
  }

  async #carryOut<T>(noted: UndertakingDocument, work: () => Promise<T>): Promise<T> {
    try {
      const result = await work();
      await this.options.models.undertaking.deleteOne({ _id: noted._id });
      return result;
    } catch (error) {
      await this.#recover(noted);
      throw error;
    } finally {
      this.#active.delete(noted._id.toHexString());
    }
  }

  /** Recovers from what ended half way in processes that have died, and here without success. @returns how many there were. */
  async recoverAll(): Promise<number> {
    const { models, life } = this.options;
    const noted = await models.undertaking.find().sort({ _id: 1 }).lean<UndertakingDocument[]>();
    const others = [...new Set(noted.map(({ process }) => process))].filter((id) => id !== life.id);
    const alive = new Set(await Promise.all(others.map(async (id) => ((await life.isAlive(id)) ? id : null))));
    let count = 0;
    for (const each of noted) {
      const isUnderWay = each.process === life.id ? this.#active.has(each._id.toHexString()) : alive.has(each.process);
      if (!isUnderWay && (await this.#isNoted(each)) && (await this.#recover(each))) count++;
    }
    return count;
  }

  /** Recovering from others takes time, in which what was under way may have ended as it should: that must not be undone. */
  async #isNoted({ _id }: UndertakingDocument): Promise<boolean> {
    return (await this.options.models.undertaking.exists({ _id })) !== null;
  }

  async #recover(noted: UndertakingDocument): Promise<boolean> {
    const { models, logger, recover } = this.options;
    const { _id, kind } = noted;
    try {
      await recover(noted);
      step(`${kind}:recovered`);
      await models.undertaking.deleteOne({ _id });
      return true;
    } catch (err) {
      logger.warn({ err, kind }, 'Undertaking:Recovery:Failed');
      return false;
    }
  }
}
