import { Schema, type Model } from 'mongoose';
import { batches } from '../../../core/database/id-batches.js';
import { createIndexesOf } from '../../../core/database/indexes.js';
import type { OwnCollections } from '../../../core/database/own-collections.js';
import { readInSlices } from '../../../core/database/read-limits.js';
import { indexedKeys, type IndexedKey, type ImageRecord } from './image-record.js';

interface StoredRecord extends Omit<ImageRecord, 'id'> {
  _id: string;
}

/** A condition on an indexed key: exact values, a prefix, or a range that includes both ends. */
export type KeyCondition = { key: IndexedKey | 'study'; equals?: readonly string[]; prefix?: string; from?: string; to?: string };

/** The position of a record in the order of pages. */
export interface PagePosition {
  key: string;
  study: string;
  id: string;
}

const schema = new Schema<StoredRecord>(
  {
    _id: String,
    state: String,
    changed: Number,
    mapping: String,
    reason: { type: String, default: null },
    study: String,
    base: String,
    name: String,
    created: Number,
    values: Schema.Types.Mixed,
    keys: Schema.Types.Mixed,
    facts: Schema.Types.Mixed,
    dicom: Schema.Types.Mixed,
    uids: [String],
    ranges: Schema.Types.Mixed,
  },
  { minimize: false },
)
  .index({ study: 1, _id: 1 })
  .index({ base: 1 })
  .index({ uids: 1 });
for (const key of indexedKeys) schema.index({ [`keys.${key}`]: 1, study: 1, _id: 1 });

/** Records of images, and all queries on them. */
export class ImageRecordModel {
  readonly #model: Model<StoredRecord>;

  constructor(ownCollections: OwnCollections) {
    this.#model = ownCollections.model('LargeImageDicomImage', 'dicom_image', schema);
  }

  async createIndexes(): Promise<void> {
    await createIndexesOf(this.#model);
  }

  async put({ id, ...record }: ImageRecord): Promise<void> {
    await this.#model.collection.replaceOne({ _id: id } as object, record as object, { upsert: true });
  }

  /** Stores the ranges of a record if it still has this state. */
  async setRanges({ id, state }: ImageRecord, ranges: ImageRecord['ranges']): Promise<void> {
    await this.#model.collection.updateOne({ _id: id, state } as object, { $set: { ranges } });
  }

  async remove(ids: readonly string[]): Promise<void> {
    for (const batch of batches(ids)) await this.#model.collection.deleteMany({ _id: { $in: [...batch] } } as object);
  }

  async get(id: string): Promise<ImageRecord | null> {
    return (await this.#find({ _id: id }))[0] ?? null;
  }

  /** The existing records with these ids. */
  getMany(ids: readonly string[]): Promise<ImageRecord[]> {
    return this.#find({ _id: { $in: [...ids] } });
  }

  /** Keys of the inputs of records (see {@link inputsKey}) by the ids of their items. */
  async findInputsKeys(ids: readonly string[]): Promise<Map<string, string>> {
    const docs = await this.#model.find({ _id: { $in: [...ids] } }, { state: 1, mapping: 1, changed: 1 }).lean<StoredRecord[]>();
    return new Map(docs.map(({ _id, state, mapping, changed }) => [_id, inputsKey({ state, mapping, changed })]));
  }

  /** Ids of records after an id, in ascending order. */
  async listIdsAfter(after: string | null, limit: number): Promise<string[]> {
    const filter = after === null ? {} : { _id: { $gt: after } };
    const docs = await this.#model.find(filter, { _id: 1 }).sort({ _id: 1 }).limit(limit).lean<StoredRecord[]>();
    return docs.map(({ _id }) => _id);
  }

  /**
   * Records of the images that are in the study with this UID, or have a series or instance with it.
   *
   * @param base the base in the UID; `null` if the UID was not made by this server.
   */
  async findByUid(uid: string, base: string | null, limit: number): Promise<ImageRecord[]> {
    const studyRecords = await this.#find({ study: uid, reason: null }, limit);
    if (studyRecords.length > 0) return studyRecords;
    return this.#find({ ...(base === null ? { uids: uid } : { base }), reason: null }, limit);
  }

  /**
   * A page of the images that meet a condition, sorted by the key of the condition, study and id. Images of one study follow one
   * another.
   *
   * @param after the position of the last image of the previous page.
   */
  async page(
    condition: KeyCondition | null,
    { after, limit }: { after: PagePosition | null; limit: number },
  ): Promise<{ record: ImageRecord; position: PagePosition }[]> {
    const field = condition === null || condition.key === 'study' ? 'study' : `keys.${condition.key}`;
    const conditions: object[] = [{ reason: null }];
    if (condition !== null) conditions.push({ [field]: valueCondition(condition) });
    if (after !== null) conditions.push({ $or: conditionsAfter(field, after) });
    const order = field === 'study' ? ({ study: 1, _id: 1 } as const) : ({ [field]: 1, study: 1, _id: 1 } as const);
    const cursor = this.#model.find({ $and: conditions }).sort(order).limit(limit);
    const docs = await readInSlices<StoredRecord>(cursor.lean() as never);
    const { key } = condition ?? { key: 'study' as const };
    return docs.map(({ _id: id, ...fields }) => ({
      record: { ...fields, id },
      position: { key: key === 'study' ? fields.study : (fields.keys?.[key] ?? ''), study: fields.study, id },
    }));
  }

  async #find(filter: object, limit = 0): Promise<ImageRecord[]> {
    const docs = await readInSlices<StoredRecord>(this.#model.find(filter).sort({ _id: 1 }).limit(limit).lean() as never);
    return docs.map(({ _id, ...record }) => ({ ...record, id: _id }));
  }
}

/** A text that is equal for two records of an item only if they were made from the same data. */
export function inputsKey({ state, mapping, changed }: Pick<ImageRecord, 'state' | 'mapping' | 'changed'>): string {
  return `${state} ${mapping} ${changed}`;
}

function valueCondition({ equals, prefix, from, to }: KeyCondition): object {
  if (equals !== undefined) return { $in: [...equals] };
  if (prefix !== undefined) return { $gte: prefix, $lt: `${prefix}\u{10ffff}` };
  return { ...(from !== undefined && { $gte: from }), ...(to !== undefined && { $lte: to }) };
}

function conditionsAfter(field: string, { key, study, id }: PagePosition): object[] {
  const laterInStudy = { study, _id: { $gt: id } };
  if (field === 'study') return [{ study: { $gt: study } }, laterInStudy];
  return [{ [field]: { $gt: key } }, { [field]: key, study: { $gt: study } }, { [field]: key, ...laterInStudy }];
}
