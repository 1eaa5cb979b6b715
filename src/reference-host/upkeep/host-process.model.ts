import { Schema } from 'mongoose';

/** A process that works on the database and the data folder; what it left half done when it died is found by its id. */
export interface HostProcessDocument {
  _id: string;
  /** The machine it runs on, as the system names its present run. */
  machine: string;
  /** Whether it listens in the data folder, so that others on the machine can tell at once whether it lives. */
  listens: boolean;
  /** When it last said that it lives. */
  beat: Date;
}

/** Schema of {@link HostProcessDocument}. */
export const hostProcessSchema = new Schema<HostProcessDocument>(
  { _id: { type: String, required: true }, machine: String, listens: Boolean, beat: Date },
  { versionKey: false },
);
