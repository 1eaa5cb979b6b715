import { Schema } from 'mongoose';
import { accessControlledFields, type AccessControlled } from '../access/access-list.model.js';
import { treeFields, type TreeDocument } from './folder.model.js';

/** A collection: a root of folders that does not belong to a user. */
export interface CollectionDocument extends TreeDocument, AccessControlled {
  description: string | null;
}

/** Schema of {@link CollectionDocument}. */
export const collectionSchema = new Schema<CollectionDocument>(
  {
    ...treeFields,
    description: { type: String, default: null },
    ...accessControlledFields,
  },
  { versionKey: false, minimize: false },
)
  .index({ name: 1 }, { unique: true })
  .index({ lowerName: 1 })
  .index({ naturalName: 1 })
  .index({ words: 1 })
  .index({ terms: 1 })
  .index({ unindexed: 1 }, { sparse: true });
