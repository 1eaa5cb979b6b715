// @ts-check
import { adminView } from './admin/admin-view.js';
import { ApiError } from './api.js';
import { announce, errorNotice, fill, h, icon, messageOf } from './dom.js';
import { parseRoute, routeHash, setAddress } from './router.js';
import { currentUser, followOtherTabs, hasEnded, onSession, resumeSession, signOut } from './session.js';
import { accountView } from './views/account.js';
import { containerView } from './views/container.js';
import { homeView } from './views/home.js';
import { itemView } from './views/item.js';

/** @typedef {import('./router.js').Route} Route */

/**
 * What a view works with: `main` to fill, `signal` that aborts when the reader goes elsewhere, and `refresh`, which builds the
 * view anew.
 *
 * @typedef {{ main: HTMLElement, signal: AbortSignal, refresh: () => Promise<void> }} ViewContext
 */

/**
 * What a view answers when it stands. `update` takes a change of the query of its own address and says whether it could.
 *
 * @typedef {{ title: string, update?: (route: Route) => boolean }} View
 */

/** @type {Record<string, (route: Route, context: ViewContext) => Promise<View>>} */
const views = {
  '': homeView,
  collection: containerView,
  folder: containerView,
  user: containerView,
  item: itemView,
  'sign-in': accountView,
  register: accountView,
  admin: adminView,
};

const main = /** @type {HTMLElement} */ (document.getElementById('main'));
const productName = document.title;

/** @type {{ name: string, id: string, view: View | null, leave: AbortController } | null} */
let current = null;

/**
 * Shows what the address says.
 *
 * @param {{ focus: boolean, rebuild: boolean }} options `rebuild`: even where the view that stands could take the change
 */
async function show({ focus, rebuild }) {
  const route = parseRoute();
  if (!rebuild && current?.name === route.name && current.id === route.id && current.view?.update?.(route)) return;
  current?.leave.abort();
  const leave = new AbortController();
  const shown = { name: route.name, id: route.id, view: /** @type {View | null} */ (null), leave };
  current = shown;
  main.setAttribute('aria-busy', 'true');
  try {
    const view = views[route.name];
    if (!view) throw new Error(`There is no page “${route.name}” here.`);
    const context = { main, signal: leave.signal, refresh: () => show({ focus: false, rebuild: true }) };
    document.body.dataset.view = route.name === '' ? 'home' : route.name;
    shown.view = await view(route, context);
    if (leave.signal.aborted) return;
    document.title = shown.view.title === '' ? productName : `${shown.view.title} – ${productName}`;
    if (focus) {
      main.focus({ preventScroll: true });
      scrollTo(0, 0);
      announce(document.title);
    }
  } catch (error) {
    if (leave.signal.aborted) return;
    document.body.dataset.view = 'error';
    const [title, notice] = explain(error);
    document.title = `${title} – ${productName}`;
    fill(main, h('div', { class: 'page page-narrow' }, h('h1', {}, title), notice, ...waysOut()));
  } finally {
    if (current === shown) main.removeAttribute('aria-busy');
  }
}

/** @param {unknown} error @returns {[title: string, notice: HTMLElement]} */
function explain(error) {
  if (!(error instanceof ApiError) || error.status !== 401) return ['This cannot be shown', errorNotice(error)];
  if (!hasEnded()) return ['Please sign in', errorNotice(error)];
  const text = 'Sign in again to go on. Changes that were not saved are kept while this page is open.';
  return ['Your session has ended', h('p', { class: 'notice' }, text)];
}

function waysOut() {
  const links = [h('a', { class: 'button', href: '#' }, 'All collections')];
  if (currentUser() === null) links.unshift(h('a', { class: 'button primary', href: signInHash() }, 'Sign in'));
  return [h('p', { class: 'actions' }, ...links)];
}

/** Address of the sign-in page, which leads back to here. */
function signInHash() {
  const { name } = parseRoute();
  const back = name === 'sign-in' || name === 'register' ? null : location.hash.slice(1) || null;
  return routeHash('sign-in', '', { back });
}

function showAccount() {
  const account = /** @type {HTMLElement} */ (document.getElementById('account'));
  const user = currentUser();
  if (user === null) {
    // The address to come back to is that of the moment of the click.
    const link = h('a', { class: 'button', href: '#sign-in' }, 'Sign in');
    link.addEventListener('click', () => (link.href = signInHash()));
    fill(account, link);
    if (hasEnded()) announce('Your session has ended. Sign in again to go on.');
    return;
  }
  const name = `${user.firstName} ${user.lastName}`.trim() || user.login;
  fill(
    account,
    user.admin &&
      h(
        'a',
        { class: 'user-link', href: routeHash('admin'), title: 'Administration' },
        icon('settings'),
        h('span', {}, 'Administration'),
      ),
    h('a', { class: 'user-link', href: routeHash('user', user._id), title: 'My folders' }, icon('person'), h('span', {}, name)),
    h('button', { class: 'button', type: 'button', onclick: leaveSession }, 'Sign out'),
  );
}

async function leaveSession() {
  // What is on the page goes first: it may still be loading tiles, which would be refused.
  current?.leave.abort();
  fill(main);
  // The page of before must not be built anew for nobody: what is private on it would be refused.
  setAddress('#');
  try {
    await signOut();
    announce('Signed out');
  } catch (error) {
    announce(messageOf(error));
  }
  main.focus({ preventScroll: true });
}

// The fragment of the address is the route, so this link cannot be left to the browser.
document.querySelector('.skip-link')?.addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener('hashchange', () => void show({ focus: true, rebuild: false }));
onSession(showAccount);

/** @param {unknown} error */
function reportOutage(error) {
  fill(main, h('div', { class: 'page page-narrow' }, errorNotice(error)));
}

try {
  await resumeSession();
  onSession(() => void show({ focus: false, rebuild: true }));
  followOtherTabs(reportOutage);
  showAccount();
  await show({ focus: false, rebuild: true });
} catch (error) {
  reportOutage(error);
}
