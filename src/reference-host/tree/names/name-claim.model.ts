import { Schema, type Types } from 'mongoose';

/** A name that is taken in a parent. Claims keep names unique among items and folders together; an index cannot span two collections. */
export interface NameClaimDocument {
  /** `<parent id>/<SHA-256 of the name>`. The hash keeps the id short. */
  _id: string;
  ownerType: 'item' | 'folder';
  ownerId: Types.ObjectId;
  /** The process that took the name. */
  process: string;
  created: Date;
}

/** Schema of {@link NameClaimDocument}. */
export const nameClaimSchema = new Schema<NameClaimDocument>(
  { _id: { type: String, required: true }, ownerType: String, ownerId: Schema.Types.ObjectId, process: String, created: Date },
  { versionKey: false },
).index({ ownerId: 1 });
