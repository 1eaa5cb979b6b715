import { ApiError, apiUrl, fetchBlob } from '../api.js';
import { automaticStyle, isDark } from './dark-picture.js';
import { h, icon, nameText } from '../dom.js';
import { formatBytes } from '../format.js';
import { routeHash } from '../router.js';
import { browseTexts } from '../texts.js';
import { tagsOf } from './item-columns.js';
import type { ListAddress } from './list-order.js';
import { reviewStateText } from './item-state.js';
import { imageState, itemVersion, type Item } from './browse-model.js';

/** Longest side of a thumbnail in the list, in pixels: cards are about 220 pixels wide, and dense screens have twice as many pixels. */
export const thumbnailSize = 440;

/**
 * An item in a list: its picture, its name, and a note; or, without a note, its size, state and tags.
 *
 * @param options `note` is shown in place of the size, `checkbox` selects the item, and `listAddress` describes the list that contains the item
 */
export function itemCard(
  item: Item,
  { note, checkbox, listAddress }: { note?: string | undefined; checkbox?: HTMLElement; listAddress?: ListAddress } = {},
) {
  const state = imageState(item);
  const reason = state === 'no' && item.largeImageRefused;
  const details =
    state === 'soon'
      ? browseTexts.preparingShort
      : [formatBytes(item.size ?? 0), reviewStateText(item), ...tagsOf(item)].filter(Boolean).join(' · ');
  const noteElement = reason ? refusalNote(reason) : h('span.card-note.clip.quiet-text.small', { title: note }, note ?? details);
  const onRefused = (newReason: string) => noteElement.replaceWith(refusalNote(newReason));
  const picture = itemPicture(item, onRefused);
  const name = h('span.card-name.break.strong', { title: item.name }, nameText(item.name));
  const link = h('a.card-link', { href: routeHash('item', item._id, { ...listAddress }) }, picture, name, noteElement);
  return h('li.card.surface.selectable', { 'data-item': item._id }, link, checkbox);
}

/** The thumbnail of an item. @param onRefused called with the reason if the file cannot be shown as an image */
export function itemPicture(item: Item, onRefused: (reason: string) => void = () => undefined) {
  const state = imageState(item);
  return h('div.card-picture', placeholder(item, state === 'no' ? 'no' : 'soon'), state === 'yes' && thumbnail(item, onRefused));
}

function refusalNote(reason: string) {
  return h('span.card-note.amber.small', { title: reason }, browseTexts.notReadable(reason));
}

function thumbnailUrl(item: Item, otherQuery: { style?: string } = {}) {
  const query = { width: thumbnailSize, height: thumbnailSize, composite: true, _: itemVersion(item) };
  return apiUrl(`item/${item._id}/tiles/thumbnail`, { ...query, ...otherQuery });
}

/**
 * The latest request of {@link findRefusal}. Requests are sent one after another, because each request may take long, and thumbnails have few
 * connections.
 */
let latestReasonRequest: Promise<unknown> = Promise.resolve();

/** The reason why an item cannot be shown as an image, or only in part; `undefined` if it can be shown, or if the problem may be temporary. */
export async function findRefusal(item: Item) {
  if (item.largeImageRefused || imageState(item) !== 'yes') return item.largeImageRefused;
  try {
    latestReasonRequest = latestReasonRequest.catch(() => undefined).then(() => fetchBlob(thumbnailUrl(item), null));
    await latestReasonRequest;
  } catch (error) {
    if (error instanceof ApiError && [400, 422].includes(error.status)) return error.message;
  }
}

/** @param onRefused called with the reason if the file cannot be shown as an image */
function thumbnail(item: Item, onRefused: (reason: string) => void) {
  let isBrightened = false;
  const image = h('img', {
    alt: '',
    loading: 'lazy',
    decoding: 'async',
    onload: () => {
      if (isBrightened || !isDark(image)) return image.classList.add('loaded');
      isBrightened = true;
      image.src = thumbnailUrl(item, { style: automaticStyle });
    },
    onerror: () => {
      image.parentElement?.replaceChildren(placeholder(item, 'no'));
      // The browser does not say why it shows no picture, so the picture is requested again.
      void findRefusal(item).then((reason) => reason && onRefused(reason));
    },
  });
  // The address is set after the listeners, because a cached picture may be loaded immediately.
  image.src = thumbnailUrl(item);
  return image;
}

function placeholder(item: Item, state: 'no' | 'soon') {
  const extension = /\.([a-z0-9]{1,8})$/i.exec(item.name)?.[1];
  const extensionLabel = extension && h('span.card-extension.strong', extension.toUpperCase());
  return h('div.card-placeholder.column.quiet-text', icon(state === 'soon' ? 'image' : 'file'), extensionLabel);
}
