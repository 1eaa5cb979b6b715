import { Schema, type Types } from 'mongoose';

/** How often something has been tried; kept by rate-limiter-flexible. */
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
  // Tidies up where the database does so; the limiter compares dates itself.
  .index({ expire: 1 }, { expireAfterSeconds: 0 });
