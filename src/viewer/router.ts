import { toSearch } from './api.js';

/** The view named by the address after `#`, as in `#item/0123?frame=2`. */
export interface Route {
  /** `''` is the start page */
  name: string;
  id: string;
  query: URLSearchParams;
}

/**
 * A view on the page. `update` applies new parameters of its address. `hasChanged` asks the server whether the view would be different
 * now; it is called repeatedly, to show changes by others.
 */
export type View = { title: string; update?: (route: Route) => void; hasChanged?: () => Promise<boolean> };

/**
 * The environment of a view: `main` is the element to fill, `signal` aborts when the user leaves the view, and `refresh` rebuilds
 * the view.
 */
export type ViewContext = { main: HTMLElement; signal: AbortSignal; refresh: () => Promise<void> };

export function parseRoute(hash: string = location.hash): Route {
  const text = hash.replace(/^#\/?/, '');
  const queryStart = text.indexOf('?');
  const path = queryStart < 0 ? text : text.slice(0, queryStart);
  const [name = '', id = ''] = path.split('/');
  return { name, id, query: new URLSearchParams(queryStart < 0 ? '' : text.slice(queryStart + 1)) };
}

/** @param query parameters that are `null` are left out */
export function routeHash(name: string, id: string = '', query: Record<string, string | number | null> = {}) {
  // These characters are allowed here, and are easier to read than their escapes.
  const text = toSearch(query).toString().replaceAll('%2C', ',').replaceAll('%3A', ':').replaceAll('%7E', '~');
  return `#${name}${id === '' ? '' : `/${id}`}${text === '' ? '' : `?${text}`}`;
}

/** Opens an address. If it is the current address, its view is shown again. */
export function goTo(hash: string) {
  if (location.hash === hash) dispatchEvent(new HashChangeEvent('hashchange'));
  else location.hash = hash;
}

/**
 * The address that was last read or written here. If the browser's address differs, the user has just entered it, and its view is about to be
 * shown.
 */
let lastHash = globalThis.location?.hash ?? '';
globalThis.addEventListener?.('hashchange', () => (lastHash = location.hash));

/** Whether the page shows the view of an address; false while an address that the user has just entered is not shown yet. */
export function isShown(hash: string) {
  return hash === lastHash;
}

/** Adds an address to the history without showing its view. */
export function pushRoute(hash: string) {
  history.pushState(null, '', hash);
  lastHash = location.hash;
}

/**
 * Changes the address without adding to the history, for the frame and position of an open image. An address that the user has
 * entered in the meantime is not changed.
 *
 * @returns whether the address was changed
 */
export function replaceRoute(hash: string) {
  if (location.hash !== lastHash) return false;
  if (lastHash !== hash) history.replaceState(history.state, '', hash);
  lastHash = location.hash;
  return true;
}
