import { Schema } from 'mongoose';

/** Bytes in the data directory; files that are copies share them. */
export interface BlobDocument {
  /** The key that file records carry. */
  _id: string;
  size: number;
  /** How many file records use the bytes. */
  references: number;
}

/** Schema of {@link BlobDocument}. */
export const blobSchema = new Schema<BlobDocument>(
  { _id: { type: String, required: true }, size: Number, references: Number },
  { versionKey: false },
);
