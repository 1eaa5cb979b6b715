import { Schema } from 'mongoose';

/** A process that uses the database and the data folder. Unfinished work is recorded with the id of its process, so it is found after the process has died. */
export interface HostProcessDocument {
  _id: string;
  /** Boot id of its machine, or the machine's name. */
  machine: string;
  /** Whether it listens on a socket in the data folder. Processes on the same machine can then tell immediately whether it is alive. */
  listens: boolean;
  /** Time of its last heartbeat. */
  beat: Date;
}

/** Schema of {@link HostProcessDocument}. */
export const hostProcessSchema = new Schema<HostProcessDocument>(
  { _id: { type: String, required: true }, machine: String, listens: Boolean, beat: Date },
  { versionKey: false },
);
