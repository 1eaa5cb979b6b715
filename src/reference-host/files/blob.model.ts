import { Schema, type Types } from 'mongoose';

/** A file record that uses stored bytes, or is about to use them. */
export interface BlobReference {
  fileId: Types.ObjectId;
  /** The process that made, or makes, the record. */
  process: string;
  /** When the record was made, or was about to be made. */
  since: Date;
}

/**
 * Bytes in the data directory, which copies of a file share. This record is stored before the bytes and removed before the bytes, so bytes
 * without a record are not in use.
 */
export interface BlobDocument {
  /** The key in file records. */
  _id: string;
  size: number;
  /** Id of the uploader; `null` for the server itself. */
  userId: Types.ObjectId | null;
  references: BlobReference[];
}

const reference = new Schema<BlobReference>({ fileId: Schema.Types.ObjectId, process: String, since: Date }, { _id: false });

/** Schema of {@link BlobDocument}. */
export const blobSchema = new Schema<BlobDocument>(
  {
    _id: { type: String, required: true },
    size: Number,
    userId: { type: Schema.Types.ObjectId, default: null },
    references: [reference],
  },
  { versionKey: false },
).index({ userId: 1, size: 1 });
