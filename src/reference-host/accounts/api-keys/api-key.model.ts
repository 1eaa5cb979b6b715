import { Schema, type Types } from 'mongoose';

/** A key that programs exchange for tokens. Its text is shown once, when it is made. */
export interface ApiKeyDocument {
  _id: Types.ObjectId;
  userId: Types.ObjectId;
  /** SHA-256 of the key's text, hexadecimal: no text that random can be guessed. */
  keyHash: string;
  /** How the text begins, for its owner to know it by. */
  prefix: string;
  /** Another one ends all tokens that were made with the key before. */
  tokenEpoch: Types.ObjectId;
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
    keyHash: { type: String, required: true },
    prefix: { type: String, required: true },
    tokenEpoch: { type: Schema.Types.ObjectId, required: true },
    name: { type: String, default: '' },
    scope: { type: [String], default: null },
    tokenDuration: { type: Number, default: null },
    active: { type: Boolean, default: true },
    created: Date,
    lastUse: { type: Date, default: null },
  },
  { versionKey: false },
)
  .index({ keyHash: 1 }, { unique: true })
  .index({ userId: 1 });
