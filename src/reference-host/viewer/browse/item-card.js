// @ts-check
import { apiUrl } from '../api.js';
import { h, icon } from '../dom.js';
import { formatBytes } from '../format.js';
import { routeHash } from '../router.js';
import { imageState, itemVersion } from './model.js';

/** @typedef {import('./model.js').Item} Item */

/** Longest side of a thumbnail in the list, in pixels: cards are about 220 wide, on screens of twice the density. */
const thumbnailSize = 440;

/**
 * One item in a list: its picture, its name, and what can be done with it.
 *
 * @param {Item} item
 * @param {{ onDelete: (() => void) | null }} options `onDelete` is `null` where the reader may not delete
 */
export function itemCard(item, { onDelete }) {
  const state = imageState(item);
  const remove =
    onDelete &&
    h(
      'button',
      {
        class: 'button icon-button quiet',
        type: 'button',
        'aria-label': `Delete ${item.name}`,
        title: 'Delete',
        onclick: onDelete,
      },
      icon('trash'),
    );
  return h(
    'li',
    { class: 'card', 'data-item': item._id },
    h(
      'a',
      { class: 'card-link', href: routeHash('item', item._id) },
      h('div', { class: 'card-picture' }, state === 'yes' ? thumbnail(item) : placeholder(item, state)),
      h('span', { class: 'card-name', title: item.name }, item.name),
    ),
    h(
      'div',
      { class: 'card-footer' },
      item.largeImageRefused && state === 'no'
        ? h('span', { class: 'card-size amber', title: item.largeImageRefused }, 'Not readable')
        : h('span', { class: 'card-size' }, state === 'soon' ? 'Preparing…' : formatBytes(item.size)),
      h(
        'a',
        {
          class: 'button icon-button quiet',
          href: apiUrl(`item/${item._id}/download`),
          download: true,
          title: 'Download',
          'aria-label': `Download ${item.name}`,
        },
        icon('download'),
      ),
      remove,
    ),
  );
}

/** @param {Item} item */
function thumbnail(item) {
  const size = { width: thumbnailSize, height: thumbnailSize };
  const image = h('img', {
    alt: '',
    loading: 'lazy',
    decoding: 'async',
    onload: () => image.classList.add('loaded'),
    onerror: () => image.replaceWith(placeholder(item, 'no')),
  });
  // Listeners first: a picture in the cache may be there at once.
  image.src = apiUrl(`item/${item._id}/tiles/thumbnail`, { ...size, _: itemVersion(item) });
  return image;
}

/** @param {Item} item @param {'no' | 'soon'} state */
function placeholder(item, state) {
  const extension = /\.([a-z0-9]{1,8})$/i.exec(item.name)?.[1];
  return h(
    'div',
    { class: 'card-placeholder' },
    icon(state === 'soon' ? 'image' : 'file'),
    extension && h('span', { class: 'card-extension' }, extension.toUpperCase()),
  );
}
