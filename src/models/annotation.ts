import type { Connection, Model, QueryFilter, Types } from 'mongoose';
import type { AnnotationHead } from '../annotation/schema/document.js';
import type { StoredElements } from '../annotation/store/contract.js';
import type { AccessEntry } from '../host.js';
import type {
  AnnotationAccess,
  AnnotationFilter,
  AnnotationPaging,
  AnnotationRecord,
  AnnotationState,
  AnnotationVersionRecord,
} from './annotation-record.js';
import { idText } from './host-records.js';

/** Members that heads and former versions have in common, under the names of the wire. */
interface StateDocument {
  _id: Types.ObjectId;
  itemId: string;
  creatorId: string | null;
  created: Date;
  updated: Date;
  updatedId: string | null;
  _version: number;
  /** The head as JSON text: keys that clients choose could not be stored as they are. */
  head: string;
  elements: StoredElements;
}

interface HeadDocument extends StateDocument {
  _active: boolean;
  access: AnnotationAccess;
  public: boolean;
  publicFlags?: string[];
  accessStamp: number;
  name: string | null;
  words: string[];
  hasAttributes: boolean;
}

interface VersionDocument extends StateDocument {
  annotationId: string;
}

/** What {@link AnnotationModel.insert} takes: everything but what the model gives. */
export type NewAnnotation = Omit<AnnotationRecord, 'id' | 'accessStamp' | 'active'> & { id?: string };

const headModel = 'LargeImageAnnotation';
const versionModel = 'LargeImageAnnotationVersion';
const sequenceModel = 'LargeImageAnnotationSequence';
const duplicateKey = 11000;
/** Ids in one `$in`: some engines are slow with thousands. */
const idsPerQuery = 500;

/** Names by which lists may be sorted, and the fields behind them. Other names have no values: the order is that of the ids. */
const sortFields: Readonly<Record<string, string>> = {
  created: 'created',
  updated: 'updated',
  itemId: 'itemId',
  creatorId: 'creatorId',
  updatedId: 'updatedId',
  public: 'public',
  _version: '_version',
  _elementCount: 'elements.count',
  _detailsCount: 'elements.detailsCount',
  'annotation.name': 'name',
  name: 'name',
};

/** All queries on annotations. Elements are not here: heads refer to what the element store keeps. */
export class AnnotationModel {
  readonly #connection: Connection;
  readonly #heads: Model<HeadDocument>;
  readonly #versions: Model<VersionDocument>;
  readonly #sequence: Model<{ _id: string; next: number }>;

  constructor(connection: Connection) {
    this.#connection = connection;
    const { Schema } = connection.base;
    const { Mixed } = Schema.Types;
    const options = { minimize: false, versionKey: false, autoIndex: false, autoCreate: false } as const;
    const state = {
      itemId: String,
      creatorId: String,
      created: Date,
      updated: Date,
      updatedId: String,
      _version: Number,
      head: String,
      elements: Mixed,
    };
    const heads = new Schema<HeadDocument>(
      {
        ...state,
        _active: Boolean,
        access: Mixed,
        public: Boolean,
        publicFlags: { type: [String], default: undefined },
        accessStamp: Number,
        name: String,
        words: [String],
        hasAttributes: Boolean,
      },
      { ...options, collection: 'annotation' },
    )
      .index({ itemId: 1, _active: 1 })
      .index({ creatorId: 1 })
      .index({ created: 1 })
      .index({ updated: 1 })
      .index({ name: 1 })
      .index({ words: 1 })
      .index({ 'access.users.id': 1 })
      .index({ 'access.groups.id': 1 })
      .index({ 'elements.family': 1 })
      .index({ 'elements.references': 1 });
    const versions = new Schema<VersionDocument>(
      { ...state, annotationId: String },
      { ...options, collection: 'annotation_version' },
    )
      .index({ annotationId: 1, _version: -1 }, { unique: true })
      .index({ creatorId: 1 })
      .index({ 'elements.family': 1 });
    const sequence = new Schema<{ _id: string; next: number }>(
      { _id: String, next: Number },
      { ...options, collection: 'annotation_sequence' },
    );
    this.#heads = connection.model<HeadDocument>(headModel, heads);
    this.#versions = connection.model<VersionDocument>(versionModel, versions);
    this.#sequence = connection.model<{ _id: string; next: number }>(sequenceModel, sequence);
  }

