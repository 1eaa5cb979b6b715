import { createStore, type UseStore } from 'idb-keyval';
import { newId } from './annotations/annotation-model.js';
import { apiAddress } from './api.js';
import { currentUser } from './session.js';
import { tabStorage } from './storage.js';

/*
 * Unsaved shapes and unfinished uploads, which the browser keeps for a user. Each page (tab) stores its own data, and has a lock while it is open.
 * Another page takes over only the data of closed pages. Without TLS, browsers have no locks; then a page takes over the data of open pages too.
 */

/** The name of this page in the keys of the data that it stores. */
export const pageName = newId();

const lockName = (page: string) => `large-image ${page}`;
const storageKey = 'large-image-page';

/** The name that this tab had before it was reloaded. */
let formerPageName: string | null = null;

const locks = () => (globalThis.navigator as Navigator | undefined)?.locks;

let lockPromise: Promise<void> | undefined;

/** Takes the lock of this page. Must be called before the page stores anything. */
export function lockPage(): Promise<void> {
  lockPromise ??= new Promise((resolve) => {
    formerPageName = tabStorage.get(storageKey);
    tabStorage.set(storageKey, pageName);
    const lockRequest = locks()?.request(lockName(pageName), () => (resolve(), new Promise(() => {})));
    if (lockRequest) lockRequest.catch(() => resolve());
    else resolve();
  });
  return lockPromise;
}

/** How long a page waits for the former page of its tab to close, in milliseconds. If the tab was duplicated, the former page stays open. */
const formerPageMs = 2000;

/**
 * Calls a function with information about open pages. If several pages do this, their functions run one after another.
 *
 * @param callback receives two arguments: `isOpen` tells whether a page is open; `formerPage` is the name that this tab's page had before it was
 *   reloaded, or `null`
 */
export async function callWithOpenPages<T>(
  callback: (isOpen: (page: string) => boolean, formerPage: string | null) => Promise<T>,
): Promise<T> {
  await lockPage();
  const lockManager = locks();
  if (!lockManager) return callback((page) => page === pageName, formerPageName);
  const options = { signal: AbortSignal.timeout(formerPageMs) };
  if (formerPageName) await lockManager.request(lockName(formerPageName), options, () => undefined).catch(() => undefined);
  return lockManager.request('large-image-taking-over', async () => {
    const openLockNames = new Set((await lockManager.query()).held?.map(({ name }) => name));
    return callback((page) => openLockNames.has(lockName(page)), formerPageName);
  });
}

/** The prefix of the keys of the user's data; `null` if the user is unknown. Pages with the custom element know no user, and so store nothing. */
export function userKeyPrefix() {
  const user = currentUser();
  return user && `${apiAddress()} ${user._id} `;
}

/** The key under which this page stores data about the document or file with this id. */
export const pageKey = (prefix: string, id: string) => `${prefix}${id} ${pageName}`;

/** The name of the page that has stored the data with this key. */
export const pageNameOf = (key: string) => key.slice(key.lastIndexOf(' ') + 1);

const stores: Map<string, UseStore> = new Map();

/** Opens a database of the browser. @throws if the browser allows none */
export function pageStore(name: string): UseStore {
  const store = stores.get(name) ?? createStore(name, 'unsaved');
  stores.set(name, store);
  return store;
}
