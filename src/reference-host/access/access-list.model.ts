import { Schema, type Types } from 'mongoose';

/** Levels in a list of permissions: read, write, administer. */
export type GrantedLevel = 0 | 1 | 2;

/** One entry of a list of permissions. */
export interface AccessEntry {
  id: Types.ObjectId;
  level: GrantedLevel;
  flags: string[];
}

/** The permissions on a document. */
export interface AccessList {
  users: AccessEntry[];
  groups: AccessEntry[];
}

/** Members of every document that has its own list of permissions. */
export interface AccessControlled {
  access: AccessList;
  /** Whether everyone can read the document. */
  public: boolean;
  /** Flags that everyone has. */
  publicFlags?: string[];
}

/**
 * Schema members for {@link AccessControlled}. Mongoose does not cast the lists, because it would make a document of each entry, and there may
 * be thousands.
 */
export const accessControlledFields = {
  access: { type: Schema.Types.Mixed, default: (): AccessList => ({ users: [], groups: [] }) },
  public: { type: Boolean, default: false },
  publicFlags: { type: [String], default: undefined },
} as const;
