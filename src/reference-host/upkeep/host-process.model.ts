import { Schema } from 'mongoose';

/**
 * A process that uses the database and the data folder. Unfinished work is recorded with the id of its process, so that it is found after the
 * process has died.
 */
export interface HostProcessDocument {
  _id: string;
  /** Boot id of the process's machine, or the name of the machine. */
  machine: string;
  /** Whether the process listens on a socket in the data folder, by which processes on the same machine see immediately whether it is alive. */
  listens: boolean;
  /** Time of the process's last heartbeat. */
  beat: Date;
}

/** Schema of {@link HostProcessDocument}. */
export const hostProcessSchema = new Schema<HostProcessDocument>(
  { _id: { type: String, required: true }, machine: String, listens: Boolean, beat: Date },
  { versionKey: false },
);
