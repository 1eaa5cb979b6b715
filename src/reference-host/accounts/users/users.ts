import { Types } from 'mongoose';
import { InvalidError, UnknownIdError, announceStep, searchWords } from '../../../larger-host.js';
import type { HostContext } from '../../context.js';
import type { GrantedLevel } from '../../access/access-list.model.js';
import type { UserDocument, UserStatus } from './user.model.js';
import { checkName } from '../../tree/names/checked-name.js';
import { requireLevel, type Principal } from '../../access/access.js';
import { removeFoldersIn } from '../../tree/folder-trees.js';
import { createFolder } from '../../tree/folders.js';
import { isDuplicateKey } from '../../duplicate-key.js';
import { removeWithBelongings } from '../../upkeep/removal.js';
import { claimFirstUser } from './first-user.js';
import { checkPasswordRule, type HashLane } from '../sign-in/passwords.js';
import { forgetTokens } from '../tokens/tokens.js';
import { withTrashed } from '../../trash/trash-mark.js';
import { removeTrashOfUser } from '../../trash/emptying.js';

const maxLoginLength = 255;
/** Largest length that SMTP allows. */
const maxEmailLength = 254;

/** Loads a user if the caller has this level on the user. */
export async function loadUser(
  { models }: HostContext,
  id: string,
  principal: Principal,
  level: GrantedLevel,
): Promise<UserDocument> {
  const user = await models.user.findById(id).lean<UserDocument>();
  if (user === null) throw new UnknownIdError('user', id);
  requireLevel('user', user, principal, level);
  return user;
}

/** Properties of a new user. */
export interface NewUser {
  login: string;
  email: string;
  firstName: string;
  lastName: string;
  password: string;
  admin?: boolean | undefined;
  status?: UserStatus | undefined;
}

/**
 * Creates a user with the folders that new users get. The very first user becomes administrator, enabled and verified. If several users
 * register at once, exactly one of them is the first.
 */
export async function createUser(context: HostContext, user: NewUser, lane: HashLane = 'known'): Promise<UserDocument> {
  const login = checkLogin(user.login);
  const email = checkEmail(user.email);
  const { firstName, lastName } = checkNames(user);
  checkPasswordRule(user.password);
  const _id = new Types.ObjectId();
  const passwordHash = await context.passwords.hash(user.password, lane);
  return context.journal.undertake({ kind: 'registration', id: _id }, async () => {
    try {
      await context.models.user.create({
        _id,
        login,
        email,
        firstName,
        lastName,
        admin: user.admin ?? false,
        status: user.status ?? 'enabled',
        passwordHash,
        tokenEpoch: new Types.ObjectId(),
        created: new Date(),
        words: searchWords(login, firstName, lastName),
        access: { users: [{ id: _id, level: 2, flags: [] }], groups: [] },
        public: true,
      });
    } catch (error) {
      throw isDuplicateKey(error) ? await createDuplicateError(context, login) : error;
    }
    announceStep('registration:recorded');
    return (await finishRegistration(context, _id))!;
  });
}

/** Completes the registration of a user who has been recorded. Can be repeated. @returns `null` if there is no such user */
export async function finishRegistration(context: HostContext, userId: Types.ObjectId): Promise<UserDocument | null> {
  if ((await context.models.user.exists({ _id: userId })) === null) return null;
  await claimFirstUser(context, userId);
  announceStep('registration:first');
  const createdUser = (await context.models.user.findById(userId).lean<UserDocument>())!;
  if ((await context.setting('core.user_default_folders')) === 'public_private') {
    for (const name of ['Public', 'Private']) {
      const folder = { name, public: name === 'Public', creatorId: userId, reuseExisting: true };
      await createFolder(context, { type: 'user', doc: createdUser }, folder);
      announceStep('registration:folder');
    }
  }
  return createdUser;
}

async function createDuplicateError({ models }: HostContext, login: string): Promise<InvalidError> {
  const isLogin = (await models.user.exists({ login })) !== null;
  return isLogin
    ? new InvalidError('That login is already registered.', 'login')
    : new InvalidError('That email is already registered.', 'email');
}

function checkLogin(text: string): string {
  if (text.length > maxLoginLength) throw new InvalidError(`Login must be at most ${maxLoginLength} characters.`, 'login');
  const login = text.trim().toLowerCase();
  if (login.includes('@')) throw new InvalidError('Login may not contain "@".', 'login');
  if (!/^[a-z][\da-z\-.]{3,}$/.test(login)) {
    throw new InvalidError(
      'Login must be at least 4 characters, start with a letter, and may only contain letters, numbers, dashes, and dots.',
      'login',
    );
  }
  return login;
}

