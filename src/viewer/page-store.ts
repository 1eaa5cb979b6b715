import { createStore, type UseStore } from 'idb-keyval';
import { newId } from './annotations/model.js';
import { serverName } from './api.js';
import { currentUser } from './session.js';
import { tabStorage } from './storage.js';

/*
 * Unsaved shapes and unfinished uploads, which the browser keeps for a user. Each page (tab) keeps its own and holds a lock while it is open.
 * Another page takes over only the data of closed pages. Without TLS, browsers have no locks, and pages then take over copies.
 */

/** The name of this page in the keys of what it keeps. */
export const pageName = newId();

const lockOf = (page: string) => `large-image ${page}`;
const storageKey = 'large-image-page';

/** The name that this tab had before it was reloaded. */
let formerName: string | null = null;

const locks = () => (globalThis.navigator as Navigator | undefined)?.locks;

let locking: Promise<void> | undefined;

/** Takes the lock of this page. It must have it before it keeps anything. */
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

/** How long a page waits for the one that it replaces in its tab to end. A copy of a tab has the name of one that does not end. */
const formerMs = 2000;

/**
 * Calls a function with the names of the open pages. No other page does so at the same time.
 *
 * @param take gets whether a page is open, and the former name of this page
 */
export async function withPages<T>(take: (isOpen: (page: string) => boolean, former: string | null) => Promise<T>): Promise<T> {
  await lockPage();
  const lockManager = locks();
  if (!lockManager) return take((page) => page === pageName, formerName);
  const ends = { signal: AbortSignal.timeout(formerMs) };
  if (formerName) await lockManager.request(lockOf(formerName), ends, () => undefined).catch(() => undefined);
  return lockManager.request('large-image-taking-over', async () => {
    const open = new Set((await lockManager.query()).held?.map(({ name }) => name));
    return take((page) => open.has(lockOf(page)), formerName);
  });
}

/** The prefix of what is kept for the user; `null` if the user is unknown, as on pages with the element, where nothing is kept. */
export function pagePrefix() {
  const user = currentUser();
  return user && `${serverName()} ${user._id} `;
}

/** The key of what this page keeps about something. */
export const pageKey = (owner: string, id: string) => `${owner}${id} ${pageName}`;

/** The page that keeps what has this key. */
export const pageOf = (key: string) => key.slice(key.lastIndexOf(' ') + 1);

const stores: Map<string, UseStore> = new Map();

/** A database of the browser. @throws if the browser allows none */
export function pageStore(name: string): UseStore {
  const store = stores.get(name) ?? createStore(name, 'unsaved');
  stores.set(name, store);
  return store;
}
