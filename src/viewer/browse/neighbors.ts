import { ApiError, request } from '../api.js';
import { button, fill, h, icon } from '../dom.js';
import { goTo, routeHash } from '../router.js';
import { browseTexts } from '../texts.js';
import { orderParameters, type ListAddress } from './list-order.js';
import { siteStorage } from '../storage.js';

const storageKey = 'keep view';

/**
 * Links to the previous and next image of the folder, in the order and with the filter of the list that the image was opened from. The
 * keys Shift-N and N open them.
 *
 * @param options `viewQuery` returns the parameters of the current view, which the links contain while the user has chosen to keep the view
 */
export function neighborLinks(options: {
  id: string;
  listAddress: ListAddress;
  viewQuery: () => Record<string, string | number | null>;
  signal: AbortSignal;
}) {
  const { id, listAddress, viewQuery, signal } = options;
  const element = h('nav.neighbors.row', { 'aria-label': browseTexts.neighbors, hidden: true });
  addEventListener('keydown', onKeyDown, { signal });
  void show().catch((error: unknown) => {
    // The image is no longer in the list, or is the only image there. The page works without the links.
    if (!signal.aborted && !(error instanceof ApiError)) throw error;
  });
  return element;

  async function show() {
    const query = { find: listAddress.find, ...orderParameters(listAddress.sort) };
    const { previous, next, index, count } = await request('GET', `item/${id}/adjacent_images`, { query, signal });
    if (count < 2 || signal.aborted) return;
    const keepButton = button('', () => toggle(), { icon: 'lock', name: browseTexts.keepView, isPressed: keepsView() });
    fill(
      element,
      index > 0 ? neighborLink(previous, 'previous') : disabledLink('previous'),
      h('span.quiet-text.small.numbers', browseTexts.imageOf(index + 1, count)),
      index < count - 1 ? neighborLink(next, 'next') : disabledLink('next'),
      keepButton,
    );
    element.hidden = false;

    function toggle() {
      siteStorage.set(storageKey, keepsView() ? '' : 'yes');
      keepButton.setAttribute('aria-pressed', String(keepsView()));
    }
  }

  function neighborLink({ _id, name }: { _id: string; name: string }, direction: 'previous' | 'next') {
    const title = direction === 'next' ? browseTexts.nextImage(name) : browseTexts.previousImage(name);
    const address = () => routeHash('item', _id, { ...listAddress, ...(keepsView() && viewQuery()) });
    const anchor = h(
      'a.button.icon-button',
      { href: address(), title, 'aria-label': title, rel: direction === 'next' ? 'next' : 'prev' },
      icon(direction),
    );
    // The view may have changed since the link was made.
    for (const event of ['pointerdown', 'focus', 'click'] as const)
      anchor.addEventListener(event, () => (anchor.href = address()));
    return anchor;
  }

  function disabledLink(direction: 'previous' | 'next') {
    return h('span.button.icon-button.disabled', { 'aria-hidden': 'true' }, icon(direction));
  }

  function onKeyDown(event: KeyboardEvent) {
    // Shift-N opens the previous image. P is not used for that, because P chooses the polygon tool.
    const rel = event.shiftKey ? 'prev' : 'next';
    const isTyping = (event.target as HTMLElement).closest?.('input, textarea, select, dialog');
    if (event.key.toLowerCase() !== 'n' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const anchor = element.querySelector<HTMLAnchorElement>(`a[rel=${rel}]`);
    if (anchor === null) return;
    event.preventDefault();
    anchor.dispatchEvent(new Event('focus'));
    goTo(anchor.hash);
  }
}

function keepsView() {
  return siteStorage.get(storageKey) === 'yes';
}
