import { Types } from 'mongoose';
import { AccessDeniedError, InvalidError, LargeImageError, UnknownIdError } from '../../index.js';
import type { HostContext } from '../context.js';
import type { GrantedLevel } from '../access/access-list.model.js';
import type { UserDocument, UserStatus } from './user.model.js';
import { wordsOf } from '../words.js';
import { checkedName } from '../tree/names/checked-name.js';
import { requireLevel, type Principal } from '../access/access.js';
import { removeFoldersIn } from '../tree/folder-trees.js';
import { createFolder } from '../tree/folders.js';
import { isDuplicateKey } from '../duplicate-key.js';
import { checkPassword, hashPassword } from './passwords.js';
import { revokeTokens } from './tokens.js';

/** A user on whom somebody has a level. */
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

/** What a new user is like. */
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
 * Makes a user with the folders that new users get. The first one ever becomes administrator, enabled and verified; of several
 * first ones at once exactly one.
 */
export async function createUser(context: HostContext, user: NewUser): Promise<UserDocument> {
  const login = checkLogin(user.login);
  const email = checkEmail(user.email);
  const { firstName, lastName } = checkNames(user);
  checkPasswordRule(user.password);
  const _id = new Types.ObjectId();
  try {
    await context.models.user.create({
      _id,
      login,
      email,
      firstName,
      lastName,
      admin: user.admin ?? false,
      status: user.status ?? 'enabled',
      passwordHash: await hashPassword(user.password, context.passwordCost),
      created: new Date(),
      words: wordsOf(login, firstName, lastName),
      access: { users: [{ id: _id, level: 2, flags: [] }], groups: [] },
      public: true,
    });
  } catch (error) {
    throw isDuplicateKey(error) ? await explainDuplicate(context, login) : error;
  }
  await claimFirst(context, _id);
  const created = (await context.models.user.findById(_id).lean<UserDocument>())!;
  if ((await context.setting('core.user_default_folders')) === 'public_private') {
    for (const name of ['Public', 'Private']) {
      await createFolder(context, { type: 'user', doc: created }, { name, public: name === 'Public', creatorId: _id });
    }
  }
  return created;
}

async function explainDuplicate({ models }: HostContext, login: string): Promise<InvalidError> {
  const isLogin = (await models.user.exists({ login })) !== null;
  return isLogin
    ? new InvalidError('That login is already registered.', 'login')
    : new InvalidError('That email is already registered.', 'email');
}

/** Makes a user administrator who is the first ever. */
async function claimFirst({ models }: HostContext, userId: Types.ObjectId): Promise<void> {
  try {
    await models.hostState.create({ _id: 'first-user', subject: userId });
  } catch (error) {
    if (isDuplicateKey(error)) return;
    throw error;
  }
  await models.user.updateOne({ _id: userId }, { $set: { admin: true, status: 'enabled', emailVerified: true } });
}

/** Completes what a crash between the two steps of the first registration left half done. */
export async function repairFirstUser({ models }: HostContext): Promise<void> {
  const first = await models.hostState.findById('first-user').lean();
  if (first === null || (await models.user.exists({ admin: true })) !== null) return;
  await models.user.updateOne({ _id: first.subject }, { $set: { admin: true, status: 'enabled', emailVerified: true } });
}

function checkLogin(sent: string): string {
  const login = sent.trim().toLowerCase();
  if (login.includes('@')) throw new InvalidError('Login may not contain "@".', 'login');
  if (!/^[a-z][\da-z\-.]{3,}$/.test(login) || login.length > 255) {
    throw new InvalidError(
      'Login must be at least 4 characters, start with a letter, and may only contain letters, numbers, dashes, and dots.',
      'login',
    );
  }
  return login;
}

