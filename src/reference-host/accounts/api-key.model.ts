import { Schema, type Types } from 'mongoose';

/** A key that programs exchange for tokens. Its owner can read it again, so it is kept as it is. */
export interface ApiKeyDocument {
  _id: Types.ObjectId;
  userId: Types.ObjectId;
  key: string;
  name: string;
  /** `null`: everything its user may do. */
  scope: string[] | null;
  /** Days that its tokens live; `null`: as long as those of a sign-in. */
  tokenDuration: number | null;
  active: boolean;
  created: Date;
  lastUse: Date | null;
}

/** Schema of {@link ApiKeyDocument}. */
export const apiKeySchema = new Schema<ApiKeyDocument>(
  {
    userId: { type: Schema.Types.ObjectId, required: true },
    key: { type: String, required: true },
    name: { type: String, default: '' },
    scope: { type: [String], default: null },
    tokenDuration: { type: Number, default: null },
    active: { type: Boolean, default: true },
    created: Date,
    lastUse: { type: Date, default: null },
  },
  { versionKey: false },
)
  .index({ key: 1 }, { unique: true })
  .index({ userId: 1 });
