import type { Connection, Model, QueryFilter, Types } from 'mongoose';
import type { StoredElements } from '../elements/contract.js';
import type {
  AnnotationAccess,
  AnnotationFilter,
  AnnotationPaging,
  AnnotationRecord,
  AnnotationState,
} from './annotation-record.js';
import { AnnotationBatches } from '../history/batches.model.js';
import {
  annotationSchemas,
  searchFields,
  sortField,
  stateFields,
  toQuery,
  toRecord,
  type HeadDocument,
  type VersionDocument,
} from './annotation-documents.model.js';
import { AnnotationVersions } from '../history/versions.model.js';
import { listTimeoutMs } from '../../../core/database/outage.js';
import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import { eachInSlices, readInSlices } from '../../../core/database/read-limits.js';
import { idText } from '../../../core/database/id-text.js';
import { batches, idsPerQuery } from '../../../core/database/id-batches.js';
import { createIndexesOf } from '../../../core/database/indexes.js';
import type { OwnCollections } from '../../../core/database/own-collections.js';
import { isDuplicateKey } from '../../../core/database/refused-writes.js';
import { step } from '../../../core/steps.js';

/** What {@link AnnotationModel.insert} takes: everything but what the model gives. */
export type NewAnnotation = Omit<AnnotationRecord, 'id' | 'accessStamp' | 'active'> & { id?: string };

/** What tells how annotations are ordered in a list, without their documents. */
export interface AnnotationKey {
  id: string;
  /** Values of the fields that are sorted by. */
  values: readonly unknown[];
}

/** Who may do what from now on; what is absent stays. */
export interface AccessFields {
  access: AnnotationAccess;
  public?: boolean | undefined;
  publicFlags?: readonly string[] | undefined;
}

/** What cleaning up needs to know of an annotation. */
export type AnnotationStamp = Pick<AnnotationRecord, 'id' | 'itemId' | 'active' | 'version' | 'updated'>;

/** Documents in one insertMany, and heads in one answer: some engines refuse messages of very many. */
const insertsPerMessage = 1000;
const headsPerQuery = 50;

/** All queries on annotations. Elements are not here: heads refer to what the element store keeps. */
export class AnnotationModel {
  /** Former versions. */
  readonly former: AnnotationVersions;
  /** Lists that become visible as one. */
  readonly batches: AnnotationBatches;
  readonly #connection: Connection;
  readonly #heads: Model<HeadDocument>;
  readonly #sequence: Model<{ _id: string; next: number }>;

