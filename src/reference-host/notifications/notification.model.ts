import { Schema, type Types } from 'mongoose';

/** A message to a user, or to an anonymous session. */
export interface NotificationDocument {
  _id: Types.ObjectId;
  type: string;
  data: Record<string, unknown>;
  userId: Types.ObjectId | null;
  tokenId: Types.ObjectId | null;
  time: Date;
  updated: Date;
  expires: Date;
}

/** Schema of {@link NotificationDocument}. */
export const notificationSchema = new Schema<NotificationDocument>(
  {
    type: { type: String, required: true },
    data: { type: Schema.Types.Mixed, default: {} },
    userId: { type: Schema.Types.ObjectId, default: null },
    tokenId: { type: Schema.Types.ObjectId, default: null },
    time: Date,
    updated: Date,
    expires: Date,
  },
  { versionKey: false, minimize: false },
)
  .index({ userId: 1, updated: 1 })
  .index({ tokenId: 1, updated: 1 })
  .index({ updated: 1 })
  // The database removes expired messages some time later, if it supports that, so readers compare the dates themselves.
  .index({ expires: 1 }, { expireAfterSeconds: 0 });
