import { Schema, type Types } from 'mongoose';

/** Facts that a host has exactly one of. The first process to insert one wins. */
export interface HostStateDocument {
  /**
   * `first-user`: who became administrator by being first. `store`: the id of the data directory on the wire, and which one it is. `nuclei`: the
   * item whose nuclei were annotated. `format`: how the host stores its own documents.
   */
  _id: 'first-user' | 'store' | 'nuclei' | 'format';
  subject: Types.ObjectId;
  /** Only for `format`. */
  format?: number;
  /** Parameters of `store` only: the id in the data folder that the database was first used with, and where it was last used. */
  folder?: string;
  root?: string;
  machine?: string;
}

/** Schema of {@link HostStateDocument}. */
export const hostStateSchema = new Schema<HostStateDocument>(
  {
    _id: { type: String, required: true },
    subject: Schema.Types.ObjectId,
    format: Number,
    folder: String,
    root: String,
    machine: String,
  },
  { versionKey: false },
);
