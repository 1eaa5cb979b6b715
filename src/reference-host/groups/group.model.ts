import { Schema, type Types } from 'mongoose';
import { accessControlledFields, type AccessControlled } from '../access/access-list.model.js';

/** A group of users. Memberships are stored in the records of the users. */
export interface GroupDocument extends AccessControlled {
  _id: Types.ObjectId;
  name: string;
  lowerName: string;
  description: string;
  /** Ids of users who requested membership. */
  requests: Types.ObjectId[];
  created: Date;
  updated: Date;
  words: string[];
}

/** Schema of {@link GroupDocument}. */
export const groupSchema = new Schema<GroupDocument>(
  {
    name: { type: String, required: true },
    lowerName: { type: String, required: true },
    description: { type: String, default: '' },
    requests: [Schema.Types.ObjectId],
    created: Date,
    updated: Date,
    words: [String],
    ...accessControlledFields,
  },
  { versionKey: false },
)
  .index({ lowerName: 1 }, { unique: true })
  .index({ words: 1 });
