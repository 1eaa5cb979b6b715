// @ts-check
import { apiUrl, request } from '../api.js';
import { itemVersion } from '../browse/model.js';
import { fill, h, icon } from '../dom.js';
import { section } from './facts.js';

/** @typedef {import('../browse/model.js').Item} Item */

/** Boxes that the pictures are fitted into, in pixels. */
const small = { width: 320, height: 240 };
const large = { width: 1600, height: 1200 };

/**
 * Pictures that lie in the file beside the image: label, macro, thumbnail. `null` where there are none.
 *
 * @param {Item} item
 * @param {AbortSignal} signal
 */
export async function associatedSection(item, signal) {
  /** @type {string[]} */
  const names = await request('GET', `item/${item._id}/tiles/images`, { signal });
  if (names.length === 0) return null;
  const list = h('ul', { class: 'associated' }, ...names.map((name) => h('li', {}, figure(item, name))));
  return section('Associated images', { open: true, name: 'associated' }, list);
}

/** @param {Item} item @param {string} name @param {{ width: number, height: number }} box */
function pictureUrl(item, name, box) {
  return apiUrl(`item/${item._id}/tiles/images/${encodeURIComponent(name)}`, { ...box, _: itemVersion(item) });
}

/** @param {Item} item @param {string} name */
function figure(item, name) {
  const failed = h('span', { class: 'quiet-text' }, 'This picture cannot be shown.');
  const image = h('img', { alt: '', loading: 'lazy', onerror: () => image.replaceWith(failed) });
  image.src = pictureUrl(item, name, small);
  return h(
    'button',
    { class: 'associated-picture', type: 'button', 'aria-label': `Enlarge ${name}`, onclick: () => enlarge(item, name) },
    image,
    h('span', { class: 'associated-name' }, name),
  );
}

/** @param {Item} item @param {string} name */
function enlarge(item, name) {
  const close = h('button', { class: 'button icon-button', type: 'button', 'aria-label': 'Close' }, icon('close'));
  const dialog = h('dialog', {
    class: 'dialog picture-dialog',
    'aria-labelledby': 'picture-title',
    onclose: () => dialog.remove(),
  });
  close.addEventListener('click', () => dialog.close());
  // A click beside the picture closes it, as people expect of such pictures.
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close());
  fill(
    dialog,
    h('div', { class: 'dialog-heading' }, h('h2', { id: 'picture-title' }, name), close),
    h('img', { src: pictureUrl(item, name, large), alt: `${name} of ${item.name}` }),
  );
  document.body.append(dialog);
  dialog.showModal();
}
