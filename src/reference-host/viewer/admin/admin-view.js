// @ts-check
import { ApiError } from '../api.js';
import { fill, h } from '../dom.js';
import { routeHash } from '../router.js';
import { currentUser } from '../session.js';
import { cachesSection } from './caches.js';
import { configurationSection } from './configuration.js';
import { imagesSection } from './images.js';
import { jobsSection } from './jobs.js';
import { settingsSection } from './settings.js';
import { thumbnailsSection } from './thumbnails.js';

/**
 * Builds the content of a section. `signal` aborts when the reader goes elsewhere.
 *
 * @typedef {(context: { signal: AbortSignal, route: import('../router.js').Route }) => Promise<HTMLElement[]>} Section
 */

/** @type {{ id: string, title: string, build: Section }[]} */
const sections = [
  { id: '', title: 'Caches', build: cachesSection },
  { id: 'thumbnails', title: 'Thumbnails', build: thumbnailsSection },
  { id: 'images', title: 'Large images', build: imagesSection },
  { id: 'jobs', title: 'Jobs', build: jobsSection },
  { id: 'settings', title: 'Settings', build: settingsSection },
  { id: 'configuration', title: 'Configuration', build: configurationSection },
];

/**
 * What administrators do with the server, a section at a time.
 *
 * @param {import('../router.js').Route} route
 * @param {import('../app.js').ViewContext} context
 * @returns {Promise<import('../app.js').View>}
 */
export async function adminView(route, { main, signal }) {
  const user = currentUser();
  if (user === null) throw new ApiError(401, 'Administrators have to sign in first.');
  if (!user.admin) throw new ApiError(403, 'This page is for administrators.');
  const section = sections.find(({ id }) => id === route.id);
  if (section === undefined) throw new Error(`There is no section “${route.id}” in the administration.`);
  const content = await section.build({ signal, route });
  signal.throwIfAborted();
  fill(
    main,
    h(
      'div',
      { class: 'page admin' },
      h('h1', {}, 'Administration'),
      h('nav', { class: 'tabs', 'aria-label': 'Administration' }, ...sections.map((one) => tab(one, one === section))),
      ...content,
    ),
  );
  return { title: `${section.title} – Administration` };
}

/** @param {{ id: string, title: string }} section @param {boolean} isCurrent */
function tab({ id, title }, isCurrent) {
  return h('a', { href: routeHash('admin', id), 'aria-current': isCurrent ? 'page' : null }, title);
}
