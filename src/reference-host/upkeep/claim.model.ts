import { Schema } from 'mongoose';

/** Something that one request at a time may do, in whichever process. */
export interface ClaimDocument {
  /** What is claimed: `upload/<id>`, `capacity/<user id>`, `sweep`. */
  _id: string;
  process: string;
  /** Distinguishes the claims of one process. */
  fence: string;
}

/** Schema of {@link ClaimDocument}. */
export const claimSchema = new Schema<ClaimDocument>(
  { _id: { type: String, required: true }, process: String, fence: String },
  { versionKey: false },
).index({ process: 1 });
