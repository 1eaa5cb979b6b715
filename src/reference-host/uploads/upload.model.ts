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
  /** Present when the upload replaces the contents of a file. */
  fileId?: Types.ObjectId;
  /** Whether the file will be attached to its parent, not be one of its files. */
  attachParent?: boolean;
  /** Text of the client, handed on when the upload is complete. */
  reference?: string;
  userId: Types.ObjectId | null;
  assetstoreId: Types.ObjectId;
  created: Date;
  updated: Date;
  /** Who writes at the moment, and until when nobody else may. */
  writer?: { id: string; until: Date } | null;
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
    fileId: Schema.Types.ObjectId,
    attachParent: Boolean,
    reference: String,
    userId: { type: Schema.Types.ObjectId, default: null },
    assetstoreId: Schema.Types.ObjectId,
    created: Date,
    updated: Date,
    writer: { type: new Schema({ id: String, until: Date }, { _id: false }), default: null },
  },
  { versionKey: false },
)
  .index({ parentId: 1 })
  .index({ updated: 1 });
