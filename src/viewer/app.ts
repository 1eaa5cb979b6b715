import { adminView } from './admin/admin-view.js';
import { resumeEdits, countUnsavedChanges } from './annotations/edits.js';
import { ApiError, isOpenedByLink, isGoneOrForbidden, maySucceedLater, useServer, pollUntilTrue } from './api.js';
import { annotationTexts } from './annotation-texts.js';
import { commentTexts } from './comment-texts.js';
import { followUnread, onUnreadCount } from './comments/unread.js';
import { announce, button, errorNotice, fill, h, icon, linkButton, messageOf, showMessage, type IconName } from './dom.js';
import { offerHelp } from './help.js';
import { useChosenLanguage } from './languages/choice.js';
import { goTo, parseRoute, replaceRoute, routeHash, pushRoute, type Route, type View, type ViewContext } from './router.js';
import { pauseScrollRecording, restoreScroll } from './scroll.js';
import {
  dismissSessionEnd,
  currentUser,
  signInByLink,
  followOtherTabs,
  hasSessionEnded,
  nameOf,
  onUserChange,
  requestPublicSettings,
  resumeSession,
  signOut,
} from './session.js';
import { offerUnfinished } from './upload/upload-list.js';
import { accountView } from './views/account.js';
import { containerView } from './views/container.js';
import { homeView } from './views/home.js';
import { inboxView } from './views/inbox.js';
import { itemView } from './views/item.js';
import { linkedView } from './views/linked.js';
import { searchView } from './views/search.js';
import { sharedView } from './views/shared.js';
import { trashView } from './views/trash.js';
import { accountTexts, commonTexts } from './texts.js';

const views: Record<string, (route: Route, context: ViewContext) => Promise<View>> = {
  '': homeView,
  collection: containerView,
  folder: containerView,
  user: containerView,
  item: itemView,
  view: linkedView,
  inbox: inboxView,
  shared: sharedView,
  'sign-in': accountView,
  register: accountView,
  search: searchView,
  trash: trashView,
  admin: adminView,
};

/** The token of a link that opens one image, if the address contains one. */
const linkToken = linkTokenIn(parseRoute());

useServer({
  apiRoot: new URL(document.documentElement.dataset.apiRoot ?? 'api/v1', document.baseURI).pathname,
  ...(linkToken !== null && { token: `view-link.${linkToken}`, isTokenFromLink: true }),
});

const main = document.getElementById('main') as HTMLElement;
const sessionNotice = h('div.session-notice.row.wrap', { hidden: true });
main.before(sessionNotice);
const productName = document.title;

/** The view that is shown or being built. `controller` aborts when the user leaves the view. */
let shownPage: { name: string; id: string; view: View | null; controller: AbortController } | null = null;

function linkTokenIn({ name, id }: Route) {
  return name === 'view' ? id : null;
}

/** Whether the user has opened a dialog, or is choosing or typing something. */
function isUserBusy() {
  return (
    document.querySelector('dialog[open], select:focus, textarea:focus, input:not([type=checkbox], [type=search]):focus') !== null
  );
}

/** Waits until others have changed the view or the access to the view, then rebuilds the view, but not while the page is hidden or the user is busy. */
async function followChanges(hasChanged: () => Promise<boolean>, signal: AbortSignal) {
  await pollUntilTrue(async () => !isUserBusy() && (await hasChanged()) && !isUserBusy(), signal);
  if (!signal.aborted) await showRoute({ focus: false, rebuild: true });
}

/** Whether a request that succeeded before fails because access was withdrawn or the document was removed. */
function isAccessLost(error: unknown) {
  return isGoneOrForbidden(error) || (error instanceof ApiError && error.status === 401);
}

/** A key by which a control is found again after its view was rebuilt. */
function controlKey(control: Element) {
  return `${control.tagName} ${control.getAttribute('href') ?? control.ariaLabel ?? control.textContent}`;
}

/**
 * Shows the view for the address.
 *
 * @param options `focus`: moves the focus to the view and restores its scroll position; `rebuild`: rebuilds the view, even if the current one
 *   could apply the new address
 */
