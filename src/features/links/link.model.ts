import type { Model, Types } from 'mongoose';
import { createIndexesOf } from '../../core/database/indexes.js';
import type { OwnCollections } from '../../core/database/own-collections.js';
import type { LinkKind, LinkSubject } from './link-kinds.js';

/** A stored link. */
export interface LinkDocument {
  _id: Types.ObjectId;
  /** SHA-256 of the token in hexadecimal. A plain hash is enough, because the token is too random to be guessed. */
  digest: string;
  /** First characters of the token, so that its maker recognizes the link. */
  prefix: string;
  subject: LinkSubject;
  name: string;
  opens: LinkKind[];
  /** Whether the link also opens label, macro and other associated images. */
  associated: boolean;
  /** Whether the page that the link opens shows annotations. */
  annotations: boolean;
  makerId: string;
  created: Date;
  /** `null` if the link does not expire. */
  expires: Date | null;
  lastUsed: Date | null;
}

/** The members of a link that can be changed. */
export type LinkChange = Partial<Pick<LinkDocument, 'name' | 'opens' | 'associated' | 'annotations' | 'expires'>>;

/** Maximum number of links that a list shows. */
const maxListedLinks = 1000;

/** The collection of links, and all queries on it. */
export class LinkModel {
  readonly #model: Model<LinkDocument>;

  constructor(ownCollections: OwnCollections) {
    const { Schema } = ownCollections.connection.base;
    const schema = new Schema<LinkDocument>({
      digest: { type: String, required: true, unique: true },
      prefix: { type: String, required: true },
      subject: { type: { type: String, enum: ['item', 'folder'] }, id: String },
      name: { type: String, default: '' },
      opens: { type: [String], required: true },
      associated: { type: Boolean, required: true },
      annotations: { type: Boolean, default: true },
      makerId: { type: String, required: true },
      created: { type: Date, required: true },
      expires: { type: Date, default: null },
      lastUsed: { type: Date, default: null },
    });
    schema.index({ 'subject.id': 1 }).index({ makerId: 1 }).index({ expires: 1 });
    this.#model = ownCollections.model<LinkDocument>('LargeImageLink', 'link', schema);
  }

  async createIndexes(): Promise<void> {
    await createIndexesOf(this.#model);
  }

  async insert(link: Omit<LinkDocument, '_id'>): Promise<LinkDocument> {
    return (await this.#model.create(link)).toObject<LinkDocument>();
  }

  find(id: string): Promise<LinkDocument | null> {
    return this.#model.findById(id).lean<LinkDocument>().exec();
  }

  findByDigest(digest: string): Promise<LinkDocument | null> {
    return this.#model.findOne({ digest }).lean<LinkDocument>().exec();
  }

  /** The links to a document, newest first. @param makerId lists only the links of this user. */
  list({ type, id }: LinkSubject, makerId?: string): Promise<LinkDocument[]> {
    const filter = { 'subject.type': type, 'subject.id': id, ...(makerId !== undefined && { makerId }) };
    return this.#model.find(filter).sort({ _id: -1 }).limit(maxListedLinks).lean<LinkDocument[]>().exec();
  }

  /** Number of a user's links to a document that have not ended. */
  countCurrent({ type, id }: LinkSubject, makerId: string): Promise<number> {
    const unexpiredFilter = { $or: [{ expires: null }, { expires: { $gt: new Date() } }] };
    return this.#model.countDocuments({ 'subject.type': type, 'subject.id': id, makerId, ...unexpiredFilter }).exec();
  }

  /** Changes a link. @returns the changed link; `null` if there is no such link. */
  change(id: string, change: LinkChange): Promise<LinkDocument | null> {
    return this.#model.findByIdAndUpdate(id, { $set: change }, { returnDocument: 'after' }).lean<LinkDocument>().exec();
  }

  /** Records when a link was last used. */
  async recordUse(id: unknown, lastUsed: Date): Promise<void> {
    await this.#model.updateOne({ _id: id as Types.ObjectId }, { $set: { lastUsed } });
  }

  async remove(id: string): Promise<void> {
    await this.#model.deleteOne({ _id: id });
  }

  async removeOf(type: LinkSubject['type'], ids: readonly string[]): Promise<void> {
    await this.#model.deleteMany({ 'subject.type': type, 'subject.id': { $in: [...ids] } });
  }

  async removeOfMaker(makerId: string): Promise<void> {
    await this.#model.deleteMany({ makerId });
  }

  /** Removes links that ended before a time. @returns the number of removed links. */
  async removeEnded(endedBefore: Date): Promise<number> {
    return (await this.#model.deleteMany({ expires: { $ne: null, $lt: endedBefore } })).deletedCount;
  }
}
