// @ts-check
import { h, icon } from '../dom.js';
import { formatCount } from '../format.js';
import { parseRoute, routeHash } from '../router.js';

/**
 * Links to the pages before and after; nothing where all entries fit on one.
 *
 * @param {object} list
 * @param {string} list.parameter name in the address that holds the page number, from 1
 * @param {number} list.page
 * @param {number} list.size entries on a page
 * @param {number} list.total
 * @param {string} list.label
 */
export function paging({ parameter, page, size, total, label }) {
  const pages = Math.max(1, Math.ceil(total / size));
  if (pages === 1 && page === 1) return null;
  const first = (page - 1) * size + 1;
  return h(
    'nav',
    { class: 'paging', 'aria-label': label },
    step(page - 1, 'previous', 'Previous page'),
    h('span', {}, `${formatCount(first)}–${formatCount(Math.min(first + size - 1, total))} of ${formatCount(total)}`),
    step(page + 1, 'next', 'Next page'),
  );

  /** @param {number} target @param {'previous' | 'next'} picture @param {string} name */
  function step(target, picture, name) {
    if (target < 1 || target > pages)
      return h('span', { class: 'button icon-button disabled', 'aria-hidden': 'true' }, icon(picture));
    const here = parseRoute();
    const query = { ...Object.fromEntries(here.query), [parameter]: target === 1 ? null : target };
    return h('a', { class: 'button icon-button', href: routeHash(here.name, here.id, query), 'aria-label': name }, icon(picture));
  }
}

/**
 * The page number in an address; 1 for anything that is none.
 *
 * @param {URLSearchParams} query
 * @param {string} parameter
 */
export function pageNumber(query, parameter) {
  const value = Number(query.get(parameter) ?? 1);
  return Number.isSafeInteger(value) && value >= 1 ? value : 1;
}