  async createIndexes(): Promise<void> {
    await this.#heads.createIndexes();
    await this.#versions.createIndexes();
  }

  /** Takes the models off the connection again. */
  close(): void {
    for (const name of [headModel, versionModel, sequenceModel]) this.#connection.deleteModel(name);
  }

  /** The next number of the sequence that all annotations share. Numbers are used once, not all are used. */
  async nextVersion(): Promise<number> {
    const take = () =>
      this.#sequence
        .findOneAndUpdate({ _id: 'version' }, { $inc: { next: 1 } }, { upsert: true, returnDocument: 'after' })
        .lean();
    let taken: { next: number } | null;
    try {
      taken = await take();
    } catch (error) {
      // Two first writes at once: the later insert finds the document there.
      if (!isDuplicateKey(error)) throw error;
      taken = await take();
    }
    return taken!.next - 1;
  }

  /** Writes new annotations; each is visible as soon as it is written. */
  async insert(annotations: readonly NewAnnotation[]): Promise<AnnotationRecord[]> {
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
      };
    });
    // Past Mongoose: nothing is to be cast, and elements hold plain values.
    if (docs.length > 0) await this.#heads.collection.insertMany(docs, { ordered: true });
    return docs.map(toRecord);
  }

  async find(id: string): Promise<AnnotationRecord | null> {
    const doc = await this.#heads.findById(id).lean<HeadDocument>();
    return doc === null ? null : toRecord(doc);
  }

  /** Writes a new version over version `from`, in one atomic step. `null`: the annotation is gone, or is at another version now. */
  async replace(id: string, from: number, state: AnnotationState): Promise<AnnotationRecord | null> {
    const $set = { ...stateFields(state), ...searchFields(state.head), _active: true };
    const doc = await this.#heads
      .findOneAndUpdate({ _id: id, _version: from }, { $set }, { returnDocument: 'after' })
      .lean<HeadDocument>();
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
    await this.#versions.deleteMany({ annotationId: id });
    return true;
  }

  /** Replaces the access list; what is absent stays. */
  async setAccess(
    id: string,
    change: { access: AnnotationAccess; public?: boolean | undefined; publicFlags?: readonly string[] | undefined },
  ): Promise<AnnotationRecord | null> {
    const $set = {
      access: change.access,
      ...(change.public !== undefined && { public: change.public }),
      ...(change.publicFlags !== undefined && { publicFlags: [...change.publicFlags] }),
    };
    const doc = await this.#heads
      .findOneAndUpdate({ _id: id }, { $set, $inc: { accessStamp: 1 } }, { returnDocument: 'after' })
      .lean<HeadDocument>();
    return doc === null ? null : toRecord(doc);
  }

  /** Takes a user or group out of all access lists; annotations of a user have no creator then. */
  async forget(kind: 'users' | 'groups', id: string): Promise<void> {
    const pull = { $pull: { [`access.${kind}`]: { id } }, $inc: { accessStamp: 1 } };
    await this.#heads.collection.updateMany({ [`access.${kind}.id`]: id }, pull as object);
    if (kind === 'groups') return;
    await this.#heads.updateMany({ creatorId: id }, { $set: { creatorId: null }, $inc: { accessStamp: 1 } });
    await this.#versions.updateMany({ creatorId: id }, { $set: { creatorId: null } });
  }

  /** Annotations that fit. `limit` 0: all. */
  async *list(filter: AnnotationFilter, { limit, offset, sort }: AnnotationPaging): AsyncGenerator<AnnotationRecord> {
    const order: Record<string, 1 | -1> = {};
    for (const [name, direction] of sort) {
      const field = Object.hasOwn(sortFields, name) ? sortFields[name]! : '_id';
      order[field] ??= direction;
    }
    order._id ??= 1;
    const cursor = this.#heads.find(toQuery(filter)).sort(order).skip(offset).limit(limit).lean<HeadDocument[]>().cursor();
    for await (const doc of cursor) yield toRecord(doc);
  }

  async count(filter: AnnotationFilter): Promise<number> {
    return this.#heads.countDocuments(toQuery(filter));
  }

  /** How many annotations fit, by item; items without any are absent. */
  async countByItem(filter: AnnotationFilter & { itemIds: readonly string[] }): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const itemIds of batches(filter.itemIds)) {
      const found = await this.#heads.aggregate<{ _id: string; count: number }>([
        { $match: toQuery({ ...filter, itemIds }) },
        { $group: { _id: '$itemId', count: { $sum: 1 } } },
      ]);
      for (const { _id, count } of found) counts.set(_id, count);
    }
    return counts;
  }

  /** Those of some items that image or pixelmap elements of annotations that fit refer to. */
  async referencedItems(filter: AnnotationFilter, itemIds: readonly string[]): Promise<Set<string>> {
    const referenced = new Set<string>();
    for (const part of batches(itemIds)) {
      const query = { $and: [toQuery(filter), { 'elements.references': { $in: [...part] } }] } as QueryFilter<HeadDocument>;
      const found: unknown[] = await this.#heads.distinct('elements.references', query);
      for (const id of part) if (found.includes(id)) referenced.add(id);
    }
    return referenced;
  }

  /** Ids of the items whose annotations fit, most recently changed (or made) annotation first. */
  async itemIds(filter: AnnotationFilter, sort: string, direction: 1 | -1): Promise<string[]> {
    const field = `$${Object.hasOwn(sortFields, sort) ? sortFields[sort]! : '_id'}`;
    const found = await this.#heads.aggregate<{ _id: string }>([
      { $match: toQuery(filter) },
      { $group: { _id: '$itemId', key: direction === 1 ? { $min: field } : { $max: field } } },
      { $sort: { key: direction, _id: 1 } },
    ]);
    return found.map(({ _id }) => _id);
  }

  /** Writes down a state as a former version. Writing the same one again changes nothing. */
  async keepVersion(annotationId: string, state: AnnotationState): Promise<void> {
    try {
      await this.#versions.collection.insertOne({ _id: this.#objectId(), ...stateFields(state), annotationId });
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }

  /** Former versions, newest first. */
  async versions(annotationId: string): Promise<AnnotationVersionRecord[]> {
    const docs = await this.#versions.find({ annotationId }).sort({ _version: -1 }).lean<VersionDocument[]>();
    return docs.map(toVersion);
  }

  async findVersion(annotationId: string, version: number): Promise<AnnotationVersionRecord | null> {
    const doc = await this.#versions.findOne({ annotationId, _version: version }).lean<VersionDocument>();
    return doc === null ? null : toVersion(doc);
  }

  async removeVersion(id: string): Promise<boolean> {
    return (await this.#versions.deleteOne({ _id: id })).deletedCount > 0;
  }

  /** The elements of all heads and former versions of a family. */
  async heads(family: string): Promise<StoredElements[]> {
    const query = { 'elements.family': family };
    const [heads, versions] = await Promise.all([
      this.#heads.find(query as QueryFilter<HeadDocument>, { elements: 1 }).lean<Pick<HeadDocument, 'elements'>[]>(),
      this.#versions.find(query as QueryFilter<VersionDocument>, { elements: 1 }).lean<Pick<VersionDocument, 'elements'>[]>(),
    ]);
    return [...heads, ...versions].map(({ elements }) => elements);
  }

  /** Item ids of all annotations, each once. */
  async allItemIds(): Promise<string[]> {
    return this.#heads.distinct('itemId');
  }

  #objectId(id?: string): Types.ObjectId {
    return new this.#connection.base.Types.ObjectId(id);
  }
}

