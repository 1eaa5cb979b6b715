import { Schema } from 'mongoose';

/** A claim: the right of one request, among all processes, to do some work. */
export interface ClaimDocument {
  /** The claimed work, such as `upload/<id>`, `capacity/<user id>`, `sweep` or `recovery`. */
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
