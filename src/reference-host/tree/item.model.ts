import { Schema, type Types } from 'mongoose';
import { trashField, type TrashMark } from '../trash/trash-mark.js';
import { treeFields, type RootType, type TreeDocument } from './folder.model.js';

/** An item: files that belong together. An item has the permissions of its folder. */
export interface ItemDocument extends TreeDocument {
  description: string;
  folderId: Types.ObjectId;
  baseParentType: RootType;
  baseParentId: Types.ObjectId;
  copyOfItem?: Types.ObjectId;
  /** When its file, which is served in place, went missing. */
  fileMissing?: Date;
  /** When the content of its file, which is served in place, was last found to have changed. */
  fileChanged?: Date;
  trashed?: TrashMark;
}

/** The ids of an item, its folder and its root. */
export type ItemLocation = Pick<ItemDocument, '_id' | 'folderId' | 'baseParentType' | 'baseParentId'>;

/** Schema of {@link ItemDocument}. */
export const itemSchema = new Schema<ItemDocument>(
  {
    ...treeFields,
    description: { type: String, default: '' },
    folderId: { type: Schema.Types.ObjectId, required: true },
    baseParentType: { type: String, enum: ['collection', 'user'], required: true },
    baseParentId: { type: Schema.Types.ObjectId, required: true },
    copyOfItem: Schema.Types.ObjectId,
    fileMissing: Date,
    fileChanged: Date,
    ...trashField,
  },
  { versionKey: false, minimize: false },
)
  .index({ folderId: 1, lowerName: 1 })
  .index({ folderId: 1, naturalName: 1 })
  .index({ fileMissing: 1 }, { sparse: true })
  .index({ words: 1 })
  .index({ 'trashed.root': 1 }, { sparse: true })
  .index({ 'trashed.entry': 1 }, { sparse: true })
  .index({ terms: 1, folderId: 1 })
  .index({ unindexed: 1 }, { sparse: true });
