// @ts-check

/**
 * Where the reader is: what the part of the address after `#` says, as in `#item/0123?frame=2`.
 *
 * @typedef {object} Route
 * @property {string} name `''` is the start page
 * @property {string} id
 * @property {URLSearchParams} query
 */

/**
 * @param {string} [hash]
 * @returns {Route}
 */
export function parseRoute(hash = location.hash) {
  const text = hash.replace(/^#/, '');
  const mark = text.indexOf('?');
  const path = mark < 0 ? text : text.slice(0, mark);
  const [name = '', id = ''] = path.split('/');
  return { name, id, query: new URLSearchParams(mark < 0 ? '' : text.slice(mark + 1)) };
}

/**
 * @param {string} name
 * @param {string} [id]
 * @param {Record<string, string | number | null>} [query] entries that are `null` are left out
 */
export function routeHash(name, id = '', query = {}) {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) if (value !== null) search.set(key, String(value));
  // Commas are legal here and read better than %2C.
  const text = search.toString().replaceAll('%2C', ',');
  return `#${name}${id === '' ? '' : `/${id}`}${text === '' ? '' : `?${text}`}`;
}

/** @param {string} hash */
export function goTo(hash) {
  if (location.hash === hash) dispatchEvent(new HashChangeEvent('hashchange'));
  else location.hash = hash;
}

/**
 * Takes another address, as a step in the history, without showing what it says.
 *
 * @param {string} hash
 */
export function setAddress(hash) {
  history.pushState(history.state, '', hash);
}

/**
 * Rewrites the address without a step in the history: for the frame and the place that an open image shows.
 *
 * @param {string} hash
 */
export function replaceRoute(hash) {
  if (location.hash !== hash) history.replaceState(history.state, '', hash);
}
