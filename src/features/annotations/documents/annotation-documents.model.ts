import type { Connection, QueryFilter, Schema, Types } from 'mongoose';
import type { AnnotationHead } from '../../../annotation-format/schema/document.js';
import type { StoredElements } from '../elements/element-store.js';
import type { AccessEntry } from '../../../host.js';
import type {
  AnnotationAccess,
  AnnotationFilter,
  AnnotationRecord,
  AnnotationState,
  AnnotationVersionRecord,
} from './annotation-record.js';
import { idText } from '../../../core/database/id-text.js';

/** The fields that the documents of annotations and of previous versions share. The names are those of responses. */
export interface StateDocument {
  _id: Types.ObjectId;
  itemId: string;
  creatorId: string | null;
  created: Date;
  updated: Date;
  updatedId: string | null;
  _version: number;
  /** The head as JSON text, because MongoDB cannot store all keys that clients may choose. */
  head: string;
  elements: StoredElements;
}

/** The document of an annotation. It contains the current version, the permissions, and fields for searches. */
export interface StoredAnnotation extends StateDocument {
  _active: boolean;
  access: AnnotationAccess;
  public: boolean;
  publicFlags?: string[];
  accessStamp: number;
  /** The version number that was reserved when the access list was set. A bulk change skips lists that were set at a later number. */
  accessVersion?: number;
  name: string | null;
  words: string[];
  hasAttributes: boolean;
  /**
   * Name of the batch in which the annotation was created. The field is removed some time after the batch is committed (see
   * `AnnotationBatches`).
   */
  batch?: string;
  /** When the content of the item's file last changed after the annotation was created. */
  fileChanged?: Date;
  /** Whether the host has hidden the item. Lists leave the annotation out then, and requests by id do not find it. */
  hidden?: true;
}

/** The document of a previous version. */
export interface VersionDocument extends StateDocument {
  annotationId: string;
}

/** The database field for each sort key of a request. Lists with any other sort key are sorted by id. */
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

/** Finds the database field for a sort key of a request. */
export function sortFieldOf(name: string): string {
  return Object.hasOwn(sortFields, name) ? sortFields[name]! : '_id';
}

const schemaOptions = { minimize: false } as const;

