import { Schema, type Types } from 'mongoose';

/** A value that a host stores once. The first process to insert it wins. */
export interface HostStateDocument {
  /**
   * `first-user`: the user who became administrator by being the first. `store`: the id of the data directory in the API, and where the
   * directory is. `nuclei`: the item whose nuclei were annotated. `format`: how the host stores its own documents.
   */
  _id: 'first-user' | 'store' | 'nuclei' | 'format';
  subject: Types.ObjectId;
  /** Only for `format`. */
  format?: number;
  /** Only for `store`: the id of the data folder that the database belongs to, as it is stored in that folder. */
  folder?: string;
  /** Only for `store`: where the data folder was last used. */
  root?: string;
  /** Only for `store`: the machine on which the data folder was last used. */
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
