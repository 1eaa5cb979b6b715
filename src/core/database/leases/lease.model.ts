import type { Model } from 'mongoose';
import { groupCalls } from '../group-calls.js';
import { createIndexesOf } from '../indexes.js';
import { isCollision } from '../outage.js';
import { ownMark, type OwnCollections } from '../own-collections.js';
import { hasEnded } from './process-name.js';
import { isDuplicateKey } from '../refused-writes.js';

interface LeaseDocument {
  /** Digest of the name of the work. */
  _id: string;
  /** The document that the work is about. */
  subject: string;
  /** Differs each time the lease is taken, so that two holders are never confused, even in the same process. */
  owner: string;
  /** Incremented while the owner is alive. */
  beat: number;
  /** When the lease was taken or last renewed. */
  at: Date;
}

interface OwnedLease {
  id: string;
  owner: string;
}

/** The database removes a lease that has not been renewed for this many seconds. */
const maxSilenceSeconds = 3600;

/** All queries on leases. Each change is one atomic write on the condition that the owner has not changed. */
export class LeaseModel {
  readonly #model: Model<LeaseDocument>;
  readonly #insertGrouped = groupCalls((leases: readonly (OwnedLease & { subject: string })[]) => this.#insertMany(leases));
  readonly #removeGrouped = groupCalls((leases: readonly OwnedLease[]) => this.#removeMany(leases));

  constructor(own: OwnCollections) {
    const { Schema } = own.connection.base;
    const schema = new Schema<LeaseDocument>({ _id: String, subject: String, owner: String, beat: Number, at: Date });
    schema.index({ subject: 1 });
    schema.index({ at: 1 }, { expireAfterSeconds: maxSilenceSeconds, partialFilterExpression: ownMark });
    this.#model = own.model<LeaseDocument>('LargeImageLease', 'lease', schema);
  }

  async createIndexes(): Promise<void> {
    await createIndexesOf(this.#model);
  }

  /** Stores a lease. @returns false if there already is one. */
  insert(id: string, subject: string, owner: string): Promise<boolean> {
    return this.#insertGrouped({ id, subject, owner });
  }

  async #insertMany(leases: readonly (OwnedLease & { subject: string })[]): Promise<boolean[]> {
    const at = new Date();
    const docs = leases.map(({ id, subject, owner }) => ({ _id: id, subject, owner, beat: 0, at }));
    try {
      await this.#model.insertMany(docs, { ordered: false, lean: true });
      return leases.map(() => true);
    } catch (error) {
      if (!isDuplicateKey(error) && !isCollision(error)) throw error;
      // Errors of different databases say different things about the other leases, so the stored owners are read.
      return this.#areOwned(leases);
    }
  }

  async #areOwned(leases: readonly OwnedLease[]): Promise<boolean[]> {
    const docs = await this.#model
      .find({ _id: { $in: leases.map(({ id }) => id) } }, { owner: 1 })
      .lean<{ _id: string; owner: string }[]>();
    const ownerById = new Map(docs.map(({ _id, owner }) => [_id, owner]));
    return leases.map(({ id, owner }) => ownerById.get(id) === owner);
  }

  /** Finds the owner of a lease, and how often it was renewed; `null` if there is no lease. */
  async find(id: string): Promise<{ owner: string; beat: number } | null> {
    return this.#model.findById(id, { owner: 1, beat: 1 }).lean<{ owner: string; beat: number }>();
  }

  /** Records that the owner is alive. @returns false if the lease belongs to someone else or no longer exists. */
  async renew(id: string, owner: string): Promise<boolean> {
    const update = await this.#model.updateOne({ _id: id, owner }, { $inc: { beat: 1 }, $set: { at: new Date() } });
    return update.matchedCount > 0;
  }

  /** Takes a lease over from an owner that has ended. @returns false if the lease has changed since it was read. */
  async takeOver(id: string, current: { owner: string; beat: number }, owner: string): Promise<boolean> {
    const { owner: previousOwner, beat } = current;
    const update = await this.#model.updateOne(
      { _id: id, owner: previousOwner, beat },
      { $set: { owner, beat: 0, at: new Date() } },
    );
    return update.matchedCount > 0;
  }

  /** Releases a lease. @returns false if it was taken over or revoked. */
  remove(id: string, owner: string): Promise<boolean> {
    return this.#removeGrouped({ id, owner });
  }

  /**
   * Removes leases. @returns for each lease, whether its owner still had it.
   *
   * A lease that is revoked between the two queries still counts as owned. That does no harm, because its revocation also removes
   * everything that was made under it.
   */
  async #removeMany(leases: readonly OwnedLease[]): Promise<boolean[]> {
    const owned = await this.#areOwned(leases);
    const ids = { $in: leases.map(({ id }) => id) };
    await this.#model.deleteMany({ _id: ids, owner: { $in: leases.map(({ owner }) => owner) } });
    return owned;
  }

  /** Revokes all leases about these documents. */
  async revoke(subjects: readonly string[]): Promise<void> {
    await this.#model.deleteMany({ subject: { $in: [...subjects] } });
  }

  /** Removes the leases of processes that have ended. @returns how many leases were removed. */
  async removeEnded(): Promise<number> {
    const silentSince = new Date(Date.now() - maxSilenceSeconds * 1000);
    let count = 0;
    const leases = await this.#model.find({}, { owner: 1, at: 1 }).lean<Pick<LeaseDocument, '_id' | 'owner' | 'at'>[]>();
    for (const { _id, owner, at } of leases) {
      if (!hasEnded(owner) && at >= silentSince) continue;
      count += (await this.#model.deleteOne({ _id, owner })).deletedCount;
    }
    return count;
  }
}
