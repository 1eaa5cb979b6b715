import { h, icon } from '../dom.js';
import { goTo, parseRoute, routeHash } from '../router.js';
import { browseTexts } from '../texts.js';

/** Links to the previous and next page, and a field for any page; empty if there is only one page. */
export function paging(options: {
  /** name in the address that holds the page number, from 1 */
  parameter: string;
  page: number;
  /** entries on a page */
  size: number;
  total: number;
  label: string;
}) {
  const { parameter, page, size, total, label } = options;
  const pages = Math.max(1, Math.ceil(total / size));
  if (pages === 1 && page === 1) return null;
  const first = (page - 1) * size + 1;
  const number = h('input', { type: 'number', 'aria-label': browseTexts.page, min: 1, max: pages, value: page, onchange: jump });
  return h(
    'nav.paging.row.quiet-text',
    { 'aria-label': label },
    step(page - 1, 'previous', browseTexts.previousPage),
    pages > 2 && number,
    h('span', browseTexts.rangeOf(first, Math.min(first + size - 1, total), total)),
    step(page + 1, 'next', browseTexts.nextPage),
  );

  function step(target: number, picture: 'previous' | 'next', name: string) {
    if (target < 1 || target > pages) return h('span.button.icon-button.disabled', { 'aria-hidden': 'true' }, icon(picture));
    return h('a.button.icon-button', { href: addressOf(target), 'aria-label': name }, icon(picture));
  }

  function addressOf(target: number) {
    const here = parseRoute();
    return routeHash(here.name, here.id, { ...Object.fromEntries(here.query), [parameter]: target === 1 ? null : target });
  }

  function jump() {
    goTo(addressOf(Math.min(Math.max(1, Math.round(number.valueAsNumber || 1)), pages)));
  }
}

/** The page number in an address; 1 for other texts. */
export function pageNumber(query: URLSearchParams, parameter: string) {
  const value = Number(query.get(parameter) ?? 1);
  return Number.isSafeInteger(value) && value >= 1 ? value : 1;
}