function checkEmail(sent: string): string {
  const email = sent.trim().toLowerCase();
  if (!/^[\w.!#$%&'*+/=?^`{|}~-]+@[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(email) || email.length > 254) {
    throw new InvalidError('Invalid email address.', 'email');
  }
  return email;
}

function checkNames(sent: { firstName: string; lastName: string }): { firstName: string; lastName: string } {
  return {
    firstName: checkedName('First', sent.firstName, 'firstName'),
    lastName: checkedName('Last', sent.lastName, 'lastName'),
  };
}

function checkPasswordRule(password: string): void {
  if (password.length < 6) throw new InvalidError('Password must be at least 6 characters long.', 'password');
}

/** What can be changed of a user. */
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
  const set = {
    ...names,
    email,
    words: wordsOf(user.login, names.firstName, names.lastName),
    ...(email !== user.email && { emailVerified: false }),
    ...(admin !== undefined && { admin }),
    ...(status !== undefined && { status }),
    ...(emailVerified !== undefined && { emailVerified }),
  };
  let updated: UserDocument | null;
  try {
    updated = await context.models.user
      .findOneAndUpdate({ _id: user._id }, { $set: set }, { returnDocument: 'after' })
      .lean<UserDocument>();
  } catch (error) {
    if (isDuplicateKey(error)) throw new InvalidError('That email is already registered.', 'email');
    throw error;
  }
  if (updated === null) throw new UnknownIdError('user', user._id.toHexString());
  if (updated.admin !== user.admin || updated.status !== user.status) {
    await context.events.emit('access.changed', {});
    await context.events.emit('token.revoked', {});
  }
  return updated;
}

/** Sets a user's password and ends all of the user's tokens. */
export async function setPassword(context: HostContext, userId: Types.ObjectId, password: string): Promise<void> {
  checkPasswordRule(password);
  const passwordHash = await hashPassword(password, context.passwordCost);
  await context.models.user.updateOne({ _id: userId }, { $set: { passwordHash } });
  await revokeTokens(context, { userId });
}

/** Whether a password is a user's. */
export function isPasswordOf(context: HostContext, user: UserDocument, password: string): Promise<boolean> {
  return checkPassword(password, user.passwordHash, context.passwordCost);
}

/**
 * Who signs in with a login, or an email address, and a password.
 *
 * @throws AccessDeniedError `Login failed.` whichever of the two is wrong, after the same time.
 */
export async function signIn(context: HostContext, loginOrEmail: string, password: string): Promise<UserDocument> {
  if (!(await context.setting('core.enable_password_login'))) {
    throw new LargeImageError('bad-value', 'Password login is disabled on this instance.');
  }
  const name = loginOrEmail.trim().toLowerCase();
  const user = await context.models.user.findOne(name.includes('@') ? { email: name } : { login: name }).lean<UserDocument>();
  const isRight = await checkPassword(password, user?.passwordHash ?? null, context.passwordCost);
  if (user === null || !isRight) throw new AccessDeniedError('Login failed.');
  const refuse = (message: string, extra: string) => new AccessDeniedError(message, { details: { extra } });
  if (user.status === 'disabled') throw refuse('Account is disabled.', 'disabled');
  if (!user.emailVerified && (await context.setting('core.email_verification')) === 'required') {
    throw refuse('Email verification required.', 'emailVerification');
  }
  if (user.status === 'pending') throw refuse('Account approval required.', 'accountApproval');
  return user;
}

/** Removes a user with folders, tokens, keys, and every mention in permissions. */
export async function removeUser(context: HostContext, user: UserDocument): Promise<void> {
  const { models, events } = context;
  const { _id } = user;
  await revokeTokens(context, { userId: _id });
  await models.apiKey.deleteMany({ userId: _id });
  await removeFoldersIn(context, _id);
  await models.notification.deleteMany({ userId: _id });
  const mention = { $pull: { 'access.users': { id: _id } } };
  await models.folder.updateMany({ 'access.users.id': _id }, mention);
  await models.collection.updateMany({ 'access.users.id': _id }, mention);
  await models.group.updateMany({ 'access.users.id': _id }, mention);
  await models.user.deleteOne({ _id });
  await removeFoldersIn(context, _id);
  await events.emit('user.removed', { userId: _id.toHexString() });
  await events.emit('access.changed', {});
}