async function showRoute({ focus, rebuild }: { focus: boolean; rebuild: boolean }) {
  const route = parseRoute();
  const update = shownPage?.name === route.name && shownPage.id === route.id && shownPage.view?.update;
  if (!rebuild && update) return update(route);
  shownPage?.controller.abort();
  if (focus) pauseScrollRecording();
  const controller = new AbortController();
  const openedPage = { name: route.name, id: route.id, view: null as View | null, controller };
  shownPage = openedPage;
  main.setAttribute('aria-busy', 'true');
  const focusedKey = main.contains(document.activeElement) ? controlKey(document.activeElement as Element) : null;
  try {
    const buildView = views[route.name];
    if (!buildView) throw new Error(accountTexts.noPage(route.name));
    const context = { main, signal: controller.signal, refresh: () => showRoute({ focus: false, rebuild: true }) };
    const view = (openedPage.view = await buildView(route, context));
    if (controller.signal.aborted) return;
    const showTitle = () => {
      if (!controller.signal.aborted) document.title = view.title === '' ? productName : `${view.title} – ${productName}`;
    };
    showTitle();
    if (focus) {
      main.focus({ preventScroll: true });
      restoreScroll();
      announce(document.title);
    } else if (focusedKey && document.activeElement === document.body) {
      const control = [...main.querySelectorAll<HTMLElement>('a, button, input, select, summary')].find(
        (candidate) => controlKey(candidate) === focusedKey,
      );
      control?.focus({ preventScroll: true });
    }
    const { hasChanged } = view;
    if (hasChanged) void followChanges(() => hasChanged().finally(showTitle).catch(isAccessLost), controller.signal);
  } catch (error) {
    if (controller.signal.aborted) return;
    const [title, notice] = await explainError(error);
    if (controller.signal.aborted) return;
    document.title = `${title} – ${productName}`;
    const page = h('div.page.page-narrow.column', h('h1', title), notice, ...exitLinks(error));
    // Showing the same page again would take the focus from the user.
    if (main.innerHTML !== page.outerHTML) fill(main, page);
    if (maySucceedLater(error)) void followChanges(async () => true, controller.signal);
  } finally {
    if (shownPage === openedPage) main.removeAttribute('aria-busy');
  }
}

async function explainError(error: unknown): Promise<[title: string, notice: HTMLElement]> {
  if (!(error instanceof ApiError)) return [accountTexts.cannotBeShown, errorNotice(error)];
  if (error.status === 403) return [accountTexts.noAccess, await denialNotice(error)];
  if (error.status !== 401) return [accountTexts.cannotBeShown, errorNotice(error)];
  if (!hasSessionEnded()) return [accountTexts.pleaseSignIn, errorNotice(error)];
  return [accountTexts.sessionEnded, h('p.notice.surface.session-over', accountTexts.sessionEndedMore(countUnsavedChanges()))];
}

/** A notice that says whom to ask for access. */
async function denialNotice(error: ApiError) {
  const { 'core.contact_email_address': address } = await requestPublicSettings();
  const emailLink = address && [' ', accountTexts.askByEmail, ' ', h('a', { href: `mailto:${address}` }, address)];
  const signedInAs = currentUser() && h('p', accountTexts.signedInAs(nameOf(currentUser())));
  const advice = h('p', accountTexts.askForAccess, ...(emailLink || []));
  return h('div.notice.stack.column.surface', h('p', messageOf(error)), advice, signedInAs);
}

function exitLinks(error: unknown) {
  const links: HTMLElement[] = isOpenedByLink() ? [] : [h('a.button', { href: '#' }, accountTexts.allCollections)];
  if (error instanceof ApiError && (error.status === 0 || error.status >= 500))
    links.unshift(button(commonTexts.tryAgain, () => void showRoute({ focus: false, rebuild: true })));
  if (currentUser() === null && !isOpenedByLink())
    links.unshift(h('a.button.primary', { href: signInHash() }, accountTexts.signIn));
  return [h('p.actions.wrap', ...links)];
}

/** Address of the sign-in page. After signing in, the user returns to the current address. */
function signInHash() {
  const { name } = parseRoute();
  const back = name === 'sign-in' || name === 'register' ? null : location.hash.slice(1) || null;
  return routeHash('sign-in', '', { back });
}

function headerLink(href: string, iconName: IconName, title: string, label: string = title) {
  return h('a.user-link.row', { href, title }, icon(iconName), h('span.clip', label));
}

/** Says that the session has ended, until the user signs in again or continues without signing in. */
function showSessionNotice() {
  sessionNotice.hidden = !hasSessionEnded();
  if (sessionNotice.hidden) return fill(sessionNotice);
  const link = h('a.button', { href: '#sign-in' }, accountTexts.signIn);
  link.addEventListener('click', () => (link.href = signInHash()));
  const dismiss = () => (dismissSessionEnd(), showSessionNotice());
  const close = button('', dismiss, { icon: 'close', name: accountTexts.continueSignedOut });
  const text = `${accountTexts.sessionEndedSentence} ${accountTexts.sessionEndedMore(countUnsavedChanges())}`;
  fill(sessionNotice, h('p.grow', { role: 'alert' }, text), link, close);
}

