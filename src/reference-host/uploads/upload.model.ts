import { Schema, type Types } from 'mongoose';

/** An unfinished upload. */
export interface UploadDocument {
  _id: Types.ObjectId;
  name: string;
  /** Length that the file will have, in bytes. */
  size: number;
  /** Number of bytes that were received and flushed to disk. */
  received: number;
  mimeType: string;
  parentType: 'folder' | 'item';
  parentId: Types.ObjectId;
  /** Id of the item that will be created for the file, if the parent is a folder. */
  itemId?: Types.ObjectId;
  /** The file whose contents the upload replaces, if any. */
  fileId?: Types.ObjectId;
  /** Whether the file (not its parent) is attached: it will belong to the parent without being one of the parent's files. */
  attachParent?: boolean;
  /** A text from the client, which is part of the event when the upload is complete. */
  reference?: string;
  userId: Types.ObjectId | null;
  assetstoreId: Types.ObjectId;
  /** Whether the file has been created. This is set before the file is announced. */
  published?: boolean;
  /** The process that handles the first request of the upload, until the client knows the upload's id. */
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
