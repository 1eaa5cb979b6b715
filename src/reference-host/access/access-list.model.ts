import { Schema, type Types } from 'mongoose';

/** Levels that a list of permissions can hold: read, write, administer. */
export type GrantedLevel = 0 | 1 | 2;

/** One line of a list of permissions. */
export interface AccessEntry {
  id: Types.ObjectId;
  level: GrantedLevel;
  flags: string[];
}

/** Who may do what with a document. */
export interface AccessList {
  users: AccessEntry[];
  groups: AccessEntry[];
}

/** Members of every document that carries its own list of permissions. */
export interface AccessControlled {
  access: AccessList;
  /** Whether everybody may read it. */
  public: boolean;
  /** Flags that everybody has. */
  publicFlags?: string[];
}

const entry = new Schema({ id: Schema.Types.ObjectId, level: Number, flags: [String] }, { _id: false });

/** Schema members for {@link AccessControlled}. */
export const accessControlledFields = {
  access: { type: new Schema({ users: [entry], groups: [entry] }, { _id: false }), default: () => ({ users: [], groups: [] }) },
  public: { type: Boolean, default: false },
  publicFlags: { type: [String], default: undefined },
} as const;