/** The link to the inbox, with the number of unread comments. */
function inboxLink() {
  const countElement = h('span.tag.unread-count', { 'aria-hidden': 'true' });
  const spokenText = h('span.visually-hidden');
  const link = headerLink(routeHash('inbox'), 'inbox', commentTexts.inbox);
  link.append(countElement, spokenText);
  onUnreadCount((unread) => {
    countElement.hidden = unread === 0;
    countElement.textContent = unread > 99 ? '99+' : String(unread);
    spokenText.textContent = unread === 0 ? '' : commentTexts.unreadOf(unread);
  });
  return link;
}

function showAccount() {
  const account = document.getElementById('account') as HTMLElement;
  const user = currentUser();
  const search = headerLink(routeHash('search'), 'search', commonTexts.search);
  if (user === null) {
    // The address to return to is only known when the user clicks.
    const link = h('a.button', { href: '#sign-in' }, accountTexts.signIn);
    link.addEventListener('click', () => (link.href = signInHash()));
    fill(account, search, link);
    return;
  }
  fill(
    account,
    search,
    inboxLink(),
    user.admin && headerLink(routeHash('admin'), 'settings', accountTexts.administration),
    headerLink(routeHash('user', user._id), 'person', accountTexts.myFolders, nameOf(user)),
    button(accountTexts.signOut, () => void leaveSession()),
  );
}

async function leaveSession() {
  // The current view is ended first, because it may still be requesting tiles, which would be refused.
  shownPage?.controller.abort();
  fill(main);
  // The previous view must not be rebuilt without a user, because its private contents would be refused.
  pushRoute('#');
  try {
    await signOut();
    showMessage(accountTexts.signedOut);
  } catch (error) {
    showMessage(messageOf(error));
  }
  main.focus({ preventScroll: true });
}

// The browser cannot follow this link itself, because this page uses the fragment of its address as the route.
const skipLink = document.querySelector('.skip-link') as HTMLElement;
skipLink.addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener('hashchange', () => {
  // A page uses either a session or the token of a link. To change from one to the other, the page is loaded again.
  if (linkTokenIn(parseRoute()) !== linkToken) location.reload();
  else void showRoute({ focus: true, rebuild: false });
});
offerHelp(document);
addEventListener('keydown', (event) => {
  if (event.key !== '/' || isOpenedByLink() || (event.target as HTMLElement).closest?.('input, textarea, select, dialog')) return;
  event.preventDefault();
  goTo(routeHash('search'));
});
// A file that is dropped outside its target must not replace the page.
for (const type of ['dragover', 'drop'] as const)
  addEventListener(type, (event) => event.dataTransfer?.types.includes('Files') && event.preventDefault());
onUserChange(() => (showAccount(), showSessionNotice()));

const reportOutage = (error: unknown) => fill(main, h('div.page.page-narrow.column', errorNotice(error)));

/** Takes over unsaved changes and unfinished uploads of earlier visits, and tells the user. */
async function resumeUnsavedWork() {
  void offerUnfinished();
  const { itemId, count, countElsewhere } = await resumeEdits();
  const link = linkButton(annotationTexts.resumedShow, () => goTo(routeHash('item', itemId ?? '')));
  if (itemId !== null) showMessage(annotationTexts.resumed(count), parseRoute().id === itemId ? undefined : link);
  else if (countElsewhere > 0) showMessage(annotationTexts.elsewhere(countElsewhere));
}

/** Signs in with the link in the address, and removes the link from the address and the history. */
async function useSignInLink() {
  const { name, id } = parseRoute();
  if (name !== 'enter') return;
  replaceRoute('#');
  await signInByLink(id).catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.status === 0) throw error;
    if (currentUser() === null) replaceRoute('#sign-in');
    showMessage(messageOf(error));
  });
}

async function start() {
  await useChosenLanguage();
  skipLink.textContent = accountTexts.skipToContent;
  document.querySelector('.brand')?.setAttribute('aria-label', accountTexts.brand(productName));
  if (isOpenedByLink()) {
    document.querySelector('.app-header')?.remove();
    return showRoute({ focus: false, rebuild: true });
  }
  await resumeSession();
  await useSignInLink();
  onUserChange(() => void showRoute({ focus: false, rebuild: true }).then(resumeUnsavedWork));
  followOtherTabs(reportOutage);
  followUnread(() => currentUser() !== null);
  showAccount();
  await showRoute({ focus: false, rebuild: true });
  restoreScroll();
  return resumeUnsavedWork();
}

try {
  await start();
} catch (error) {
  reportOutage(error);
}
