import { request } from '../api.js';
import { fill, h, showMessage, type Child } from '../dom.js';
import { showFormDialog, form, type Field } from '../forms.js';
import { languageChoice } from '../languages/choice.js';
import { goTo, routeHash, type Route, type ViewContext, type View } from '../router.js';
import { currentUser, requestPublicSettings, register, signIn } from '../session.js';
import { accountTexts, commonTexts } from '../texts.js';

const requiredTextAttributes = { required: true, autocapitalize: 'none' };

const signInFields = (): Field[] => [
  { name: 'login', label: accountTexts.loginOrEmail, autocomplete: 'username', ...requiredTextAttributes },
  {
    name: 'password',
    label: commonTexts.password,
    type: 'password',
    autocomplete: 'current-password',
    ...requiredTextAttributes,
  },
];

const newPasswordAttributes = { type: 'password', autocomplete: 'new-password', minlength: 6, required: true };

export const registerFields = (): Field[] => [
  { name: 'login', label: commonTexts.login, autocomplete: 'username', minlength: 4, ...requiredTextAttributes },
  { name: 'email', label: commonTexts.email, type: 'email', autocomplete: 'email', ...requiredTextAttributes },
  { name: 'firstName', label: commonTexts.firstName, autocomplete: 'given-name', ...requiredTextAttributes },
  { name: 'lastName', label: commonTexts.lastName, autocomplete: 'family-name', ...requiredTextAttributes },
  { name: 'password', label: commonTexts.password, ...newPasswordAttributes, ...requiredTextAttributes },
];

/** The forms for signing in and for registering. */
export async function accountView(route: Route, { main, signal }: ViewContext): Promise<View> {
  const back = route.query.get('back');
  const isRegistering = route.name === 'register';
  // The user may have signed in in another tab.
  if (!isRegistering && currentUser() !== null) location.replace(`#${back ?? ''}`);
  const title = isRegistering ? accountTexts.createAnAccount : accountTexts.signIn;
  const isClosed = (await requestPublicSettings())['core.registration_policy'] === 'closed';
  signal.throwIfAborted();
  const send = async (values: Record<string, string>) => {
    if (!isRegistering) await signIn(values.login ?? '', values.password ?? '');
    else if ((await register(values as Parameters<typeof register>[0])) === null)
      return fill(main, accountPage(title, h('p.notice.surface', accountTexts.createdPending)));
    goTo(`#${back ?? ''}`);
  };
  const formElement = isRegistering
    ? form({ fields: registerFields(), action: accountTexts.createAccount, send })
    : form({ fields: signInFields(), action: accountTexts.signIn, send });
  const [question, otherLabel, otherRoute] = isRegistering
    ? [accountTexts.alreadyRegistered, accountTexts.signIn, 'sign-in']
    : [accountTexts.newHere, accountTexts.createAnAccount, 'register'];
  const otherFormLink = h('p.aside.quiet-text', question, ' ', h('a', { href: routeHash(otherRoute, '', { back }) }, otherLabel));
  const closedNotice = h('p.notice.surface', accountTexts.registrationClosed);
  fill(
    main,
    isRegistering && isClosed
      ? accountPage(title, closedNotice, otherFormLink)
      : accountPage(title, formElement, !isClosed && otherFormLink),
  );
  formElement.querySelector('input')?.focus();
  return { title };
}

function accountPage(title: string, ...content: Child[]) {
  return h('div.page.page-narrow.column', h('div.panel.surface.raised', h('h1', title), ...content), languageChoice());
}

/** Opens a dialog in which users change their own password. This page stays signed in. */
export function showPasswordDialog() {
  showFormDialog({
    title: accountTexts.changePassword,
    action: accountTexts.changePassword,
    fields: [
      { name: 'old', label: accountTexts.formerPassword, type: 'password', autocomplete: 'current-password', required: true },
      { name: 'new', label: accountTexts.newPassword, ...newPasswordAttributes },
    ],
    async send(values) {
      await request('PUT', 'user/password', { form: values });
      // When the password changed, the server ended all sessions of the user.
      await signIn(currentUser()?.login ?? '', values.new ?? '');
      showMessage(accountTexts.passwordChanged);
    },
  });
}
