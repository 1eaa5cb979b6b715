import type { Connection, Model, QueryFilter } from 'mongoose';
import type { StoredElements } from '../elements/element-store.js';
import type { AnnotationState, AnnotationVersionRecord } from '../documents/annotation-record.js';
import { createIndexesOf } from '../../../core/database/indexes.js';
import { iterateInSlices } from '../../../core/database/read-limits.js';
import { toStateFields, toVersion, type VersionDocument } from '../documents/annotation-documents.model.js';
import { idText } from '../../../core/database/id-text.js';
import { batches, idsPerQuery } from '../../../core/database/id-batches.js';
import { isDuplicateKey, repeatUntilAccepted } from '../../../core/database/refused-writes.js';

/** The fields of a previous version that a cleanup needs. */
export type VersionSummary = Pick<AnnotationVersionRecord, 'id' | 'version' | 'updated'>;

/** The database fields by which versions can be sorted, by their names in requests. */
const versionFields = {
  _version: '_version',
  updated: 'updated',
  created: 'created',
  _elementCount: 'elements.count',
  _detailsCount: 'elements.detailsCount',
} as const;

/** A name by which versions can be sorted. */
export type VersionField = keyof typeof versionFields;

/** Whether versions can be sorted by this name. */
export function isVersionField(name: string): name is VersionField {
  return Object.hasOwn(versionFields, name);
}

/** Selects and orders previous versions of an annotation. */
export interface VersionListing {
  annotationId: string;
  /** Only versions with a lower number than this. */
  belowVersion: number;
  field: VersionField;
  direction: 1 | -1;
}

/** All queries on previous versions of annotations. */
export class AnnotationVersions {
  constructor(
    private readonly connection: Connection,
    private readonly model: Model<VersionDocument>,
  ) {}

  async createIndexes(): Promise<void> {
    await createIndexesOf(this.model);
  }

  /** Stores states as previous versions. States that are stored already are ignored. */
  async store(annotationId: string, states: readonly AnnotationState[]): Promise<void> {
    const { ObjectId } = this.connection.base.Types;
    const versions = states.map((state) => ({ _id: new ObjectId(), ...toStateFields(state), annotationId }));
    try {
      await repeatUntilAccepted(() => this.model.collection.insertMany(versions, { ordered: false }));
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }

  /**
   * Lists previous versions, which are read as they are consumed. Among versions with equal values, the newest comes first. The limit 0
   * means no limit.
   */
  async *list(
    listing: VersionListing,
    { limit, offset }: { limit: number; offset: number },
  ): AsyncGenerator<AnnotationVersionRecord> {
    const { annotationId, belowVersion, field, direction } = listing;
    const order: Record<string, 1 | -1> = { [versionFields[field]]: direction };
    order._version ??= -1;
    const filter = { annotationId, _version: { $lt: belowVersion } };
    const cursor = this.model.find(filter).sort(order).skip(offset).limit(limit).lean();
    for await (const doc of iterateInSlices<VersionDocument>(cursor)) yield toVersion(doc);
  }

  /** Counts the previous versions that come before a value in the order of a list. */
  async countAhead({ annotationId, belowVersion, field, direction }: VersionListing, value: number | Date): Promise<number> {
    const condition = { [versionFields[field]]: direction === 1 ? { $lt: value } : { $gt: value } };
    return this.model.countDocuments({ $and: [{ annotationId, _version: { $lt: belowVersion } }, condition] });
  }

  /** Finds the number of the newest version below a version number. Returns `null` if there is none. */
  async findNewestBefore(annotationId: string, version: number): Promise<number | null> {
    const doc = await this.model
      .findOne({ annotationId, _version: { $lt: version } }, { _version: 1 })
      .sort({ _version: -1 })
      .lean<VersionDocument>();
    return doc?._version ?? null;
  }

  async find(annotationId: string, version: number): Promise<AnnotationVersionRecord | null> {
    const doc = await this.model.findOne({ annotationId, _version: version }).lean<VersionDocument>();
    return doc === null ? null : toVersion(doc);
  }

  /** Lists the previous versions of an annotation below a version number, newest first, in batches. */
  async *listSummaries(annotationId: string, belowVersion: number): AsyncGenerator<VersionSummary[]> {
    for (let nextBelow = belowVersion; ;) {
      const docs = await this.model
        .find({ annotationId, _version: { $lt: nextBelow } }, { _version: 1, updated: 1 })
        .sort({ _version: -1 })
        .limit(idsPerQuery)
        .lean<VersionDocument[]>();
      if (docs.length === 0) return;
      yield docs.map(({ _id, _version: version, updated }) => ({ id: idText(_id), version, updated }));
      nextBelow = docs.at(-1)!._version;
    }
  }

  /** Finds the families of the elements of an annotation's previous versions. */
  async findFamilies(annotationId: string): Promise<string[]> {
    const families = this.model.aggregate<{ _id: string }>([
      { $match: { annotationId } },
      { $group: { _id: '$elements.family' } },
    ]);
    return (await families).map(({ _id }) => _id);
  }

  /** Lists the elements of all previous versions of a family. Versions are read as they are consumed. */
  async *listElementsOfFamily(family: string): AsyncGenerator<StoredElements> {
    const query = { 'elements.family': family } as QueryFilter<VersionDocument>;
    const cursor = this.model.find(query, { elements: 1 }).lean();
    for await (const { elements } of iterateInSlices<Pick<VersionDocument, 'elements'>>(cursor)) yield elements;
  }

  /** Removes versions by the ids of their records. @returns the number of removed versions. */
  async remove(ids: readonly string[]): Promise<number> {
    let removedCount = 0;
    for (const batch of batches(ids)) removedCount += (await this.model.deleteMany({ _id: { $in: [...batch] } })).deletedCount;
    return removedCount;
  }

  /** Removes all previous versions of an annotation. @returns the number of removed versions. */
  async removeAll(annotationId: string): Promise<number> {
    let removedCount = 0;
    for await (const page of this.listSummaries(annotationId, Infinity)) {
      removedCount += await this.remove(page.map(({ id }) => id));
    }
    return removedCount;
  }

  async forgetCreator(userId: string): Promise<void> {
    await this.model.updateMany({ creatorId: userId }, { $set: { creatorId: null } });
  }

  /** Counts the previous versions below a version number. */
  async count(annotationId: string, belowVersion = Infinity): Promise<number> {
    return this.model.countDocuments({ annotationId, _version: { $lt: belowVersion } });
  }

  /** Lists the ids of all annotations that have previous versions, each once, in batches. */
  async *listAnnotationIds(): AsyncGenerator<string[]> {
    for (let after = ''; ;) {
      const docs = await this.model
        .find({ annotationId: { $gt: after } }, { annotationId: 1 })
        .sort({ annotationId: 1 })
        .limit(idsPerQuery)
        .lean<VersionDocument[]>();
      if (docs.length === 0) return;
      yield [...new Set(docs.map(({ annotationId }) => annotationId))];
      after = docs.at(-1)!.annotationId;
    }
  }
}
