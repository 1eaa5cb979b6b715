import { Schema, type Types } from 'mongoose';

/** Facts that a host has exactly one of. The first process to insert one wins. */
export interface HostStateDocument {
  /**
   * `first-user`: the user who became administrator by being first. `store`: the id of the data directory in the API. `nuclei`: the
   * item whose nuclei were annotated. `format`: the format of the host's own documents.
   */
  _id: 'first-user' | 'store' | 'nuclei' | 'format';
  subject: Types.ObjectId;
  /** Only for `format`. */
  format?: number;
}

/** Schema of {@link HostStateDocument}. */
export const hostStateSchema = new Schema<HostStateDocument>(
  { _id: { type: String, required: true }, subject: Schema.Types.ObjectId, format: Number },
  { versionKey: false },
);
