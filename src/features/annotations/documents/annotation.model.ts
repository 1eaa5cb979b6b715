import type { Connection, Model, QueryFilter, Types } from 'mongoose';
import type { StoredElements } from '../elements/element-store.js';
import type {
  AnnotationAccess,
  AnnotationFilter,
  AnnotationPaging,
  AnnotationRecord,
  AnnotationState,
} from './annotation-record.js';
import { orderOf, valueAt, type AnnotationKey } from './annotation-order.js';
import { AnnotationBatches } from '../history/batches.model.js';
import {
  createAnnotationSchemas,
  toSearchFields,
  sortFieldOf,
  toStateFields,
  toQuery,
  toRecord,
  type StoredAnnotation,
  type VersionDocument,
} from './annotation-documents.model.js';
import { AnnotationVersions } from '../history/versions.model.js';
import { listTimeoutMs } from '../../../core/database/outage.js';
import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import { iterateInSlices, iterateIdBatches, readInSlices } from '../../../core/database/read-limits.js';
import { idText } from '../../../core/database/id-text.js';
import { batches } from '../../../core/database/id-batches.js';
import { createIndexesOf } from '../../../core/database/indexes.js';
import type { OwnCollections } from '../../../core/database/own-collections.js';
import { isDuplicateKey } from '../../../core/database/refused-writes.js';
import { announceStep } from '../../../core/steps.js';

/** A new annotation. {@link AnnotationModel.insert} sets the other fields. */
export type NewAnnotation = Omit<AnnotationRecord, 'id' | 'accessStamp' | 'active'> & { id?: string };

/** A new access list. Missing members stay unchanged. */
export interface AccessFields {
  access: AnnotationAccess;
  public?: boolean | undefined;
  publicFlags?: readonly string[] | undefined;
}

/** The fields of an annotation that the cleanup needs. */
export type AnnotationSummary = Pick<AnnotationRecord, 'id' | 'itemId' | 'active' | 'version' | 'updated'> & {
  /** Whether the host has hidden the item. */
  hidden: boolean;
};

/** Maximum number of documents in one insertMany. Some engines refuse messages with more documents. */
const insertsPerMessage = 1000;
/** Number of documents in one response of the database. */
const annotationsPerQuery = 50;

/** All queries on annotations. The elements of annotations are in the element store, to which the documents refer. */
export class AnnotationModel {
  /** The former versions of annotations. */
  readonly formerVersions: AnnotationVersions;
  /** Batches of new annotations that become visible together. */
  readonly annotationBatches: AnnotationBatches;
  readonly #connection: Connection;
  readonly #annotations: Model<StoredAnnotation>;
  readonly #sequence: Model<{ _id: string; next: number }>;

  constructor(ownCollections: OwnCollections) {
    const { connection } = ownCollections;
    this.#connection = connection;
    const { annotations, versions } = createAnnotationSchemas(connection);
    const sequence = new connection.base.Schema<{ _id: string; next: number }>({ _id: String, next: Number });
    this.#annotations = ownCollections.model<StoredAnnotation>('LargeImageAnnotation', 'annotation', annotations);
    this.#sequence = ownCollections.model<{ _id: string; next: number }>(
      'LargeImageAnnotationSequence',
      'annotation_sequence',
      sequence,
    );
    const versionModel = ownCollections.model<VersionDocument>('LargeImageAnnotationVersion', 'annotation_version', versions);
    this.formerVersions = new AnnotationVersions(connection, versionModel);
    this.annotationBatches = new AnnotationBatches(ownCollections, this.#annotations);
  }

