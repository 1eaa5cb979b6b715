import { Schema, type Types } from 'mongoose';

/** A token. Its text is not stored. */
export interface TokenDocument {
  _id: Types.ObjectId;
  /** SHA-256 of the token's text, hexadecimal. */
  hash: string;
  /** `null` for an anonymous session. */
  userId: Types.ObjectId | null;
  /** `tokenEpoch` of the user when the token was issued. */
  userEpoch: Types.ObjectId | null;
  /** The API key that the token was issued for; `null` if it was issued otherwise. */
  apiKeyId: Types.ObjectId | null;
  /** `tokenEpoch` of the key when the token was issued. */
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
  // This index only removes old records. Whether a token has expired is decided by its date.
  .index({ expires: 1 }, { expireAfterSeconds: 0 });
