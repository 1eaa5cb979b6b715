import { Schema, type Types } from 'mongoose';

/** A name taken inside a parent. Items and folders share one space of names, which no index on either can express. */
export interface NameClaimDocument {
  /** `<parent id>/<SHA-256 of the name>`: unique, and short whatever the name is. */
  _id: string;
  ownerType: 'item' | 'folder';
  ownerId: Types.ObjectId;
  /** Of who took the name. */
  process: string;
  created: Date;
}

/** Schema of {@link NameClaimDocument}. */
export const nameClaimSchema = new Schema<NameClaimDocument>(
  { _id: { type: String, required: true }, ownerType: String, ownerId: Schema.Types.ObjectId, process: String, created: Date },
  { versionKey: false },
).index({ ownerId: 1 });
