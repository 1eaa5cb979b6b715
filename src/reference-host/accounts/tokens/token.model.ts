import { Schema, type Types } from 'mongoose';

/** A token, kept as the SHA-256 of its text. */
export interface TokenDocument {
  _id: Types.ObjectId;
  /** SHA-256 of the token's text, hexadecimal. */
  hash: string;
  /** `null`: an anonymous session. */
  userId: Types.ObjectId | null;
  /** `tokenEpoch` of the user when it was made. */
  userEpoch: Types.ObjectId | null;
  /** The key it was made with, if any. */
  apiKeyId: Types.ObjectId | null;
  /** `tokenEpoch` of the key when it was made. */
  apiKeyEpoch: Types.ObjectId | null;
  scope: string[];
  created: Date;
  expires: Date;
}

/** Schema of {@link TokenDocument}. */
export const tokenSchema = new Schema<TokenDocument>(
  {
    hash: { type: String, required: true },
    userId: { type: Schema.Types.ObjectId, default: null },
    userEpoch: { type: Schema.Types.ObjectId, default: null },
    apiKeyId: { type: Schema.Types.ObjectId, default: null },
    apiKeyEpoch: { type: Schema.Types.ObjectId, default: null },
    scope: [String],
    created: Date,
    expires: Date,
  },
  { versionKey: false },
)
  .index({ hash: 1 }, { unique: true })
  .index({ userId: 1 })
  .index({ apiKeyId: 1 })
  // Tidies up; that a token has ended is decided by comparing dates.
  .index({ expires: 1 }, { expireAfterSeconds: 0 });
