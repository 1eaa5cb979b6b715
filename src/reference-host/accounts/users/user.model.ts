import { Schema, type Types } from 'mongoose';
import { accessControlledFields, type AccessControlled, type GrantedLevel } from '../../access/access-list.model.js';

/** Whether a user can sign in. */
export type UserStatus = 'enabled' | 'pending' | 'disabled';

/** A user. */
export interface UserDocument extends AccessControlled {
  _id: Types.ObjectId;
  login: string;
  email: string;
  firstName: string;
  lastName: string;
  admin: boolean;
  status: UserStatus;
  emailVerified: boolean;
  /** Groups that the user belongs to. */
  groups: Types.ObjectId[];
  groupInvites: { groupId: Types.ObjectId; level: GrantedLevel }[];
  /** Argon2id hash; `null` if the user cannot sign in with a password. */
  passwordHash: string | null;
  /** A write that changes this id also ends all tokens that were issued before. */
  tokenEpoch: Types.ObjectId;
  created: Date;
  /** Bytes of all files below the user's folders. */
  size: number;
  /** Words of login and names, for search. */
  words: string[];
}

/** Schema of {@link UserDocument}. */
export const userSchema = new Schema<UserDocument>(
  {
    login: { type: String, required: true },
    email: { type: String, required: true },
    firstName: String,
    lastName: String,
    admin: { type: Boolean, default: false },
    status: { type: String, enum: ['enabled', 'pending', 'disabled'], default: 'enabled' },
    emailVerified: { type: Boolean, default: false },
    groups: [Schema.Types.ObjectId],
    groupInvites: [new Schema({ groupId: Schema.Types.ObjectId, level: Number }, { _id: false })],
    passwordHash: { type: String, default: null },
    tokenEpoch: { type: Schema.Types.ObjectId, required: true },
    created: Date,
    size: { type: Number, default: 0 },
    words: [String],
    ...accessControlledFields,
  },
  { versionKey: false },
)
  .index({ login: 1 }, { unique: true })
  .index({ email: 1 }, { unique: true })
  .index({ groups: 1 })
  .index({ words: 1 });
