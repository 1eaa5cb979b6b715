import { isDeepStrictEqual } from 'node:util';
import type { Model } from 'mongoose';
import type { StoredDocument } from '../../host.js';
import type { EnteredScale } from '../entered-scale.js';
import type { FileRecord, LargeImageMarker, ItemRecord, MissingFiles } from './records.js';
import { idText } from '../database/id-text.js';
import { readInSlices } from '../database/read-limits.js';
import { durable } from '../database/durable.js';
import { groupCalls } from '../database/group-calls.js';
import { repeatUntilAccepted } from '../database/refused-writes.js';
import { hiddenField, refusedField, scaleField } from './schema-extension.js';

/** Reads a stored marker. Returns `null` for any other value, because a host may use the field for something else. */
export function markerOf(value: unknown): LargeImageMarker | null {
  if (typeof value !== 'object' || value === null) return null;
  const stored = value as Record<string, unknown>;
  if (stored.fileId == null && stored.jobId == null && stored.expected !== true) return null;
  return {
    ...(stored.fileId != null && { fileId: idText(stored.fileId) }),
    ...(typeof stored.sourceName === 'string' && { sourceName: stored.sourceName }),
    ...(stored.originalId != null && { originalId: idText(stored.originalId) }),
    ...(stored.expected === true && { expected: true }),
    ...(stored.jobId != null && { jobId: idText(stored.jobId) }),
    ...(typeof stored.notify === 'boolean' && { notify: stored.notify }),
    ...(typeof stored.revision === 'string' && { revision: stored.revision }),
  };
}

/** Reads stored missing files; `null` for any other value. */
export function missingFilesOf(value: unknown): MissingFiles | null {
  const { fileId, missing } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  if (fileId == null || !Array.isArray(missing)) return null;
  return { fileId: idText(fileId), missing: missing.filter((path): path is string => typeof path === 'string') };
}

/** Reads the stored size of a pixel; `null` for any other value. */
export function scaleOf(value: unknown): EnteredScale | null {
  const { mmX, mmY } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  return typeof mmX === 'number' && typeof mmY === 'number' && mmX > 0 && mmY > 0 ? { mmX, mmY } : null;
}

/** Maximum length of a reason in {@link refusedField}, in UTF-16 units. */
const maxReasonLength = 1000;

const unfinishedPerPage = 100;

/** A marker to write to an item that has no marker yet. */
interface Claim {
  item: ItemRecord;
  marker: Record<string, unknown>;
}

function createClaimWrite({ item, marker }: Claim) {
  return {
    filter: { _id: item.doc._id, largeImage: null, [hiddenField]: null },
    update: { $set: { largeImage: marker }, $unset: { [refusedField]: 1 } },
  };
}

/** Returns the document that an item has after a claim. */
function withMarker({ [refusedField]: _refused, ...doc }: StoredDocument, largeImage: Record<string, unknown>): StoredDocument {
  return { ...doc, largeImage } as StoredDocument;
}

/**
 * The markers on the host's items: from which file an item is served, and for which job it waits. Every change is one atomic step.
 */
export class LargeImageMarkers {
  readonly #items: Model<Record<string, unknown>>;
  readonly #itemOf: (doc: StoredDocument) => ItemRecord;
  readonly #listeners = new Set<(itemId: string) => void>();

  constructor(items: Model<Record<string, unknown>>, itemOf: (doc: StoredDocument) => ItemRecord) {
    this.#items = items;
    this.#itemOf = itemOf;
  }

