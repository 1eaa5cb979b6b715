// @ts-check
import { h } from '../dom.js';
import { routeHash } from '../router.js';

/** @typedef {import('./model.js').PathStep} PathStep */

/**
 * The way from the start page to here.
 *
 * @param {PathStep[]} path from the root
 * @param {string} here name of the place itself
 */
export function breadcrumbs(path, here) {
  const steps = [h('a', { href: '#' }, 'Collections'), ...path.map(link), h('span', { 'aria-current': 'page' }, here)];
  return h('nav', { class: 'breadcrumbs', 'aria-label': 'Breadcrumb' }, h('ol', {}, ...steps.map((step) => h('li', {}, step))));
}

/** @param {PathStep} step */
function link({ type, object }) {
  return h('a', { href: routeHash(type, object._id) }, object.name ?? object.login);
}
