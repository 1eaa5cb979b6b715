// @ts-check
import { list, request } from '../api.js';
import { askToCreate } from '../browse/create-dialog.js';
import { pageNumber, paging } from '../browse/paging.js';
import { fill, h, icon } from '../dom.js';
import { goTo, routeHash } from '../router.js';
import { currentUser } from '../session.js';

const pageSize = 50;

/**
 * The start page: every collection that the reader may see.
 *
 * @param {import('../router.js').Route} route
 * @param {import('../app.js').ViewContext} context
 * @returns {Promise<import('../app.js').View>}
 */
export async function homeView(route, { main, signal }) {
  const page = pageNumber(route.query, 'page');
  const query = { limit: pageSize, offset: (page - 1) * pageSize };
  /** @type {{ entries: import('../browse/model.js').Folder[], total: number }} */
  const { entries, total } = await list('collection', { query, signal });
  signal.throwIfAborted();
  const user = currentUser();
  const heading = h(
    'div',
    { class: 'page-heading' },
    h('h1', {}, 'Collections'),
    user?.admin &&
      h('button', { class: 'button primary', type: 'button', onclick: createCollection }, icon('plus'), 'New collection'),
  );
  const content =
    total === 0 && page === 1
      ? empty(user)
      : h('ul', { class: 'places', 'aria-label': 'Collections' }, ...entries.map(collectionLink));
  fill(
    main,
    h(
      'div',
      { class: 'page' },
      heading,
      content,
      paging({ parameter: 'page', page, size: pageSize, total, label: 'Pages of collections' }),
    ),
  );
  return { title: '' };
}

/** @param {import('../browse/model.js').Folder} collection */
function collectionLink({ _id, name, description, public: isPublic }) {
  return h(
    'li',
    {},
    h(
      'a',
      { class: 'place', href: routeHash('collection', _id) },
      icon('collection'),
      h(
        'span',
        { class: 'place-text' },
        h('span', { class: 'place-name' }, name, !isPublic && h('span', { class: 'tag' }, 'Private')),
        description && h('span', { class: 'place-note' }, description),
      ),
    ),
  );
}

/** @param {import('../session.js').User | null} user */
function empty(user) {
  if (user === null) {
    return h(
      'div',
      { class: 'empty' },
      icon('collection'),
      h('h2', {}, 'Nothing public here yet'),
      h('p', {}, 'Sign in to see more. On a new server, the first account that is created becomes the administrator.'),
      h(
        'p',
        { class: 'actions' },
        h('a', { class: 'button primary', href: '#sign-in' }, 'Sign in'),
        h('a', { class: 'button', href: '#register' }, 'Create an account'),
      ),
    );
  }
  return h(
    'div',
    { class: 'empty' },
    icon('collection'),
    h('h2', {}, 'No collections yet'),
    h('p', {}, user.admin ? 'A collection holds folders, and folders hold images.' : 'You can upload to your own folders.'),
    !user.admin &&
      h('p', { class: 'actions' }, h('a', { class: 'button primary', href: routeHash('user', user._id) }, 'My folders')),
  );
}

function createCollection() {
  askToCreate({
    title: 'New collection',
    action: 'Create collection',
    option: { name: 'public', label: 'Everybody may see it, without signing in', checked: false },
    async create({ name, description, option }) {
      const collection = await request('POST', 'collection', {
        query: { name, description: description || null, public: option },
      });
      goTo(routeHash('collection', collection._id));
    },
  });
}
