// @ts-check
import { list, request } from '../api.js';
import { breadcrumbs } from '../browse/breadcrumbs.js';
import { askToCreate, askToRemove } from '../browse/create-dialog.js';
import { itemCard } from '../browse/item-card.js';
import { imageState } from '../browse/model.js';
import { pageNumber, paging } from '../browse/paging.js';
import { announce, fill, h, icon, messageOf } from '../dom.js';
import { formatCount, plural } from '../format.js';
import { goTo, routeHash } from '../router.js';
import { acceptDrops, fileButton } from '../upload/drop.js';
import { uploadTo } from '../upload/tray.js';

/**
 * @typedef {import('../browse/model.js').Folder} Folder
 * @typedef {import('../browse/model.js').Item} Item
 * @typedef {import('../app.js').ViewContext} ViewContext
 */

const foldersPerPage = 60;
const itemsPerPage = 48;
/** How often a list is asked again while one of its images is being prepared, in milliseconds. */
const pollMs = 3000;

/**
 * What lies in a collection, in a user's place, or in a folder: folders, and in a folder also items.
 *
 * @param {import('../router.js').Route} route
 * @param {ViewContext} context
 * @returns {Promise<import('../app.js').View>}
 */
export async function containerView(route, context) {
  const { main, signal } = context;
  const type = /** @type {'collection' | 'folder' | 'user'} */ (route.name);
  const folderPage = pageNumber(route.query, 'folders');
  const [container, path, folders] = await Promise.all([
    request('GET', `${type}/${route.id}`, { signal }),
    type === 'folder' ? request('GET', `folder/${route.id}/rootpath`, { signal }) : [],
    /** @type {Promise<{ entries: Folder[], total: number }>} */ (
      list('folder', {
        query: { parentType: type, parentId: route.id, limit: foldersPerPage, offset: (folderPage - 1) * foldersPerPage },
        signal,
      })
    ),
  ]);
  signal.throwIfAborted();
  const name = container.name ?? `${container.firstName} ${container.lastName}`;
  const mayWrite = container._accessLevel >= 1;
  const items = h('section', { 'aria-label': 'Items' });
  const isFolder = type === 'folder';
  const showItems = () => fillItems(items, { folder: container, page: pageNumber(route.query, 'items'), mayWrite, signal });
  if (isFolder) await showItems();
  const mayUpload = isFolder && mayWrite;
  /** @param {File[]} files */
  const upload = (files) =>
    uploadTo({ folder: container, files, onStored: () => void showItems().catch(announceFailure(signal)) });
  const pageElement = h(
    'div',
    { class: 'page' },
    breadcrumbs(path, name),
    h(
      'div',
      { class: 'page-heading' },
      h('h1', {}, name, container.public === false && h('span', { class: 'tag' }, 'Private')),
      mayWrite &&
        h('button', { class: 'button', type: 'button', onclick: () => createFolder(type, route.id) }, icon('plus'), 'New folder'),
      mayUpload && fileButton(upload),
    ),
    container.description && h('p', { class: 'description' }, container.description),
    folders.total > 0 && h('ul', { class: 'places', 'aria-label': 'Folders' }, ...folders.entries.map(folderLink)),
    paging({ parameter: 'folders', page: folderPage, size: foldersPerPage, total: folders.total, label: 'Pages of folders' }),
    isFolder && items,
    !isFolder && folders.total === 0 && emptyContainer(mayWrite),
  );
  fill(main, pageElement);
  if (mayUpload) acceptDrops({ name, signal, onFiles: upload });
  return { title: name };
}

/**
 * For what is asked in the background, where the list that stands is better than an error in its place.
 *
 * @param {AbortSignal} signal
 */
function announceFailure(signal) {
  return (/** @type {unknown} */ error) => {
    if (!signal.aborted) announce(messageOf(error));
  };
}

/** @param {boolean} mayWrite */
function emptyContainer(mayWrite) {
  return h(
    'div',
    { class: 'empty' },
    icon('folder'),
    h('h2', {}, 'No folders yet'),
    mayWrite && h('p', {}, 'Make a folder, then drop images into it.'),
  );
}

/** @param {Folder} folder */
function folderLink(folder) {
  return h(
    'li',
    {},
    h(
      'a',
      { class: 'place', href: routeHash('folder', folder._id) },
      icon('folder'),
      h(
        'span',
        { class: 'place-text' },
        h('span', { class: 'place-name' }, folder.name, !folder.public && h('span', { class: 'tag' }, 'Private')),
      ),
    ),
  );
}

/**
 * The latest filling of each section: the answer to an earlier question is dropped.
 *
 * @type {WeakMap<HTMLElement, object>}
 */
const fillings = new WeakMap();

/**
 * @param {HTMLElement} section
 * @param {{ folder: Folder, page: number, mayWrite: boolean, signal: AbortSignal }} options
 */
async function fillItems(section, options) {
  const { folder, page, mayWrite } = options;
  const filling = {};
  fillings.set(section, filling);
  const query = { folderId: folder._id, limit: itemsPerPage, offset: (page - 1) * itemsPerPage };
  /** @type {{ entries: Item[], total: number }} */
  const { entries, total } = await list('item', { query, signal: options.signal });
  options.signal.throwIfAborted();
  if (fillings.get(section) !== filling) return;
  if (total === 0) {
    fill(
      section,
      h(
        'div',
        { class: 'empty' },
        icon('image'),
        h('h2', {}, 'No items in this folder'),
        mayWrite && h('p', {}, 'Drop image files anywhere on this page to upload them.'),
      ),
    );
    return;
  }
  const again = () => fillItems(section, options);
  const cards = entries.map((item) =>
    itemCard(item, {
      onDelete: mayWrite ? () => askToRemove({ ...removalOf(item), remove: () => removeItem(item, again) }) : null,
    }),
  );
  fill(
    section,
    h('h2', { class: 'count' }, `${plural(total, 'item')}${total > itemsPerPage ? `, page ${formatCount(page)}` : ''}`),
    h('ul', { class: 'cards' }, ...cards),
    paging({ parameter: 'items', page, size: itemsPerPage, total, label: 'Pages of items' }),
  );
  if (entries.some((item) => imageState(item) === 'soon')) {
    pollLater(section, options);
  }
}

/**
 * Fills a section again after a while, unless something else has done so before; goes on trying where that fails.
 *
 * @param {HTMLElement} section
 * @param {Parameters<typeof fillItems>[1]} options
 */
function pollLater(section, options) {
  const shown = fillings.get(section);
  const timer = setTimeout(() => {
    if (fillings.get(section) === shown) void fillItems(section, options).catch(() => pollLater(section, options));
  }, pollMs);
  options.signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  if (options.signal.aborted) clearTimeout(timer);
}

/** @param {Item} item */
function removalOf(item) {
  return { title: `Delete “${item.name}”?`, text: 'The item, its files and all that belongs to it are removed for good.' };
}

/** @param {Item} item @param {() => Promise<void>} then */
async function removeItem(item, then) {
  const { message } = await request('DELETE', `item/${item._id}`);
  await then();
  return message;
}

/** @param {string} parentType @param {string} parentId */
function createFolder(parentType, parentId) {
  askToCreate({
    title: 'New folder',
    action: 'Create folder',
    async create({ name, description }) {
      const folder = await request('POST', 'folder', { query: { parentType, parentId, name, description: description || null } });
      goTo(routeHash('folder', folder._id));
    },
  });
}
