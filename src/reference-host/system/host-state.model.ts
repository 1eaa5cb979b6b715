import { Schema, type Types } from 'mongoose';

/** Facts that a host has exactly one of; the first to insert one wins. */
export interface HostStateDocument {
  /**
   * `first-user`: who became administrator by being first. `store`: the id of the data directory on the wire. `nuclei`: the
   * item whose nuclei were annotated.
   */
  _id: 'first-user' | 'store' | 'nuclei';
  subject: Types.ObjectId;
}

/** Schema of {@link HostStateDocument}. */
export const hostStateSchema = new Schema<HostStateDocument>(
  { _id: { type: String, required: true }, subject: Schema.Types.ObjectId },
  { versionKey: false },
);
