import { Schema, type Aggregate, type Query, type Types } from 'mongoose';
import { LargeImageError } from '../../index.js';
import type { FolderParentType } from '../tree/folder.model.js';

/** A folder or item that was put into the trash, by model and id. */
export interface TrashedDocument {
  type: 'folder' | 'item';
  id: Types.ObjectId;
}

/** Where a folder or item is restored, and under which name. */
export interface RestoredLocation {
  parentType: FolderParentType;
  parentId: Types.ObjectId;
  name: string;
}

/** The mark of a folder or item in the trash. */
export interface TrashMark {
  /** The folder or item that was put into the trash, with everything in it. */
  root: Types.ObjectId;
  /** When the root was put into the trash. Only the mark of the root has this and the following members. */
  entry?: Date;
  /** The user who moved the root to the trash. */
  by?: Types.ObjectId | null;
  /** The former path of the root. */
  path?: string;
  /** Number of folders that were put into the trash with the root. */
  folders?: number;
  /** Number of items that were put into the trash with the root, including the root. */
  items?: number;
  /** Size of the files that were put into the trash with the root, in bytes. */
  size?: number;
  /** Where the root is being restored. */
  restoring?: RestoredLocation;
  /** Whether the root is being removed permanently. */
  removing?: boolean;
}

/** Member of schemas of documents that can be in the trash. */
export const trashField = { trashed: { type: Schema.Types.Mixed, default: undefined } } as const;

/** The error for an id that belongs to nothing in the trash. */
export function notInTrashError(type: string, id: string): LargeImageError {
  return new LargeImageError('unknown-id', `There is no ${type} with the id ${id} in the trash.`);
}

/** An option that makes queries also find folders and items in the trash. Other queries leave these documents out. */
export const withTrashed: {
  readonly withTrashed: true;
  /** Never set. All types of query options have this member, so TypeScript accepts the object for each of them. */
  readonly comment?: string;
} = { withTrashed: true };

const queryMethods = [
  'find',
  'findOne',
  'findOneAndUpdate',
  'findOneAndDelete',
  'updateOne',
  'updateMany',
  'deleteOne',
  'deleteMany',
  'countDocuments',
  'distinct',
] as const;

/**
 * Makes all queries with a schema leave out documents in the trash, so that other code need not handle them. Only queries with the option
 * {@link withTrashed} find these documents, for the trash itself, for sizes, and for removals.
 */
export function hideTrashed(schema: Schema): void {
  schema.pre([...queryMethods], function hide(this: Query<unknown, unknown>) {
    if (this.getOptions().withTrashed !== true) this.where({ trashed: null });
  });
  schema.pre('aggregate', function hide(this: Aggregate<unknown>) {
    if (this.options.withTrashed !== true) this.pipeline().unshift({ $match: { trashed: null } });
  });
}