function checkEmail(text: string): string {
  if (text.length > maxEmailLength) throw new InvalidError(`Email must be at most ${maxEmailLength} characters.`, 'email');
  const email = text.trim().toLowerCase();
  if (!/^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(email)) {
    throw new InvalidError('Invalid email address.', 'email');
  }
  return email;
}

function checkNames(names: { firstName: string; lastName: string }): { firstName: string; lastName: string } {
  return {
    firstName: checkName('First', names.firstName, 'firstName'),
    lastName: checkName('Last', names.lastName, 'lastName'),
  };
}

/** Properties of a user that can be changed. */
export interface UserChanges {
  firstName: string;
  lastName: string;
  email: string;
  admin?: boolean | undefined;
  status?: UserStatus | undefined;
  emailVerified?: boolean | undefined;
}

/** Changes a user. */
export async function updateUser(context: HostContext, user: UserDocument, changes: UserChanges): Promise<UserDocument> {
  const names = checkNames(changes);
  const { admin, status, emailVerified } = changes;
  const email = checkEmail(changes.email);
  const changedFields = {
    ...names,
    email,
    words: searchWords(user.login, names.firstName, names.lastName),
    ...(email !== user.email && { emailVerified: false }),
    ...(admin !== undefined && { admin }),
    ...(status !== undefined && { status }),
    ...(emailVerified !== undefined && { emailVerified }),
    // A user who is disabled loses all tokens, and must sign in again after being enabled.
    ...(status !== undefined && status !== 'enabled' && { tokenEpoch: new Types.ObjectId() }),
  };
  let updatedUser: UserDocument | null;
  try {
    updatedUser = await context.models.user
      .findOneAndUpdate({ _id: user._id }, { $set: changedFields }, { returnDocument: 'after' })
      .lean<UserDocument>();
  } catch (error) {
    if (isDuplicateKey(error)) throw new InvalidError('That email is already registered.', 'email');
    throw error;
  }
  if (updatedUser === null) throw new UnknownIdError('user', user._id.toHexString());
  if (updatedUser.admin !== user.admin || updatedUser.status !== user.status) {
    await context.events.emit('access.changed', {});
    await forgetTokens(context, { userId: user._id, userEpoch: { $ne: updatedUser.tokenEpoch } });
  }
  return updatedUser;
}

/**
 * Sets a user's password and ends all of the user's tokens.
 *
 * @param currentHash hash of the old password, if the caller has proved to know it; the password is set only if this is still the stored hash
 * @returns the changed user; `null` if there is no such user, or the old password has changed
 */
export async function setPassword(
  context: HostContext,
  userId: Types.ObjectId,
  password: string,
  currentHash?: string | null,
): Promise<UserDocument | null> {
  checkPasswordRule(password);
  const changedFields = { passwordHash: await context.passwords.hash(password, 'known'), tokenEpoch: new Types.ObjectId() };
  const filter = { _id: userId, ...(currentHash !== undefined && { passwordHash: currentHash }) };
  const changedUser = await context.models.user
    .findOneAndUpdate(filter, { $set: changedFields }, { returnDocument: 'after' })
    .lean<UserDocument>();
  if (changedUser !== null) await forgetTokens(context, { userId, userEpoch: { $ne: changedFields.tokenEpoch } });
  return changedUser;
}

/** Removes a user with all folders, tokens, keys and permissions. */
export function removeUser(context: HostContext, user: UserDocument): Promise<void> {
  return removeWithBelongings(context, 'user', user, ({ _id }) => removeTracesOfUser(context, _id));
}

/** Removes everything that belonged to a removed user. Can be repeated. */
export async function removeTracesOfUser(context: HostContext, _id: Types.ObjectId): Promise<void> {
  const { models, events } = context;
  await forgetTokens(context, { userId: _id });
  await models.apiKey.deleteMany({ userId: _id });
  await removeFoldersIn(context, _id);
  await removeTrashOfUser(context, _id);
  await models.notification.deleteMany({ userId: _id });
  const permissionRemoval = { $pull: { 'access.users': { id: _id } } };
  await models.folder.updateMany({ 'access.users.id': _id }, permissionRemoval, withTrashed);
  await models.collection.updateMany({ 'access.users.id': _id }, permissionRemoval);
  await models.group.updateMany({ 'access.users.id': _id }, permissionRemoval);
  await models.group.updateMany({ requests: _id }, { $pull: { requests: _id } });
  await events.emit('user.removed', { userId: _id.toHexString() });
  await events.emit('access.changed', {});
}
