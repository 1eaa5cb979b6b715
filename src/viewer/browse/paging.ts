import { h, icon } from '../dom.js';
import { goTo, parseRoute, routeHash } from '../router.js';
import { browseTexts } from '../texts.js';

/** Reads from the address which page of a list is shown. @returns the page number, the parameters of the request for the page's entries, and a function that creates links to other pages */
export function readPage(
  address: URLSearchParams,
  options: {
    /** name of the address parameter that contains the page number, counted from 1 */
    parameter?: string;
    /** number of entries on a page */
    size: number;
    listName: string;
  },
) {
  const { parameter = 'page', size, listName } = options;
  const requestedPage = Number(address.get(parameter) ?? 1);
  const pageNumber = Number.isSafeInteger(requestedPage) && requestedPage >= 1 ? requestedPage : 1;
  const offset = (pageNumber - 1) * size;
  return { pageNumber, query: { limit: size, offset }, createLinks };

  /**
   * Links to the previous and next page, and a field for any page; `null` if there is only one page. An address beyond the last page is
   * replaced by the address of the last page.
   */
  function createLinks(total: number) {
    const pageCount = Math.max(1, Math.ceil(total / size));
    if (pageNumber > pageCount) location.replace(addressOf(pageCount));
    if (pageCount === 1) return null;
    const attributes = { type: 'number', 'aria-label': browseTexts.page, min: 1, max: pageCount, value: pageNumber };
    const goToTypedPage = () => goTo(addressOf(Math.min(Math.max(1, Math.round(pageInput.valueAsNumber || 1)), pageCount)));
    const pageInput = h('input', { ...attributes, onchange: goToTypedPage });
    const stepLink = (target: number, iconName: 'previous' | 'next', name: string) =>
      target < 1 || target > pageCount
        ? h('span.button.icon-button.disabled', { 'aria-hidden': 'true' }, icon(iconName))
        : h('a.button.icon-button', { href: addressOf(target), 'aria-label': name }, icon(iconName));
    return h(
      'nav.paging.row.quiet-text',
      { 'aria-label': browseTexts.pagesOf(listName) },
      stepLink(pageNumber - 1, 'previous', browseTexts.previousPage),
      pageCount > 2 && pageInput,
      h('span', browseTexts.rangeOf(offset + 1, Math.min(offset + size, total), total)),
      stepLink(pageNumber + 1, 'next', browseTexts.nextPage),
    );
  }

  function addressOf(target: number) {
    const route = parseRoute();
    return routeHash(route.name, route.id, { ...Object.fromEntries(route.query), [parameter]: target === 1 ? null : target });
  }
}
