import { Schema, type Types } from 'mongoose';

/** A counter of attempts, in the form that rate-limiter-flexible stores. */
export interface AttemptDocument {
  _id: Types.ObjectId;
  key: string;
  points: number;
  expire: Date | null;
}

/** Schema of {@link AttemptDocument}. */
export const attemptSchema = new Schema<AttemptDocument>(
  { key: { type: String, required: true }, points: Number, expire: Date },
  { versionKey: false },
)
  .index({ key: 1 }, { unique: true })
  // This index only removes old records, if the engine supports that. The limiter compares dates itself.
  .index({ expire: 1 }, { expireAfterSeconds: 0 });
