import type { OwnCollections } from './own-collections.js';
import { isDuplicateKey } from './refused-writes.js';

interface ScheduleDocument {
  _id: string;
  /** When the work is due next. */
  next: Date;
  /** The process that claimed the work last. */
  owner: string;
}

/** Schedules work that is done at intervals, by one process at a time. */
export class ScheduleModel {
  constructor(private readonly own: OwnCollections) {}

  get #documents() {
    return this.own.collection<ScheduleDocument>('schedule');
  }

  /**
   * Claims work that is due, and sets when the work is due next, in one atomic step.
   *
   * @returns false if the work is not due, or another process was faster.
   */
  async claim(name: string, owner: string, next: Date): Promise<boolean> {
    const now = new Date();
    const claimed = await this.#documents.findOneAndUpdate({ _id: name, next: { $lte: now } }, { $set: { next, owner } });
    if (claimed !== null) return true;
    try {
      await this.#documents.insertOne({ _id: name, next, owner });
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** Postpones the next time while the work is running. @returns false if another process has claimed the work. */
  async renew(name: string, owner: string, next: Date): Promise<boolean> {
    return (await this.#documents.updateOne({ _id: name, owner }, { $set: { next } })).matchedCount > 0;
  }
}