/** Creates the schemas of annotations and of previous versions. */
export function createAnnotationSchemas(connection: Connection): {
  annotations: Schema<StoredAnnotation>;
  versions: Schema<VersionDocument>;
} {
  const { Schema: HostSchema } = connection.base;
  const { Mixed } = HostSchema.Types;
  const stateSchema = {
    itemId: String,
    creatorId: String,
    created: Date,
    updated: Date,
    updatedId: String,
    _version: Number,
    head: String,
    elements: Mixed,
  };
  const annotations = new HostSchema<StoredAnnotation>(
    {
      ...stateSchema,
      _active: Boolean,
      access: Mixed,
      public: Boolean,
      publicFlags: { type: [String], default: undefined },
      accessStamp: Number,
      accessVersion: Number,
      name: String,
      words: [String],
      hasAttributes: Boolean,
      batch: String,
      fileChanged: Date,
      hidden: Boolean,
    },
    schemaOptions,
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
    .index({ 'elements.references': 1 })
    .index({ batch: 1 }, { sparse: true });
  const versions = new HostSchema<VersionDocument>({ ...stateSchema, annotationId: String }, schemaOptions)
    .index({ annotationId: 1, _version: -1 }, { unique: true })
    .index({ creatorId: 1 })
    .index({ 'elements.family': 1 });
  return { annotations, versions };
}

/** Converts a version to the fields that are stored. */
export function toStateFields(state: AnnotationState): Omit<StateDocument, '_id'> {
  const { itemId, creatorId, created, updated, updatedId, version, head, elements } = state;
  return { itemId, creatorId, created, updated, updatedId, _version: version, head: JSON.stringify(head), elements };
}

/** Makes the fields for searches from the head of an annotation. */
export function toSearchFields({
  name,
  description,
  attributes,
}: AnnotationHead): Pick<StoredAnnotation, 'name' | 'words' | 'hasAttributes'> {
  return {
    name: name ?? null,
    words: searchWords(name, description),
    hasAttributes: attributes !== undefined && Object.keys(attributes).length > 0,
  };
}

/** Longer words are cut to this many characters. */
const maxWordLength = 64;
/** Maximum number of words of an annotation. Searches do not find further words. */
const maxWords = 500;
/** Maximum number of characters of a text that are searched for words. */
const maxSearchedCharacters = 32 * 1024;

/** Finds the words of texts, in lower case and without duplicates. A word consists of letters and digits. */
export function searchWords(...texts: (string | null | undefined)[]): string[] {
  const words = new Set<string>();
  for (const text of texts) {
    for (const word of eachWord(text ?? '')) {
      if (words.size === maxWords) return [...words];
      words.add(word);
    }
  }
  return [...words];
}

/** Yields the words of a text, in lower case and in order. Long texts and words are cut. */
export function* eachWord(text: string): Generator<string> {
  // Texts are normalized in short pieces, because normalizing some unusual texts takes a time that grows with the square of their length.
  for (const [piece] of text.slice(0, maxSearchedCharacters).matchAll(/\S{1,256}/gu)) {
    for (const [word] of piece
      .normalize('NFKC')
      .toLowerCase()
      .matchAll(/[\p{L}\p{N}]+/gu)) {
      yield word.slice(0, maxWordLength);
    }
  }
}

/** Converts a filter to a query of MongoDB. */
export function toQuery(filter: AnnotationFilter): QueryFilter<StoredAnnotation> {
  const { active = true, itemIds, onlyOf, creatorId, name, words, permitted, withAttributes, versionBelow } = filter;
  const query: QueryFilter<StoredAnnotation> = {};
  if (active !== null) {
    query._active = active;
    query.hidden = null;
  }
  if (itemIds !== undefined) query.itemId = itemIds.length === 1 ? itemIds[0]! : { $in: [...itemIds] };
  if (onlyOf !== undefined) query.$and = [onlyOf === null ? { _id: { $in: [] } } : { itemId: onlyOf }];
  if (creatorId !== undefined) query.creatorId = creatorId;
  if (name !== undefined) query.name = name;
  if (versionBelow !== undefined) query._version = { $lt: versionBelow };
  if (withAttributes === true) query.hasAttributes = true;
  if (words !== undefined) query.words = { $in: [...words] };
  if (permitted !== undefined) {
    const { level, userId, groupIds, byListOnly } = permitted;
    const conditions: QueryFilter<StoredAnnotation>[] = level === 0 && byListOnly !== true ? [{ public: true }] : [];
    const minLevel = { level: { $gte: level } };
    if (userId !== null) conditions.push({ 'access.users': { $elemMatch: { id: userId, ...minLevel } } });
    if (groupIds.length > 0) conditions.push({ 'access.groups': { $elemMatch: { id: { $in: [...groupIds] }, ...minLevel } } });
    if (conditions.length === 0) query._id = { $in: [] };
    else query.$or = conditions;
  }
  return query;
}

function toState(doc: StateDocument): AnnotationState {
  const { itemId, creatorId, created, updated, updatedId, _version: version, elements } = doc;
  // Stored heads have been checked, so the cast is safe.
  const head = JSON.parse(doc.head) as AnnotationHead;
  return { itemId, creatorId: creatorId ?? null, created, updated, updatedId: updatedId ?? null, version, head, elements };
}

export function toRecord(doc: StoredAnnotation): AnnotationRecord {
  const { access, publicFlags, fileChanged } = doc;
  const entries = (list: AccessEntry[] | undefined) => list ?? [];
  return {
    id: idText(doc._id),
    ...(fileChanged && { fileChanged }),
    ...toState(doc),
    active: doc._active !== false,
    access: { users: entries(access?.users), groups: entries(access?.groups) },
    public: doc.public === true,
    ...(publicFlags && { publicFlags }),
    accessStamp: doc.accessStamp ?? 0,
  };
}

export function toVersion(doc: VersionDocument): AnnotationVersionRecord {
  return { id: idText(doc._id), annotationId: doc.annotationId, ...toState(doc) };
}
