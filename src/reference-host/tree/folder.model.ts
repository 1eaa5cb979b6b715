import { Schema, type Types } from 'mongoose';
import { accessControlledFields, type AccessControlled } from '../access/access-list.model.js';
import { trashField, type TrashMark } from '../trash/trash-mark.js';

/** Types of the parent of a folder. */
export type FolderParentType = 'folder' | 'collection' | 'user';

/** Types of the root of a tree of folders. */
export type RootType = 'collection' | 'user';

/** Members of every document of the tree: collections, folders and items. */
export interface TreeDocument {
  _id: Types.ObjectId;
  name: string;
  lowerName: string;
  naturalName: string;
  creatorId: Types.ObjectId | null;
  created: Date;
  updated: Date;
  /** Bytes of all files below a collection, of the items directly in a folder, or of the files of an item. */
  size: number;
  meta: Record<string, unknown>;
  words: string[];
  /** Fields for searches, see `finding/terms.ts`; missing on documents of earlier releases. */
  terms?: string[];
  phrases?: string;
  unindexed?: Types.ObjectId;
}

/** Schema members for {@link TreeDocument}. */
export const treeFields = {
  name: { type: String, required: true },
  lowerName: { type: String, required: true },
  naturalName: String,
  creatorId: { type: Schema.Types.ObjectId, default: null },
  created: Date,
  updated: Date,
  size: { type: Number, default: 0 },
  meta: { type: Schema.Types.Mixed, default: {} },
  words: [String],
  terms: { type: [String], default: undefined },
  phrases: String,
  unindexed: Schema.Types.ObjectId,
} as const;

/** A folder. */
export interface FolderDocument extends TreeDocument, AccessControlled {
  description: string;
  parentId: Types.ObjectId;
  /** Type of the parent. The API uses this name. */
  parentCollection: FolderParentType;
  baseParentType: RootType;
  baseParentId: Types.ObjectId;
  trashed?: TrashMark;
}

/** Schema of {@link FolderDocument}. */
export const folderSchema = new Schema<FolderDocument>(
  {
    ...treeFields,
    description: { type: String, default: '' },
    parentId: { type: Schema.Types.ObjectId, required: true },
    parentCollection: { type: String, enum: ['folder', 'collection', 'user'], required: true },
    baseParentType: { type: String, enum: ['collection', 'user'], required: true },
    baseParentId: { type: Schema.Types.ObjectId, required: true },
    ...accessControlledFields,
    ...trashField,
  },
  { versionKey: false, minimize: false },
)
  .index({ parentId: 1, lowerName: 1 })
  .index({ parentId: 1, naturalName: 1 })
  .index({ words: 1 })
  .index({ 'trashed.root': 1 }, { sparse: true })
  .index({ 'trashed.entry': 1 }, { sparse: true })
  .index({ terms: 1, parentId: 1 })
  .index({ unindexed: 1 }, { sparse: true });
