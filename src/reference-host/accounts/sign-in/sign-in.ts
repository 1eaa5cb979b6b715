import type { Types } from 'mongoose';
import { AccessDeniedError, LargeImageError } from '../../../index.js';
import type { HostContext } from '../../context.js';
import type { UserDocument } from '../users/user.model.js';
import { setPassword } from '../users/users.js';

/** Largest length of a login or email address. Longer names cannot match a user. */
const maxNameLength = 255;

/**
 * Finds the user who signs in with a login or email address and a password.
 *
 * @throws AccessDeniedError `Login failed.` if the user or the password is wrong; both take the same time
 * @throws TooOftenError after too many wrong passwords, even if the user does not exist
 */
export async function signIn(
  context: HostContext,
  { name: requestedName, password, address }: { name: string; password: string; address: string },
): Promise<UserDocument> {
  const { models } = context;
  if (!(await context.setting('core.enable_password_login'))) {
    throw new LargeImageError('bad-value', 'Password login is disabled on this instance.');
  }
  const name = requestedName
    .slice(0, maxNameLength + 1)
    .trim()
    .toLowerCase();
  const findUser = () => models.user.findOne(name.includes('@') ? { email: name } : { login: name }).lean<UserDocument>();
  const user = await context.signInLimits.tryPassword({ name, findUser, password, address });
  if (user === null) throw new AccessDeniedError('Login failed.');
  const createRefusal = (message: string, extra: string) => new AccessDeniedError(message, { details: { extra } });
  if (user.status === 'disabled') throw createRefusal('Account is disabled.', 'disabled');
  if (!user.emailVerified && (await context.setting('core.email_verification')) === 'required') {
    throw createRefusal('Email verification required.', 'emailVerification');
  }
  if (user.status === 'pending') throw createRefusal('Account approval required.', 'accountApproval');
  return user;
}

/**
 * Sets the password of a user who knows the old one. All tokens of the user end, including those of API keys.
 *
 * @returns the changed user
 * @throws AccessDeniedError `Old password is incorrect.`
 * @throws TooOftenError after too many wrong passwords
 */
export async function changePassword(
  context: HostContext,
  { userId, oldPassword, password, address }: { userId: Types.ObjectId; oldPassword: string; password: string; address: string },
): Promise<UserDocument> {
  const user = await context.models.user.findById(userId).lean<UserDocument>();
  const isOldPasswordRight =
    user !== null &&
    (await context.signInLimits.tryPassword({ name: user.login, findUser: async () => user, password: oldPassword, address })) !==
      null;
  const changedUser = isOldPasswordRight ? await setPassword(context, userId, password, user.passwordHash) : null;
  if (changedUser === null) throw new AccessDeniedError('Old password is incorrect.');
  return changedUser;
}
