import { Schema, type Types } from 'mongoose';

/** A file on its way in. */
export interface UploadDocument {
  _id: Types.ObjectId;
  name: string;
  /** Length that the file will have, in bytes. */
  size: number;
  /** How many bytes are safely on disk. */
  received: number;
  mimeType: string;
  parentType: 'folder' | 'item';
  parentId: Types.ObjectId;
  /** The item that will be made for the file, where the parent is a folder. */
  itemId?: Types.ObjectId;
  /** Present when the upload replaces the contents of a file. */
  fileId?: Types.ObjectId;
  /** Whether the file will be attached to its parent, not be one of its files. */
  attachParent?: boolean;
  /** Text of the client, handed on when the upload is complete. */
  reference?: string;
  userId: Types.ObjectId | null;
  assetstoreId: Types.ObjectId;
  /** Whether its file was there, and was announced or is to be. */
  published?: boolean;
  /** The process that receives the first bytes, while only it knows the upload. */
  startedBy?: string | null;
  created: Date;
  updated: Date;
}

/** Schema of {@link UploadDocument}. */
export const uploadSchema = new Schema<UploadDocument>(
  {
    name: { type: String, required: true },
    size: { type: Number, required: true },
    received: { type: Number, default: 0 },
    mimeType: String,
    parentType: { type: String, enum: ['folder', 'item'], required: true },
    parentId: { type: Schema.Types.ObjectId, required: true },
    itemId: Schema.Types.ObjectId,
    fileId: Schema.Types.ObjectId,
    attachParent: Boolean,
    reference: String,
    userId: { type: Schema.Types.ObjectId, default: null },
    assetstoreId: Schema.Types.ObjectId,
    published: Boolean,
    startedBy: String,
    created: Date,
    updated: Date,
  },
  { versionKey: false },
)
  .index({ parentId: 1 })
  .index({ userId: 1, size: 1 })
  .index({ updated: 1 });
