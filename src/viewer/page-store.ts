import { createStore, type UseStore } from 'idb-keyval';
import { newId } from './annotations/model.js';
import { serverName } from './api.js';
import { currentUser } from './session.js';
import { tabStorage } from './storage.js';

/*
 * Unsaved shapes and unfinished uploads, which the browser keeps for a user. Each page (tab) stores its own data, and has a lock while it is open.
 * Another page takes over only the data of closed pages. Without TLS, browsers have no locks; then a page takes over the data of open pages too.
 */

/** The name of this page in the keys of the data that it stores. */
export const pageName = newId();

const lockOf = (page: string) => `large-image ${page}`;
const storageKey = 'large-image-page';

/** The name that this tab had before it was reloaded. */
let formerName: string | null = null;

const locks = () => (globalThis.navigator as Navigator | undefined)?.locks;

let locking: Promise<void> | undefined;

/** Takes the lock of this page. Must be called before the page stores anything. */
export function lockPage(): Promise<void> {
  locking ??= new Promise((resolve) => {
    formerName = tabStorage.get(storageKey);
    tabStorage.set(storageKey, pageName);
    const lockHeld = locks()?.request(lockOf(pageName), () => (resolve(), new Promise(() => {})));
    if (lockHeld) lockHeld.catch(() => resolve());
    else resolve();
  });
  return locking;
}

/** Maximum time in milliseconds that a page waits until the page that it replaces in its tab has closed. In a duplicated tab, that page does not close. */
const formerMs = 2000;

/**
 * Calls a function that needs to know which pages are open. No other page does this at the same time.
 *
 * @param use called with a function that tells whether a page is open, and with the former name of this page
 */
export async function withPages<T>(
  use: (isOpen: (page: string) => boolean, formerPage: string | null) => Promise<T>,
): Promise<T> {
  await lockPage();
  const lockManager = locks();
  if (!lockManager) return use((page) => page === pageName, formerName);
  const options = { signal: AbortSignal.timeout(formerMs) };
  if (formerName) await lockManager.request(lockOf(formerName), options, () => undefined).catch(() => undefined);
  return lockManager.request('large-image-taking-over', async () => {
    const open = new Set((await lockManager.query()).held?.map(({ name }) => name));
    return use((page) => open.has(lockOf(page)), formerName);
  });
}

/** The prefix of the keys of the user's data; `null` if the user is unknown, as on pages with the element, which store nothing. */
export function pagePrefix() {
  const user = currentUser();
  return user && `${serverName()} ${user._id} `;
}

/** The key of data that this page stores about something. */
export const pageKey = (owner: string, id: string) => `${owner}${id} ${pageName}`;

/** The name of the page that has stored the data with this key. */
export const pageOf = (key: string) => key.slice(key.lastIndexOf(' ') + 1);

const stores: Map<string, UseStore> = new Map();

/** A database of the browser. @throws if the browser allows none */
export function pageStore(name: string): UseStore {
  const store = stores.get(name) ?? createStore(name, 'unsaved');
  stores.set(name, store);
  return store;
}
