import { Schema, type Types } from 'mongoose';
import { accessControlledFields, type AccessControlled } from '../access/access-list.model.js';

/** A root of folders that belongs to no user. */
export interface CollectionDocument extends AccessControlled {
  _id: Types.ObjectId;
  name: string;
  lowerName: string;
  naturalName: string;
  description: string | null;
  creatorId: Types.ObjectId | null;
  created: Date;
  updated: Date;
  /** Bytes of all files below it. */
  size: number;
  meta: Record<string, unknown>;
  words: string[];
}

/** Schema of {@link CollectionDocument}. */
export const collectionSchema = new Schema<CollectionDocument>(
  {
    name: { type: String, required: true },
    lowerName: { type: String, required: true },
    naturalName: String,
    description: { type: String, default: null },
    creatorId: { type: Schema.Types.ObjectId, default: null },
    created: Date,
    updated: Date,
    size: { type: Number, default: 0 },
    meta: { type: Schema.Types.Mixed, default: {} },
    words: [String],
    ...accessControlledFields,
  },
  { versionKey: false, minimize: false },
)
  .index({ name: 1 }, { unique: true })
  .index({ lowerName: 1 })
  .index({ naturalName: 1 })
  .index({ words: 1 });
