import { Schema, type Types } from 'mongoose';

/** An API key, which programs exchange for tokens. Its text is shown only once, in the response that creates it. */
export interface ApiKeyDocument {
  _id: Types.ObjectId;
  userId: Types.ObjectId;
  /** SHA-256 of the key's text, hexadecimal. A plain hash is enough, because the text is too random to be guessed. */
  keyHash: string;
  /** First characters of the text, by which its owner recognizes the key. */
  prefix: string;
  /** Changing this id ends all tokens that were issued for the key before. */
  tokenEpoch: Types.ObjectId;
  name: string;
  /** Scopes of the key's tokens; `null` allows everything that the user can do. */
  scope: string[] | null;
  /** Lifetime of the key's tokens in days; `null` means the lifetime of tokens from sign-ins. */
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
