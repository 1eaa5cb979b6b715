// @ts-check
import { ApiError } from '../api.js';
import { fill, h, messageOf } from '../dom.js';
import { goTo, routeHash } from '../router.js';
import { register, signIn } from '../session.js';

/** @typedef {import('../router.js').Route} Route */

/**
 * @typedef {object} Field
 * @property {string} name also the name of the parameter that the server complains about
 * @property {string} label
 * @property {string} [type]
 * @property {string} autocomplete
 * @property {number} [minlength]
 */

/** @type {Field[]} */
const signInFields = [
  { name: 'login', label: 'Login or e-mail', autocomplete: 'username' },
  { name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' },
];

/** @type {Field[]} */
const registerFields = [
  { name: 'login', label: 'Login', autocomplete: 'username', minlength: 4 },
  { name: 'email', label: 'E-mail', type: 'email', autocomplete: 'email' },
  { name: 'firstName', label: 'First name', autocomplete: 'given-name' },
  { name: 'lastName', label: 'Last name', autocomplete: 'family-name' },
  { name: 'password', label: 'Password', type: 'password', autocomplete: 'new-password', minlength: 6 },
];

/**
 * The forms for signing in and for registering.
 *
 * @param {Route} route
 * @param {import('../app.js').ViewContext} context
 * @returns {Promise<import('../app.js').View>}
 */
export async function accountView(route, { main }) {
  const back = route.query.get('back');
  const isNew = route.name === 'register';
  const title = isNew ? 'Create an account' : 'Sign in';
  const done = () => goTo(`#${back ?? ''}`);
  const form = isNew
    ? credentialsForm(registerFields, 'Create account', async (values) => {
        const user = await register(/** @type {any} */ (values));
        if (user !== null) return done();
        fill(
          main,
          page(title, h('p', { class: 'notice' }, 'The account is made. It still has to be confirmed before you can sign in.')),
        );
      })
    : credentialsForm(signInFields, 'Sign in', async ({ login = '', password = '' }) => {
        await signIn(login, password);
        done();
      });
  const other = isNew
    ? h('p', { class: 'aside' }, 'Already registered? ', h('a', { href: routeHash('sign-in', '', { back }) }, 'Sign in'))
    : h('p', { class: 'aside' }, 'New here? ', h('a', { href: routeHash('register', '', { back }) }, 'Create an account'));
  fill(main, page(title, form, other));
  form.querySelector('input')?.focus();
  return { title };
}

/** @param {string} title @param {...HTMLElement} content */
function page(title, ...content) {
  return h('div', { class: 'page page-narrow' }, h('div', { class: 'panel' }, h('h1', {}, title), ...content));
}

/**
 * @param {Field[]} fields
 * @param {string} action
 * @param {(values: Record<string, string>) => Promise<void>} send
 */
function credentialsForm(fields, action, send) {
  const message = h('p', { class: 'form-error', role: 'alert' });
  const button = h('button', { class: 'button primary wide', type: 'submit' }, action);
  const inputs = fields.map(({ name, type = 'text', autocomplete, minlength }) =>
    h('input', { id: `field-${name}`, name, type, autocomplete, minlength, required: true, autocapitalize: 'none' }),
  );
  const rows = fields.map(({ name, label }, index) =>
    h('div', { class: 'field' }, h('label', { for: `field-${name}` }, label), inputs[index]),
  );
  return h('form', { class: 'stack', onsubmit: submit }, ...rows, message, button);

  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    message.textContent = '';
    button.disabled = true;
    try {
      await send(Object.fromEntries(inputs.map((input) => [input.name, input.value])));
    } catch (error) {
      message.textContent = messageOf(error);
      const culprit = error instanceof ApiError ? inputs.find((input) => input.name === error.field) : undefined;
      (culprit ?? inputs[0])?.focus();
    } finally {
      button.disabled = false;
    }
  }
}
