// @ts-check
import { actionButton, outcome } from '../admin/parts.js';
import { apiUrl, request } from '../api.js';
import { breadcrumbs } from '../browse/breadcrumbs.js';
import { askToRemove } from '../browse/create-dialog.js';
import { imageState } from '../browse/model.js';
import { errorNotice, fill, h, icon } from '../dom.js';
import { formatBytes } from '../format.js';
import { associatedSection } from '../image/associated.js';
import { imageFacts, itemFacts, section, technicalSection, valueTree } from '../image/facts.js';
import { openImage } from '../image/image-view.js';
import { goTo, routeHash } from '../router.js';

/**
 * @typedef {import('../browse/model.js').Item} Item
 * @typedef {import('../app.js').ViewContext} ViewContext
 * @typedef {import('../app.js').View} View
 */

/**
 * One item: an image in deep zoom with all that is known of it, or the files of anything else.
 *
 * @param {import('../router.js').Route} route
 * @param {ViewContext} context
 * @returns {Promise<View>}
 */
export async function itemView(route, { main, signal, refresh }) {
  /** @type {Item} */
  const item = await request('GET', `item/${route.id}`, { signal });
  const [path, folder] = await Promise.all([
    request('GET', `item/${route.id}/rootpath`, { signal }),
    request('GET', `folder/${item.folderId}`, { signal }),
  ]);
  signal.throwIfAborted();
  const heading = h(
    'div',
    { class: 'item-heading' },
    breadcrumbs(path, item.name),
    h(
      'div',
      { class: 'actions' },
      h(
        'a',
        { class: 'button', href: apiUrl(`item/${item._id}/download`), download: true, 'aria-label': 'Download' },
        icon('download'),
        h('span', { class: 'wide-only' }, 'Download'),
      ),
      folder._accessLevel >= 1 &&
        h(
          'button',
          { class: 'button', type: 'button', 'aria-label': 'Delete', onclick: () => removeItem(item) },
          icon('trash'),
          h('span', { class: 'wide-only' }, 'Delete'),
        ),
    ),
  );
  const state = imageState(item);
  if (state !== 'yes') {
    const notice = state === 'soon' ? preparing(refresh, signal) : refusal(item, folder._accessLevel >= 1, refresh);
    const files = await fileSection(item, signal);
    signal.throwIfAborted();
    const sections = [section('Item', { open: true }, itemFacts(item)), files, ...ownMetadata(item)];
    fill(
      main,
      h('div', { class: 'page item-page' }, heading, h('h1', {}, item.name), notice, h('div', { class: 'panel' }, ...sections)),
    );
    return { title: item.name };
  }

  const stage = h('section', { class: 'stage', 'aria-label': 'Image' });
  const panel = h('aside', { class: 'side-panel', 'aria-label': 'About this image' });
  fill(main, h('div', { class: 'item-layout' }, h('h1', { class: 'visually-hidden' }, item.name), heading, stage, panel));
  try {
    const metadata = await request('GET', `item/${item._id}/tiles`, { signal });
    signal.throwIfAborted();
    const image = await openImage({ element: stage, item, metadata, query: route.query, signal });
    fill(
      panel,
      ...(image.frameControls ? [section('Frames', { open: true, name: 'frames' }, image.frameControls)] : []),
      section('Annotations', { open: true, name: 'annotations' }, image.annotations),
      section('Image', { open: true, name: 'image' }, imageFacts(metadata)),
      h('div', { class: 'associated-place' }),
      section('Item', { open: true, name: 'item' }, itemFacts(item)),
      ...ownMetadata(item),
      technicalSection(item._id, signal),
    );
    void fillAssociated(panel, item, signal);
    return { title: item.name, update: (next) => image.update(next.query) };
  } catch (error) {
    if (signal.aborted) throw error;
    fill(stage, errorNotice(error));
    fill(panel, section('Item', { open: true, name: 'item' }, itemFacts(item)), await fileSection(item, signal));
    return { title: item.name };
  }
}

/** @param {HTMLElement} panel @param {Item} item @param {AbortSignal} signal */
async function fillAssociated(panel, item, signal) {
  const target = panel.querySelector('.associated-place');
  try {
    const found = await associatedSection(item, signal);
    if (!signal.aborted) target?.replaceWith(...(found ? [found] : []));
  } catch (error) {
    if (!signal.aborted) target?.replaceWith(errorNotice(error));
  }
}

/** @param {Item} item */
function ownMetadata({ meta = {} }) {
  return Object.keys(meta).length === 0 ? [] : [section('Metadata', { open: true, name: 'metadata' }, valueTree(meta))];
}

/** How often an item is asked for again while its image is being prepared, in milliseconds. */
const pollMs = 3000;

/** @param {() => Promise<void>} refresh @param {AbortSignal} signal */
function preparing(refresh, signal) {
  const timer = setTimeout(() => void refresh(), pollMs);
  signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  return h(
    'p',
    { class: 'notice', role: 'status' },
    'This image is being prepared for deep zoom. It opens here when it is ready.',
  );
}

/** Why the file is not shown as an image, and a way on. @param {Item} item @param {boolean} mayWrite @param {() => Promise<void>} refresh */
function refusal(item, mayWrite, refresh) {
  if (!item.largeImageRefused) return null;
  const said = outcome();
  const retry = actionButton({
    label: 'Try again',
    failed: said.bad,
    async run() {
      await request('POST', `item/${item._id}/tiles`);
      await refresh();
    },
  });
  const text = h('p', {}, `This file cannot be shown as an image. ${item.largeImageRefused}`);
  return h('div', { class: 'notice notice-warning', role: 'status' }, text, said.element, mayWrite && retry);
}

/** @param {Item} item @param {AbortSignal} signal */
async function fileSection(item, signal) {
  /** @type {{ _id: string, name: string, size: number, mimeType?: string }[]} */
  const files = await request('GET', `item/${item._id}/files`, { query: { limit: 0 }, signal });
  const rows = files.map((file) =>
    h(
      'li',
      {},
      h('a', { href: apiUrl(`file/${file._id}/download`), download: true }, icon('file'), file.name),
      h('span', { class: 'quiet-text' }, [file.mimeType, formatBytes(file.size)].filter(Boolean).join(' · ')),
    ),
  );
  return section(
    'Files',
    { open: true, name: 'files' },
    rows.length > 0 ? h('ul', { class: 'files' }, ...rows) : h('p', {}, 'No files.'),
  );
}

/** @param {Item} item */
function removeItem(item) {
  askToRemove({
    title: `Delete “${item.name}”?`,
    text: 'The item, its files and all that belongs to it are removed for good.',
    async remove() {
      const { message } = await request('DELETE', `item/${item._id}`);
      goTo(routeHash('folder', item.folderId));
      return message;
    },
  });
}