  async createIndexes(): Promise<void> {
    await Promise.all([createIndexesOf(this.#annotations), this.formerVersions.createIndexes()]);
  }

  /** Cancels delayed work. */
  close(): void {
    this.annotationBatches.close();
  }

  /** Reserves the next version number. All annotations share one sequence. Each number is used at most once, and some numbers are never used. */
  async reserveVersion(): Promise<number> {
    return this.reserveVersions(1);
  }

  /** Reserves consecutive version numbers. @returns the first one. */
  async reserveVersions(count: number): Promise<number> {
    const increment = () =>
      this.#sequence
        .findOneAndUpdate({ _id: 'version' }, { $inc: { next: count } }, { upsert: true, returnDocument: 'after' })
        .lean();
    let counter: { next: number } | null;
    try {
      counter = await increment();
    } catch (error) {
      // Another process has inserted the document of the sequence at the same time. The second try finds the document.
      if (!isDuplicateKey(error)) throw error;
      counter = await increment();
    }
    return counter!.next - count;
  }

  /** Writes new annotations. They become visible together by one write, or not at all. */
  async insert(annotations: readonly NewAnnotation[]): Promise<AnnotationRecord[]> {
    await this.#abortUnfinished(annotations);
    const batch = annotations.length > 1 ? this.annotationBatches.makeBatchName() : undefined;
    const docs = annotations.map((annotation): StoredAnnotation => {
      const { id, access, public: isPublic, publicFlags, fileChanged } = annotation;
      return {
        _id: this.#objectId(id),
        ...toStateFields(annotation),
        ...toSearchFields(annotation.head),
        _active: true,
        access,
        public: isPublic,
        ...(publicFlags && { publicFlags: [...publicFlags] }),
        ...(fileChanged && { fileChanged }),
        accessStamp: 0,
        accessVersion: annotation.version,
        ...(batch !== undefined && { batch }),
      };
    });
    try {
      // The driver is used directly, because Mongoose has nothing to cast.
      for (let start = 0; start < docs.length; start += insertsPerMessage) {
        await this.#annotations.collection.insertMany(docs.slice(start, start + insertsPerMessage), { ordered: true });
        announceStep('annotation:inserted');
      }
      if (batch !== undefined) await this.annotationBatches.commit(batch);
    } catch (error) {
      if (batch !== undefined) await this.annotationBatches.abort(batch);
      throw error;
    }
    return docs.map(toRecord);
  }

  /** Aborts unfinished batches that contain these ids. A caller that gives ids may be repeating the work of a process that was killed. */
  async #abortUnfinished(annotations: readonly NewAnnotation[]): Promise<void> {
    const ids = annotations.flatMap(({ id }) => (id === undefined ? [] : [id]));
    for (const part of batches(ids)) {
      const query = { _id: { $in: [...part] }, batch: { $ne: null } } as QueryFilter<StoredAnnotation>;
      const docs = await this.#annotations.find(query, { batch: 1 }).lean<Pick<StoredAnnotation, 'batch'>[]>();
      for (const batch of new Set(docs.map((doc) => doc.batch!))) await this.annotationBatches.abort(batch);
    }
  }

  /** Finds an annotation, even if it is deleted. Returns `null` if it does not exist or is not visible yet, or if its item is hidden. */
  async find(id: string): Promise<AnnotationRecord | null> {
    const doc = await this.#annotations.findById(id).lean<StoredAnnotation>();
    if (
      doc === null ||
      doc.hidden === true ||
      (doc.batch !== undefined && !(await this.annotationBatches.isCommitted(doc.batch)))
    )
      return null;
    return toRecord(doc);
  }

  /**
   * Writes a new version in place of the version that the caller has read, in one atomic write.
   *
   * @returns `null` if the annotation was removed, changed, deleted or restored after the caller read it.
   */
  async replace(
    { id, itemId, version, active }: Pick<AnnotationRecord, 'id' | 'itemId' | 'version' | 'active'>,
    state: AnnotationState,
  ): Promise<AnnotationRecord | null> {
    const filter = { _id: id, _version: version, _active: active ? { $ne: false } : false };
    const update = {
      $set: { ...toStateFields(state), ...toSearchFields(state.head), _active: true },
      // `fileChanged` is about the file of the former item, so it is removed when the annotation moves to another item.
      ...(state.itemId !== itemId && { $unset: { fileChanged: 1 } }),
    };
    const doc = await this.#annotations.findOneAndUpdate(filter, update, { returnDocument: 'after' }).lean<StoredAnnotation>();
    return doc === null ? null : toRecord(doc);
  }

  /** Marks an annotation as deleted. @returns false if the annotation does not exist, or is not at this version. */
  async deactivate(id: string, version: number): Promise<boolean> {
    const result = await this.#annotations.updateOne({ _id: id, _version: version }, { $set: { _active: false } });
    return result.matchedCount > 0;
  }

  /** Marks annotations as deleted, whatever their version. */
  async deactivateAll(ids: readonly string[]): Promise<void> {
    await this.#annotations.updateMany({ _id: { $in: [...ids] } }, { $set: { _active: false } });
  }

  /** Removes an annotation and its previous versions. @returns false if the annotation does not exist, or is not at the given version. */
  async remove(id: string, version?: number): Promise<boolean> {
    const { deletedCount } = await this.#annotations.deleteOne({ _id: id, ...(version !== undefined && { _version: version }) });
    if (deletedCount === 0) return false;
    announceStep('annotation:removed');
    await this.formerVersions.removeAll(id);
    announceStep('annotation:former-removed');
    return true;
  }

  /** Replaces the access list. @returns `null` if the annotation does not exist. */
  async setAccess(id: string, change: AccessFields): Promise<AnnotationRecord | null> {
    const $set = { ...toAccessFields(change), accessVersion: await this.reserveVersion() };
    const doc = await this.#annotations
      .findOneAndUpdate({ _id: id }, { $set, $inc: { accessStamp: 1 } }, { returnDocument: 'after' })
      .lean<StoredAnnotation>();
    return doc === null ? null : toRecord(doc);
  }

  /**
   * Replaces the access lists of matching annotations, except those whose list was set at this version number or later.
   *
   * @param creatorIdsToKeep creators who keep their level on their annotations if the new list gives them a lower one.
   * @returns the number of changed annotations.
   */
  async setAccessOfAll(
    filter: AnnotationFilter,
    { change, version, creatorIdsToKeep }: { change: AccessFields; version: number; creatorIdsToKeep: readonly string[] },
  ): Promise<number> {
    const query = { ...(await this.#toVisibleQuery(filter)), accessVersion: { $not: { $gte: version } } };
    const update = async (selection: object, access: AnnotationAccess) => {
      const $set = { ...toAccessFields({ ...change, access }), accessVersion: version };
      const matching = { ...query, ...selection } as QueryFilter<StoredAnnotation>;
      return (await this.#annotations.updateMany(matching, { $set, $inc: { accessStamp: 1 } })).modifiedCount;
    };
    let count = 0;
    for (const id of creatorIdsToKeep) {
      const creatorEntry = change.access.users.find((entry) => entry.id === id);
      const otherUsers = change.access.users.filter((entry) => entry !== creatorEntry);
      for (const level of [1, 2] as const) {
        if (level <= (creatorEntry?.level ?? 0)) continue;
        const users = [...otherUsers, { id, level, flags: creatorEntry?.flags ?? [] }];
        const selection = { creatorId: id, 'access.users': { $elemMatch: { id, level } } };
        count += await update(selection, { ...change.access, users });
      }
    }
    return count + (await update({}, change.access));
  }

  /** Finds the ids of the creators of matching annotations. */
  async findCreatorIds(filter: AnnotationFilter): Promise<string[]> {
    return (await this.#annotations.distinct('creatorId', await this.#toVisibleQuery(filter))).flatMap((id) => id ?? []);
  }

  /** Removes a user or group from all access lists. The user's annotations have no creator afterwards. */
  async forgetUserOrGroup(kind: 'users' | 'groups', id: string): Promise<void> {
    const pull = { $pull: { [`access.${kind}`]: { id } }, $inc: { accessStamp: 1 } };
    await this.#annotations.collection.updateMany({ [`access.${kind}.id`]: id }, pull as object);
    if (kind === 'groups') return;
    await this.#annotations.updateMany({ creatorId: id }, { $set: { creatorId: null }, $inc: { accessStamp: 1 } });
    await this.formerVersions.forgetCreator(id);
  }

  /** Marks the annotations of an item that were created before the content of its file changed. */
  async markFileChanged(itemId: string, changedAt: Date): Promise<void> {
    await this.#annotations.updateMany(
      { itemId, created: { $lte: changedAt } },
      { $set: { fileChanged: changedAt }, $inc: { accessStamp: 1 } },
    );
  }

  /** Hides the annotations of hidden items, or shows them again. */
  async setHidden(itemIds: readonly string[], isHidden: boolean): Promise<void> {
    const change = isHidden ? { $set: { hidden: true } } : { $unset: { hidden: 1 } };
    for (const part of batches(itemIds)) await this.#annotations.updateMany({ itemId: { $in: [...part] } }, change as object);
  }

  /** Converts a filter to a query that leaves out annotations of batches that are not committed yet. */
  async #toVisibleQuery(filter: AnnotationFilter): Promise<QueryFilter<StoredAnnotation>> {
    return { ...toQuery(filter), ...(await this.annotationBatches.createVisibleFilter()) };
  }

  /** Lists matching annotations, which are read as they are consumed. */
  async *list(filter: AnnotationFilter, { limit, offset, sort }: AnnotationPaging): AsyncGenerator<AnnotationRecord> {
    const query = await this.#toVisibleQuery(filter);
    const cursor = this.#annotations.find(query).sort(orderOf(sort)).skip(offset).limit(limit).lean();
    for await (const doc of iterateInSlices<StoredAnnotation>(cursor, { batchSize: annotationsPerQuery })) yield toRecord(doc);
  }

  /** Finds the ids and sort values of the first `limit` matching annotations in this order. The limit 0 means no limit. */
  async findKeys(filter: AnnotationFilter, sort: AnnotationPaging['sort'], limit: number): Promise<AnnotationKey[]> {
    const order = orderOf(sort);
    const fields = Object.keys(order);
    const docs = await this.#annotations
      .find(await this.#toVisibleQuery(filter), Object.fromEntries(fields.map((field) => [field, 1])))
      .sort(order)
      .limit(limit)
      .lean<StoredAnnotation[]>();
    return docs.map((doc) => ({ id: idText(doc._id), values: fields.map((field) => valueAt(doc, field)) }));
  }

  /** Reads annotations by id, in the order of the ids. One batch is in memory at a time. Missing annotations are left out. */
  async *findByIds(ids: readonly string[]): AsyncGenerator<AnnotationRecord> {
    for (let start = 0; start < ids.length; start += annotationsPerQuery) {
      const part = ids.slice(start, start + annotationsPerQuery);
      const docsById = new Map<string, StoredAnnotation>();
      const docs = await readInSlices<StoredAnnotation>(this.#annotations.find({ _id: { $in: part } }).lean());
      for (const doc of docs) docsById.set(idText(doc._id), doc);
      for (const id of part) {
        const doc = docsById.get(id);
        if (doc !== undefined && doc.hidden !== true) yield toRecord(doc);
        if (isSliceOver()) await nextSlice();
      }
    }
  }

  async count(filter: AnnotationFilter): Promise<number> {
    return this.#annotations.countDocuments(await this.#toVisibleQuery(filter));
  }

  /** Counts matching annotations by item. Items without matching annotations are missing in the result. */
  async countByItem(filter: AnnotationFilter & { itemIds: readonly string[] }): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const itemIds of batches(filter.itemIds)) {
      const rows = await this.#annotations
        .aggregate<{ _id: string; count: number }>([
          { $match: await this.#toVisibleQuery({ ...filter, itemIds }) },
          { $group: { _id: '$itemId', count: { $sum: 1 } } },
        ])
        .option({ maxTimeMS: listTimeoutMs });
      for (const { _id, count } of rows) counts.set(_id, count);
    }
    return counts;
  }

  /** Returns the ids among `itemIds` to which image or pixelmap elements of matching annotations refer. */
  async filterReferencedItems(filter: AnnotationFilter, itemIds: readonly string[]): Promise<Set<string>> {
    const referenced = new Set<string>();
    for (const part of batches(itemIds)) {
      const refersToPart = { 'elements.references': { $in: [...part] } };
      const query = { $and: [await this.#toVisibleQuery(filter), refersToPart] } as QueryFilter<StoredAnnotation>;
      const references = new Set<unknown>(await this.#annotations.distinct('elements.references', query));
      for (const id of part) if (references.has(id)) referenced.add(id);
    }
    return referenced;
  }

  /**
   * Lists the ids of items with matching annotations, in batches. In ascending order, the smallest value among an item's annotations
   * decides the position of the item; in descending order, the largest value does.
   */
  async *listItemIds(filter: AnnotationFilter, sort: string, direction: 1 | -1): AsyncGenerator<string[]> {
    const field = `$${sortFieldOf(sort)}`;
    const groups = this.#annotations
      .aggregate<{ _id: string }>([
        { $match: await this.#toVisibleQuery(filter) },
        { $group: { _id: '$itemId', key: direction === 1 ? { $min: field } : { $max: field } } },
        { $sort: { key: direction, _id: 1 } },
      ])
      .option({ maxTimeMS: listTimeoutMs });
    yield* iterateIdBatches(groups);
  }

  /** Lists the stored elements of all annotations and previous versions of a family, including those that are not visible yet. */
  async *listElementsOfFamily(family: string): AsyncGenerator<StoredElements> {
    const query = { 'elements.family': family } as QueryFilter<StoredAnnotation>;
    // Annotations are read before previous versions. Since a version is stored as a previous version before it is replaced, no version is
    // missed.
    const annotations = this.#annotations.find(query, { elements: 1 }).lean();
    for await (const { elements } of iterateInSlices<Pick<StoredAnnotation, 'elements'>>(annotations)) yield elements;
    yield* this.formerVersions.listElementsOfFamily(family);
  }

  /** Lists the first `limit` annotations whose id is above `after`, by ascending id. */
  async listSummaries(after: string | null, limit: number): Promise<AnnotationSummary[]> {
    const query = {
      ...(await this.annotationBatches.createVisibleFilter()),
      ...(after !== null && { _id: { $gt: this.#objectId(after) } }),
    };
    const docs = await this.#annotations
      .find(query, { itemId: 1, _active: 1, _version: 1, updated: 1, hidden: 1 })
      .sort({ _id: 1 })
      .limit(limit)
      .lean<StoredAnnotation[]>();
    return docs.map(({ _id, itemId, _active, _version: version, updated, hidden }) => ({
      id: idText(_id),
      itemId,
      active: _active !== false,
      version,
      updated,
      hidden: hidden === true,
    }));
  }

  /** Returns the ids for which an annotation exists. Annotations that are not visible count too. */
  async filterExisting(ids: readonly string[]): Promise<Set<string>> {
    const docs = await this.#annotations.find({ _id: { $in: [...ids] } }, { _id: 1 }).lean<Pick<StoredAnnotation, '_id'>[]>();
    return new Set(docs.map(({ _id }) => idText(_id)));
  }

  #objectId(id?: string): Types.ObjectId {
    return new this.#connection.base.Types.ObjectId(id);
  }
}

/** Converts an access list to database fields. Members that are `undefined` are left out. */
export function toAccessFields({ access, public: isPublic, publicFlags }: AccessFields) {
  return {
    access,
    ...(isPublic !== undefined && { public: isPublic }),
    ...(publicFlags !== undefined && { publicFlags: [...publicFlags] }),
  };
}
