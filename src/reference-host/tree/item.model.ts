import { Schema, type Types } from 'mongoose';
import type { RootType } from './folder.model.js';

/** An item: files that belong together. Its permissions are those of its folder. */
export interface ItemDocument {
  _id: Types.ObjectId;
  name: string;
  lowerName: string;
  naturalName: string;
  description: string;
  folderId: Types.ObjectId;
  baseParentType: RootType;
  baseParentId: Types.ObjectId;
  creatorId: Types.ObjectId | null;
  copyOfItem?: Types.ObjectId;
  created: Date;
  updated: Date;
  /** Bytes of its files. */
  size: number;
  meta: Record<string, unknown>;
  words: string[];
}

/** An item, and what it lies in. */
export type ItemPosition = Pick<ItemDocument, '_id' | 'folderId' | 'baseParentType' | 'baseParentId'>;

/** Schema of {@link ItemDocument}. */
export const itemSchema = new Schema<ItemDocument>(
  {
    name: { type: String, required: true },
    lowerName: { type: String, required: true },
    naturalName: String,
    description: { type: String, default: '' },
    folderId: { type: Schema.Types.ObjectId, required: true },
    baseParentType: { type: String, enum: ['collection', 'user'], required: true },
    baseParentId: { type: Schema.Types.ObjectId, required: true },
    creatorId: { type: Schema.Types.ObjectId, default: null },
    copyOfItem: Schema.Types.ObjectId,
    created: Date,
    updated: Date,
    size: { type: Number, default: 0 },
    meta: { type: Schema.Types.Mixed, default: {} },
    words: [String],
  },
  { versionKey: false, minimize: false },
)
  .index({ folderId: 1, lowerName: 1 })
  .index({ folderId: 1, naturalName: 1 })
  .index({ words: 1 });
