import type { Types } from 'mongoose';
import type { HostContext } from '../../context.js';
import { isDuplicateKey } from '../../duplicate-key.js';

const firstUserRights = { $set: { admin: true, status: 'enabled', emailVerified: true } } as const;

/** Makes a user administrator if no other user was registered earlier. */
export async function claimFirstUser({ models }: HostContext, userId: Types.ObjectId): Promise<void> {
  try {
    await models.hostState.create({ _id: 'first-user', subject: userId });
  } catch (error) {
    if (isDuplicateKey(error)) return;
    throw error;
  }
  await models.user.updateOne({ _id: userId }, firstUserRights);
}

/** Completes the registration of the first user if a crash interrupted it. */
export async function repairFirstUser(context: HostContext): Promise<void> {
  const { models } = context;
  const firstUserState = await models.hostState.findById('first-user').lean();
  if (firstUserState === null) {
    const oldestUser = await models.user.findOne({}, { _id: 1 }).sort({ created: 1, _id: 1 }).lean();
    if (oldestUser !== null) await claimFirstUser(context, oldestUser._id);
    return;
  }
  if ((await models.user.exists({ admin: true })) !== null) return;
  await models.user.updateOne({ _id: firstUserState.subject }, firstUserRights);
}
