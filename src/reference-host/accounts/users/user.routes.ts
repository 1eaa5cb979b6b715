import { tokenSchema, userSchema } from '../../http/schemas.js';
import { AccessDeniedError, LargeImageError } from '../../../index.js';
import {
  boolean,
  oneOf,
  paging,
  required,
  text,
  withDefault,
  type RouteDefinition,
  listOf,
  nothing,
  objectOf,
  anyInteger,
} from '../../../larger-host.js';
import { defineRoute, type HostContext } from '../../context.js';
import type { UserDocument } from './user.model.js';
import { createAccessFilter, loadPrincipal } from '../../access/access.js';
import { replyWithPage } from '../../tree/lists.js';
import { createWordsFilter } from '../../resources/resources.js';
import { issueSignInToken } from '../tokens/tokens.js';
import { changePassword } from '../sign-in/sign-in.js';
import { createUser, loadUser, removeUser, setPassword, updateUser } from './users.js';
import { replyWithSession } from '../../http/cookies.js';
import { createReadRoutes, createRemovalRoutes, type DocumentKind } from '../../tree/document.routes.js';
import { byId, returnsMessage, scopes, searchText } from '../../http/parameters.js';
import { requireSignedIn } from '../../http/signed-in.js';
import { userView } from '../../views.js';

const sortableFields = ['lastName', 'firstName', 'login', 'created', '_id'];
const status = oneOf(['enabled', 'pending', 'disabled'], { description: 'Whether the user can sign in.' });

const kind: DocumentKind<UserDocument> = { type: 'user', load: loadUser, view: userView, schema: userSchema };

/** Routes for users. */
export const userRoutes: RouteDefinition<HostContext>[] = [
  defineRoute({
    method: 'get',
    path: '/user',
    summary: 'List users.',
    access: 'user',
    scope: scopes.read,
    query: { text: searchText, ...paging('lastName') },
    returns: { schema: listOf(userSchema) },
    async handle({ query, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const filter = { ...createAccessFilter(principal, 0), ...createWordsFilter(query.text) };
      return replyWithPage(context.models.user, filter, { ...query, sortable: sortableFields }, (user) =>
        userView(user, principal),
      );
    },
  }),
  defineRoute({
    method: 'post',
    path: '/user',
    summary: 'Register a user. The very first user becomes administrator.',
    access: 'public',
    query: {
      login: required(text()),
      email: required(text()),
      firstName: required(text()),
      lastName: required(text()),
      password: required(text()),
      admin: withDefault(boolean({ description: 'Ignored unless the caller is a site administrator.' }), false),
    },
    returns: { schema: { allOf: [userSchema, objectOf({}, { authToken: tokenSchema })] } },
    errors: ['invalid', 'bad-value', 'forbidden', 'too-often', 'busy'],
    async handle(input, context) {
      const { query, caller, address } = input;
      const principal = await loadPrincipal(context, caller);
      const policy = await context.setting('core.registration_policy');
      if (policy === 'closed' && !principal.admin) {
        const message = 'Registration on this instance is closed. Contact an administrator to create an account for you.';
        throw new LargeImageError('bad-value', message);
      }
      const needsApproval = policy === 'approve' && !principal.admin;
      if (principal.id === null) await context.signInLimits.countCreation(address);
      const newUser = {
        ...query,
        admin: principal.admin && query.admin,
        status: needsApproval ? ('pending' as const) : ('enabled' as const),
      };
      const user = await createUser(context, newUser, principal.id === null ? 'stranger' : 'known');
      if (principal.id !== null) return userView(user, principal);
      await context.signInLimits.rememberUser([user.login, user.email], address);
      const view = userView(user, { id: user._id, admin: user.admin, groups: [], seesPrivate: true });
      const mustVerifyEmail = !user.emailVerified && (await context.setting('core.email_verification')) === 'required';
      if (user.status !== 'enabled' || mustVerifyEmail) return view;
      const issuedToken = await issueSignInToken(context, user);
      const authToken = { token: issuedToken.token, expires: issuedToken.expires };
      return replyWithSession(context, input, { ...view, authToken }, issuedToken);
    },
  }),
  defineRoute({
    method: 'get',
    path: '/user/:id/details',
    summary: 'Count the readable folders of a user.',
    access: 'public',
    scope: scopes.read,
    params: byId,
    returns: { schema: objectOf({ nFolders: anyInteger }) },
    async handle({ params, caller }, context) {
      const principal = await loadPrincipal(context, caller);
      const user = await loadUser(context, params.id, principal, 0);
      const filter = { parentId: user._id, ...createAccessFilter(principal, 0) };
      return { nFolders: await context.models.folder.countDocuments(filter) };
    },
  }),
  defineRoute({
    method: 'put',
    path: '/user/:id',
    summary: 'Change a user.',
    access: 'user',
    params: byId,
    query: {
      firstName: required(text()),
      lastName: required(text()),
      email: required(text()),
      admin: boolean(),
      status,
      emailVerified: boolean(),
    },
    returns: { schema: userSchema },
    errors: ['invalid', 'access-denied'],
    async handle({ params, query, caller }, context) {
      const principal = await requireSignedIn(context, caller);
      const user = await loadUser(context, params.id, principal, 1);
      if (!principal.admin) {
        if (query.admin !== undefined && query.admin !== user.admin) {
          throw new AccessDeniedError('Only admins may change admin status.');
        }
        if (query.status !== undefined && query.status !== user.status)
          throw new AccessDeniedError('Only admins may change status.');
        if (query.emailVerified !== undefined && query.emailVerified !== user.emailVerified) {
          throw new AccessDeniedError('Only admins may mark email addresses as verified.');
        }
      }
      return userView(await updateUser(context, user, query), principal);
    },
  }),
  defineRoute({
    method: 'put',
    path: '/user/password',
    summary: 'Change your own password.',
    access: 'user',
    query: { old: required(text()), new: required(text()) },
    returns: returnsMessage,
    errors: ['invalid', 'access-denied', 'too-often', 'busy'],
    async handle(input, context) {
      const { query, caller, address } = input;
      const { id: userId } = await requireSignedIn(context, caller);
      const user = await changePassword(context, { userId, oldPassword: query.old, password: query.new, address });
      // All tokens have ended, including the token of this request. The browser gets a new one and stays signed in.
      return replyWithSession(context, input, { message: 'Password changed.' }, await issueSignInToken(context, user));
    },
  }),
  defineRoute({
    method: 'put',
    path: '/user/:id/password',
    summary: "Set a user's password.",
    access: 'admin',
    params: byId,
    query: { password: required(text()) },
    returns: { schema: nothing },
    errors: ['invalid', 'unknown-id'],
    async handle({ params, query, caller }, context) {
      const user = await loadUser(context, params.id, await loadPrincipal(context, caller), 2);
      await setPassword(context, user._id, query.password);
      return null;
    },
  }),
  ...createReadRoutes(kind),
  ...createRemovalRoutes(kind, { level: 2, remove: removeUser, nameOf: ({ login }) => login }),
];