function isDuplicateKey(error: unknown): boolean {
  return (error as { code?: unknown }).code === duplicateKey;
}

/** A list cut into parts that one query may ask for. */
export function* batches(ids: readonly string[]): Generator<readonly string[]> {
  for (let i = 0; i < ids.length; i += idsPerQuery) yield ids.slice(i, i + idsPerQuery);
}

function stateFields(state: AnnotationState): Omit<StateDocument, '_id'> {
  const { itemId, creatorId, created, updated, updatedId, version, head, elements } = state;
  return { itemId, creatorId, created, updated, updatedId, _version: version, head: JSON.stringify(head), elements };
}

function searchFields({ name, description, attributes }: AnnotationHead): Pick<HeadDocument, 'name' | 'words' | 'hasAttributes'> {
  return {
    name: name ?? null,
    words: searchWords(name, description),
    hasAttributes: attributes !== undefined && Object.keys(attributes).length > 0,
  };
}

/** Longest word and most words kept of one annotation; the rest is not searched. */
const maxWordLength = 64;
const maxWords = 500;

/** The words of texts: lower case, letters and digits only, each once. */
export function searchWords(...texts: (string | undefined)[]): string[] {
  const words = new Set<string>();
  for (const text of texts) {
    for (const [word] of (text ?? '')
      .normalize('NFKC')
      .toLowerCase()
      .matchAll(/[\p{L}\p{N}]+/gu)) {
      if (words.size === maxWords) return [...words];
      words.add(word.slice(0, maxWordLength));
    }
  }
  return [...words];
}