  /** Calls `listener` after each change of a marker made in this process, until the returned function is called. */
  onChange(listener: (itemId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Announces that the marker of an item has changed. */
  announce(itemId: string): void {
    for (const listener of this.#listeners) listener(itemId);
  }

  /** Number of items whose large image is ready. */
  async count(): Promise<number> {
    return this.#items.countDocuments({ 'largeImage.fileId': { $ne: null } });
  }

  /** Finds at most `limit` items whose large image is ready, by ascending id: the next ones after the item `after`. */
  async findPage({ after, limit }: { after: ItemRecord | null; limit: number }): Promise<ItemRecord[]> {
    const query = this.#items
      .find({ 'largeImage.fileId': { $ne: null }, ...(after !== null && { _id: { $gt: after.doc._id } }) })
      .sort({ _id: 1 })
      .limit(limit);
    return (await readInSlices<StoredDocument>(query.lean())).map((doc) => this.#itemOf(doc));
  }

  /**
   * Writes the marker of an item that has none, in one atomic step.
   *
   * @returns the changed item, or `null` if the item no longer exists or already has a marker.
   */
  claim(item: ItemRecord, marker: Record<string, unknown>): Promise<ItemRecord | null> {
    return this.#claimTogether({ item, marker });
  }

  /** Writes several claims with one command, because files often arrive together, such as those of a served folder. */
  readonly #claimTogether = groupCalls(
    async (claims: readonly Claim[]) => {
      const [firstClaim] = claims;
      const docs =
        firstClaim !== undefined && claims.length === 1 ? [await this.#claimOne(firstClaim)] : await this.#claimSeveral(claims);
      return docs.map((doc) => this.#announceChanged(doc));
    },
    { pauseMs: 100 },
  );

  #claimOne(claim: Claim): Promise<StoredDocument | null> {
    const { filter, update } = createClaimWrite(claim);
    return this.#items.findOneAndUpdate(filter, update, { returnDocument: 'after', ...durable }).lean<StoredDocument>();
  }

  async #claimSeveral(claims: readonly Claim[]): Promise<(StoredDocument | null)[]> {
    const firstByItem = new Map<string, Claim>();
    for (const claim of claims) if (!firstByItem.has(claim.item.id)) firstByItem.set(claim.item.id, claim);
    const writes = [...firstByItem.values()].map((claim) => ({ updateOne: createClaimWrite(claim) }));
    // This bypasses Mongoose, which would check each value. The write can be repeated, because the second time it changes nothing.
    const { modifiedCount } = await repeatUntilAccepted(() =>
      this.#items.collection.bulkWrite(writes as never, { ordered: false, ...durable }),
    );
    if (modifiedCount === claims.length) return claims.map(({ item, marker }) => withMarker(item.doc, marker));
    const query = this.#items.find({ _id: { $in: [...firstByItem.values()].map(({ item }) => item.doc._id) } });
    const docById = new Map((await readInSlices<StoredDocument>(query.lean())).map((doc) => [idText(doc._id), doc]));
    return claims.map((claim) => {
      const doc = docById.get(claim.item.id);
      const isOurs =
        firstByItem.get(claim.item.id) === claim && isDeepStrictEqual(markerOf(doc?.largeImage), markerOf(claim.marker));
      return isOurs && doc !== undefined ? doc : null;
    });
  }

  #announceChanged(doc: StoredDocument | null): ItemRecord | null {
    if (doc === null) return null;
    const item = this.#itemOf(doc);
    this.announce(item.id);
    return item;
  }

  /** Removes the marker of an item if it has not changed since `item` was read. @returns whether it was removed. */
  async release(item: ItemRecord): Promise<boolean> {
    const { largeImage } = item.doc as { largeImage?: { fileId?: unknown; jobId?: unknown } };
    const result = await this.#items.updateOne(
      { _id: item.doc._id, 'largeImage.fileId': largeImage?.fileId ?? null, 'largeImage.jobId': largeImage?.jobId ?? null },
      { $unset: { largeImage: 1, [scaleField]: 1 } },
      durable,
    );
    this.announce(item.id);
    return result.modifiedCount > 0;
  }

  /**
   * Replaces the marker of an item, if it has not changed since `item` was read, in one atomic step.
   *
   * @returns the changed item, or `null` if the item no longer exists, or its marker has changed.
   */
  async replace(item: ItemRecord, marker: Record<string, unknown>): Promise<ItemRecord | null> {
    const { largeImage } = item.doc as { largeImage?: { fileId?: unknown; jobId?: unknown } };
    const doc = await this.#items
      .findOneAndUpdate(
        {
          _id: item.doc._id,
          'largeImage.fileId': largeImage?.fileId ?? null,
          'largeImage.jobId': largeImage?.jobId ?? null,
          ...(item.largeImage === null && { largeImage: null }),
        },
        { $set: { largeImage: marker } },
        { returnDocument: 'after', ...durable },
      )
      .lean<StoredDocument>();
    return this.#announceChanged(doc);
  }

  /** Stores an image's pixel size; `null` removes it. @returns the changed item, or `null` if the item no longer has an image */
  async setScale(item: ItemRecord, scale: EnteredScale | null): Promise<ItemRecord | null> {
    const doc = await this.#items
      .findOneAndUpdate(
        { _id: item.doc._id, 'largeImage.fileId': { $ne: null } },
        scale === null ? { $unset: { [scaleField]: 1 } } : { $set: { [scaleField]: scale } },
        { returnDocument: 'after', ...durable },
      )
      .lean<StoredDocument>();
    return this.#announceChanged(doc);
  }

  /**
   * Replaces the marker of an item that waits for a job, after the job has ended; `null` removes the marker.
   *
   * @returns the changed item, or `null` if the item no longer waits for the job.
   */
  async replaceAfterJob(
    { itemId, jobId }: { itemId: string; jobId: string },
    marker: Record<string, unknown> | null,
  ): Promise<ItemRecord | null> {
    const doc = await this.#items
      .findOneAndUpdate(
        { _id: itemId, 'largeImage.jobId': jobId, 'largeImage.expected': true },
        marker === null ? { $unset: { largeImage: 1 } } : { $set: { largeImage: marker } },
        { returnDocument: 'after', ...durable },
      )
      .lean<StoredDocument>();
    return this.#announceChanged(doc);
  }

  /** Finds one item that waits for a job; `null` if there is none. */
  async findUnfinished(): Promise<ItemRecord | null> {
    const doc = await this.#items.findOne({ 'largeImage.expected': true }).sort({ _id: 1 }).lean<StoredDocument>();
    return doc === null ? null : this.#itemOf(doc);
  }

  /** Yields the items that wait for a job, by ascending id. The items are read in pages. */
  async *iterateUnfinished(): AsyncGenerator<ItemRecord> {
    for (let after: unknown = null; ;) {
      const query = { 'largeImage.expected': true, ...(after !== null && { _id: { $gt: after } }) };
      const cursor = this.#items.find(query).sort({ _id: 1 }).limit(unfinishedPerPage).lean();
      const docs = await readInSlices<StoredDocument>(cursor);
      for (const doc of docs) yield this.#itemOf(doc);
      if (docs.length < unfinishedPerPage) return;
      after = docs.at(-1)!._id;
    }
  }

  /** Stores on an item without a large image why its file could not become a large image; `null` removes the reason. */
  async storeRefusal(item: Pick<ItemRecord, 'doc'>, reason: string | null): Promise<void> {
    // This bypasses Mongoose, because the write must not count as a change of the item for the host.
    await this.#items.collection.updateOne(
      { _id: item.doc._id, largeImage: null } as object,
      reason === null ? { $unset: { [refusedField]: 1 } } : { $set: { [refusedField]: reason.slice(0, maxReasonLength) } },
    );
  }

  /** Lists items whose file could not become a large image, each with the reason, newest first. */
  async listRefused({ limit, offset }: { limit: number; offset: number }): Promise<{ item: ItemRecord; reason: string }[]> {
    const query = this.#items
      .find({ [refusedField]: { $exists: true } })
      .sort({ _id: -1 })
      .skip(offset)
      .limit(limit);
    return (await readInSlices<StoredDocument>(query.lean())).map((doc) => ({
      item: this.#itemOf(doc),
      reason: String(doc[refusedField]),
    }));
  }

  /** Finds the items whose large images are served from these files. */
  async findItemsServedFrom(files: readonly FileRecord[]): Promise<ItemRecord[]> {
    const query = this.#items.find({ 'largeImage.fileId': { $in: files.map(({ doc }) => doc._id) } });
    return (await readInSlices<StoredDocument>(query.lean())).map((doc) => this.#itemOf(doc));
  }
}