  constructor(own: OwnCollections) {
    const { connection } = own;
    this.#connection = connection;
    const { heads, versions } = annotationSchemas(connection);
    const sequence = new connection.base.Schema<{ _id: string; next: number }>({ _id: String, next: Number });
    this.#heads = own.model<HeadDocument>('LargeImageAnnotation', 'annotation', heads);
    this.#sequence = own.model<{ _id: string; next: number }>('LargeImageAnnotationSequence', 'annotation_sequence', sequence);
    const versionModel = own.model<VersionDocument>('LargeImageAnnotationVersion', 'annotation_version', versions);
    this.former = new AnnotationVersions(connection, versionModel);
    this.batches = new AnnotationBatches(own, this.#heads);
  }

  async createIndexes(): Promise<void> {
    await Promise.all([createIndexesOf(this.#heads), this.former.createIndexes()]);
  }

  /** Stops what waits to be done later. */
  close(): void {
    this.batches.close();
  }

  /** The next number of the sequence that all annotations share. Numbers are used once, not all are used. */
  async nextVersion(): Promise<number> {
    return this.nextVersions(1);
  }

  /** The first of so many numbers of the sequence that follow one another. */
  async nextVersions(count: number): Promise<number> {
    const take = () =>
      this.#sequence
        .findOneAndUpdate({ _id: 'version' }, { $inc: { next: count } }, { upsert: true, returnDocument: 'after' })
        .lean();
    let taken: { next: number } | null;
    try {
      taken = await take();
    } catch (error) {
      // Two first writes at once: the later insert finds the document there.
      if (!isDuplicateKey(error)) throw error;
      taken = await take();
    }
    return taken!.next - count;
  }

  /** Writes new annotations. All become visible by one write, or none. */
  async insert(annotations: readonly NewAnnotation[]): Promise<AnnotationRecord[]> {
    await this.#clearTheWay(annotations);
    const batch = annotations.length > 1 ? this.batches.begin() : undefined;
    const docs = annotations.map((annotation): HeadDocument => {
      const { id, access, public: isPublic, publicFlags } = annotation;
      return {
        _id: this.#objectId(id),
        ...stateFields(annotation),
        ...searchFields(annotation.head),
        _active: true,
        access,
        public: isPublic,
        ...(publicFlags && { publicFlags: [...publicFlags] }),
        accessStamp: 0,
        accessVersion: annotation.version,
        ...(batch !== undefined && { batch }),
      };
    });
    try {
      // Past Mongoose: nothing is to be cast, and elements hold plain values.
      for (let start = 0; start < docs.length; start += insertsPerMessage) {
        await this.#heads.collection.insertMany(docs.slice(start, start + insertsPerMessage), { ordered: true });
        step('annotation:inserted');
      }
      if (batch !== undefined) await this.batches.commit(batch);
    } catch (error) {
      if (batch !== undefined) await this.batches.abort(batch);
      throw error;
    }
    return docs.map(toRecord);
  }

  /** Gives up unfinished lists that hold these ids: whoever brings ids of its own does again what a killed process has begun. */
  async #clearTheWay(annotations: readonly NewAnnotation[]): Promise<void> {
    const ids = annotations.flatMap(({ id }) => (id === undefined ? [] : [id]));
    for (const part of batches(ids)) {
      const query = { _id: { $in: [...part] }, batch: { $ne: null } } as QueryFilter<HeadDocument>;
      const docs = await this.#heads.find(query, { batch: 1 }).lean<Pick<HeadDocument, 'batch'>[]>();
      for (const batch of new Set(docs.map((doc) => doc.batch!))) await this.batches.abort(batch);
    }
  }

  async find(id: string): Promise<AnnotationRecord | null> {
    const doc = await this.#heads.findById(id).lean<HeadDocument>();
    if (doc === null || (doc.batch !== undefined && !(await this.batches.isCommitted(doc.batch)))) return null;
    return toRecord(doc);
  }

  /**
   * Writes a new version over the one that was read, in one atomic step. `null`: the annotation is gone, is at another version now, or was
   * deleted or restored meanwhile.
   */
  async replace(
    { id, version, active }: Pick<AnnotationRecord, 'id' | 'version' | 'active'>,
    state: AnnotationState,
  ): Promise<AnnotationRecord | null> {
    const from = { _id: id, _version: version, _active: active ? { $ne: false } : false };
    const $set = { ...stateFields(state), ...searchFields(state.head), _active: true };
    const doc = await this.#heads.findOneAndUpdate(from, { $set }, { returnDocument: 'after' }).lean<HeadDocument>();
    return doc === null ? null : toRecord(doc);
  }

  /** Marks an annotation as deleted. @returns whether it was at this version. */
  async deactivate(id: string, from: number): Promise<boolean> {
    const result = await this.#heads.updateOne({ _id: id, _version: from }, { $set: { _active: false } });
    return result.matchedCount > 0;
  }

  /** Removes an annotation and its former versions. @returns whether it was there, at this version where one is given. */
  async remove(id: string, from?: number): Promise<boolean> {
    const { deletedCount } = await this.#heads.deleteOne({ _id: id, ...(from !== undefined && { _version: from }) });
    if (deletedCount === 0) return false;
    step('annotation:removed');
    await this.former.removeAll(id);
    step('annotation:former-removed');
    return true;
  }

  /** Replaces the access list; what is absent stays. */
  async setAccess(id: string, change: AccessFields): Promise<AnnotationRecord | null> {
    const $set = { ...accessFields(change), accessVersion: await this.nextVersion() };
    const doc = await this.#heads
      .findOneAndUpdate({ _id: id }, { $set, $inc: { accessStamp: 1 } }, { returnDocument: 'after' })
      .lean<HeadDocument>();
    return doc === null ? null : toRecord(doc);
  }

  /** Replaces the access lists of those that fit and whose list was not set under this number or a later one. @returns how many. */
  async setAccessOfAll(filter: AnnotationFilter, change: AccessFields, version: number): Promise<number> {
    const query = { ...(await this.#visible(filter)), accessVersion: { $not: { $gte: version } } } as QueryFilter<HeadDocument>;
    const $set = { ...accessFields(change), accessVersion: version };
    return (await this.#heads.updateMany(query, { $set, $inc: { accessStamp: 1 } })).modifiedCount;
  }

  /** Takes a user or group out of all access lists; annotations of a user have no creator then. */
  async forget(kind: 'users' | 'groups', id: string): Promise<void> {
    const pull = { $pull: { [`access.${kind}`]: { id } }, $inc: { accessStamp: 1 } };
    await this.#heads.collection.updateMany({ [`access.${kind}.id`]: id }, pull as object);
    if (kind === 'groups') return;
    await this.#heads.updateMany({ creatorId: id }, { $set: { creatorId: null }, $inc: { accessStamp: 1 } });
    await this.former.forgetCreator(id);
  }

  /** The condition of a filter, without what is being written as part of a list. */
  async #visible(filter: AnnotationFilter): Promise<QueryFilter<HeadDocument>> {
    return { ...toQuery(filter), ...(await this.batches.visible()) };
  }

  /** Annotations that fit. `limit` 0: all. */
  async *list(filter: AnnotationFilter, { limit, offset, sort }: AnnotationPaging): AsyncGenerator<AnnotationRecord> {
    const query = await this.#visible(filter);
    const found = this.#heads.find(query).sort(orderOf(sort)).skip(offset).limit(limit).lean();
    for await (const doc of eachInSlices<HeadDocument>(found, { batchSize: headsPerQuery })) yield toRecord(doc);
  }

  /** Where annotations that fit stand in an order: the first `limit` of them, or all at 0. */
  async keys(filter: AnnotationFilter, sort: AnnotationPaging['sort'], limit: number): Promise<AnnotationKey[]> {
    const order = orderOf(sort);
    const fields = Object.keys(order);
    const docs = await this.#heads
      .find(await this.#visible(filter), Object.fromEntries(fields.map((field) => [field, 1])))
      .sort(order)
      .limit(limit)
      .lean<HeadDocument[]>();
    return docs.map((doc) => ({ id: idText(doc._id), values: fields.map((field) => valueAt(doc, field)) }));
  }

  /** Annotations by id, in this order; some are held at a time. Those that are gone are left out. */
  async *some(ids: readonly string[]): AsyncGenerator<AnnotationRecord> {
    for (let start = 0; start < ids.length; start += headsPerQuery) {
      const part = ids.slice(start, start + headsPerQuery);
      const found = new Map<string, HeadDocument>();
      const docs = await readInSlices<HeadDocument>(this.#heads.find({ _id: { $in: part } }).lean());
      for (const doc of docs) found.set(idText(doc._id), doc);
      for (const id of part) {
        const doc = found.get(id);
        if (doc !== undefined) yield toRecord(doc);
        if (isSliceOver()) await nextSlice();
      }
    }
  }

  async count(filter: AnnotationFilter): Promise<number> {
    return this.#heads.countDocuments(await this.#visible(filter));
  }

  /** How many annotations fit, by item; items without any are absent. */
  async countByItem(filter: AnnotationFilter & { itemIds: readonly string[] }): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const itemIds of batches(filter.itemIds)) {
      const found = await this.#heads
        .aggregate<{ _id: string; count: number }>([
          { $match: await this.#visible({ ...filter, itemIds }) },
          { $group: { _id: '$itemId', count: { $sum: 1 } } },
        ])
        .option({ maxTimeMS: listTimeoutMs });
      for (const { _id, count } of found) counts.set(_id, count);
    }
    return counts;
  }

  /** Those of some items that image or pixelmap elements of annotations that fit refer to. */
  async referencedItems(filter: AnnotationFilter, itemIds: readonly string[]): Promise<Set<string>> {
    const referenced = new Set<string>();
    for (const part of batches(itemIds)) {
      const asked = { 'elements.references': { $in: [...part] } };
      const query = { $and: [await this.#visible(filter), asked] } as QueryFilter<HeadDocument>;
      const found = new Set<unknown>(await this.#heads.distinct('elements.references', query));
      for (const id of part) if (found.has(id)) referenced.add(id);
    }
    return referenced;
  }

  /** Ids of the items whose annotations fit, most recently changed (or made) annotation first; some at a time. */
  async *itemIds(filter: AnnotationFilter, sort: string, direction: 1 | -1): AsyncGenerator<string[]> {
    const field = `$${sortField(sort)}`;
    const found = this.#heads
      .aggregate<{ _id: string }>([
        { $match: await this.#visible(filter) },
        { $group: { _id: '$itemId', key: direction === 1 ? { $min: field } : { $max: field } } },
        { $sort: { key: direction, _id: 1 } },
      ])
      .option({ maxTimeMS: listTimeoutMs })
      .cursor({ batchSize: idsPerQuery });
    let ids: string[] = [];
    for await (const { _id } of found) {
      if (ids.push(_id) < idsPerQuery) continue;
      yield ids;
      ids = [];
    }
    if (ids.length > 0) yield ids;
  }

  /** The elements of all heads and former versions of a family, also of those that nobody sees yet; read as they are asked for. */
  async *heads(family: string): AsyncGenerator<StoredElements> {
    const query = { 'elements.family': family } as QueryFilter<HeadDocument>;
    // Heads first: one that is replaced meanwhile is a former version before.
    const heads = this.#heads.find(query, { elements: 1 }).lean();
    for await (const { elements } of eachInSlices<Pick<HeadDocument, 'elements'>>(heads)) yield elements;
    yield* this.former.elementsOf(family);
  }

  /** Stamps of all annotations by ascending id, behind the id `after`; a page of them. */
  async stamps(after: string | null, limit: number): Promise<AnnotationStamp[]> {
    const query = { ...(await this.batches.visible()), ...(after !== null && { _id: { $gt: this.#objectId(after) } }) };
    const docs = await this.#heads
      .find(query, { itemId: 1, _active: 1, _version: 1, updated: 1 })
      .sort({ _id: 1 })
      .limit(limit)
      .lean<HeadDocument[]>();
    return docs.map(({ _id, itemId, _active, _version: version, updated }) => ({
      id: idText(_id),
      itemId,
      active: _active !== false,
      version,
      updated,
    }));
  }

  /** Those of some annotations that are there, visible or not. */
  async existing(ids: readonly string[]): Promise<Set<string>> {
    const docs = await this.#heads.find({ _id: { $in: [...ids] } }, { _id: 1 }).lean<Pick<HeadDocument, '_id'>[]>();
    return new Set(docs.map(({ _id }) => idText(_id)));
  }

  #objectId(id?: string): Types.ObjectId {
    return new this.#connection.base.Types.ObjectId(id);
  }
}

function orderOf(sort: AnnotationPaging['sort']): Record<string, 1 | -1> {
  const order: Record<string, 1 | -1> = {};
  for (const [name, direction] of sort) order[sortField(name)] ??= direction;
  order._id ??= 1;
  return order;
}

/** Whether, in this order, one comes before (-1) or after (1) another; as the database orders them. */
export function compareKeys(a: AnnotationKey, b: AnnotationKey, sort: AnnotationPaging['sort']): number {
  const directions = Object.values(orderOf(sort));
  for (const [i, direction] of directions.entries()) {
    const order = compareValues(a.values[i], b.values[i]);
    if (order !== 0) return direction * order;
  }
  return 0;
}

/** Nothing, then numbers, texts, ids, truth values, times: the order of types in BSON. */
function rank(value: unknown): number {
  if (value === null || value === undefined) return 0;
  if (typeof value === 'number') return 1;
  if (typeof value === 'string') return 2;
  if (typeof value === 'boolean') return 4;
  return value instanceof Date ? 5 : 3;
}

function compareValues(a: unknown, b: unknown): number {
  const ranks = rank(a) - rank(b);
  if (ranks !== 0 || rank(a) === 0) return ranks;
  // Texts are ordered by their bytes.
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b as string));
  if (rank(a) === 3) return idText(a) < idText(b) ? -1 : Number(idText(a) > idText(b));
  return Number(a) - Number(b);
}

function valueAt(doc: object, path: string): unknown {
  return path.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], doc);
}

/** The same as it is stored: without members that are `undefined`. */
export function accessFields({ access, public: isPublic, publicFlags }: AccessFields) {
  return {
    access,
    ...(isPublic !== undefined && { public: isPublic }),
    ...(publicFlags !== undefined && { publicFlags: [...publicFlags] }),
  };
}
