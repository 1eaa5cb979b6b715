import { Schema, type Types } from 'mongoose';
import { accessControlledFields, type AccessControlled } from '../access/access-list.model.js';

/** What folders can lie in. */
export type FolderParentType = 'folder' | 'collection' | 'user';

/** What the topmost folders lie in. */
export type RootType = 'collection' | 'user';

/** A folder. */
export interface FolderDocument extends AccessControlled {
  _id: Types.ObjectId;
  name: string;
  lowerName: string;
  naturalName: string;
  description: string;
  parentId: Types.ObjectId;
  /** Type of the parent; the name is that of the wire. */
  parentCollection: FolderParentType;
  baseParentType: RootType;
  baseParentId: Types.ObjectId;
  creatorId: Types.ObjectId | null;
  created: Date;
  updated: Date;
  /** Bytes of the items that lie directly in it. */
  size: number;
  meta: Record<string, unknown>;
  words: string[];
}

/** Schema of {@link FolderDocument}. */
export const folderSchema = new Schema<FolderDocument>(
  {
    name: { type: String, required: true },
    lowerName: { type: String, required: true },
    naturalName: String,
    description: { type: String, default: '' },
    parentId: { type: Schema.Types.ObjectId, required: true },
    parentCollection: { type: String, enum: ['folder', 'collection', 'user'], required: true },
    baseParentType: { type: String, enum: ['collection', 'user'], required: true },
    baseParentId: { type: Schema.Types.ObjectId, required: true },
    creatorId: { type: Schema.Types.ObjectId, default: null },
    created: Date,
    updated: Date,
    size: { type: Number, default: 0 },
    meta: { type: Schema.Types.Mixed, default: {} },
    words: [String],
    ...accessControlledFields,
  },
  { versionKey: false, minimize: false },
)
  .index({ parentId: 1, lowerName: 1 })
  .index({ parentId: 1, naturalName: 1 })
  .index({ words: 1 });
