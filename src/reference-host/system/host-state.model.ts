import { Schema, type Types } from 'mongoose';

/** Facts that a host has exactly one of; the first to insert one wins. */
export interface HostStateDocument {
  /**
   * `first-user`: who became administrator by being first. `store`: the id of the data directory on the wire. `nuclei`: the
   * item whose nuclei were annotated. `format`: how the host stores its own documents.
   */
  _id: 'first-user' | 'store' | 'nuclei' | 'format';
  subject: Types.ObjectId;
  /** Parameter of `format` only. */
  format?: number;
}

/** Schema of {@link HostStateDocument}. */
export const hostStateSchema = new Schema<HostStateDocument>(
  { _id: { type: String, required: true }, subject: Schema.Types.ObjectId, format: Number },
  { versionKey: false },
);