function toQuery(filter: AnnotationFilter): QueryFilter<HeadDocument> {
  const { active = true, itemIds, creatorId, name, words, permitted, withAttributes } = filter;
  const query: QueryFilter<HeadDocument> = {};
  if (active !== null) query._active = active;
  if (itemIds !== undefined) query.itemId = itemIds.length === 1 ? itemIds[0]! : { $in: [...itemIds] };
  if (creatorId !== undefined) query.creatorId = creatorId;
  if (name !== undefined) query.name = name;
  if (withAttributes === true) query.hasAttributes = true;
  if (words !== undefined) query.words = { $in: [...words] };
  if (permitted !== undefined) {
    const { level, userId, groupIds, byListOnly } = permitted;
    const ways: QueryFilter<HeadDocument>[] = level === 0 && byListOnly !== true ? [{ public: true }] : [];
    const enough = { level: { $gte: level } };
    if (userId !== null) ways.push({ 'access.users': { $elemMatch: { id: userId, ...enough } } });
    if (groupIds.length > 0) ways.push({ 'access.groups': { $elemMatch: { id: { $in: [...groupIds] }, ...enough } } });
    if (ways.length === 0) query._id = { $in: [] };
    else query.$or = ways;
  }
  return query;
}

function toState(doc: StateDocument): AnnotationState {
  const { itemId, creatorId, created, updated, updatedId, _version: version, elements } = doc;
  // Only checked heads are ever written.
  const head = JSON.parse(doc.head) as AnnotationHead;
  return { itemId, creatorId: creatorId ?? null, created, updated, updatedId: updatedId ?? null, version, head, elements };
}

function toRecord(doc: HeadDocument): AnnotationRecord {
  const { access, publicFlags } = doc;
  const entries = (list: AccessEntry[] | undefined) => list ?? [];
  return {
    id: idText(doc._id),
    ...toState(doc),
    active: doc._active !== false,
    access: { users: entries(access?.users), groups: entries(access?.groups) },
    public: doc.public === true,
    ...(publicFlags && { publicFlags }),
    accessStamp: doc.accessStamp ?? 0,
  };
}

function toVersion(doc: VersionDocument): AnnotationVersionRecord {
  return { id: idText(doc._id), annotationId: doc.annotationId, ...toState(doc) };
}
