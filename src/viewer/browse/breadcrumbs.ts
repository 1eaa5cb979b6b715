import { h, nameText } from '../dom.js';
import { routeHash } from '../router.js';
import { browseTexts } from '../texts.js';
import type { PathStep } from './browse-model.js';

/**
 * Links from the start page to the current page.
 *
 * @param path the steps from the root to the parent of the current page
 * @param currentName name of the current page
 */
export function breadcrumbs(path: PathStep[], currentName: string) {
  const steps = [
    h('a', { href: '#' }, browseTexts.collections),
    ...path.map(stepLink),
    h('span', { 'aria-current': 'page', title: currentName }, nameText(currentName)),
  ];
  return h(
    'nav.breadcrumbs.small.quiet-text',
    { 'aria-label': browseTexts.breadcrumb },
    h('ol.row.wrap', ...steps.map((step) => h('li.break', step))),
  );
}

function stepLink({ type, object }: PathStep) {
  const name = 'name' in object ? object.name : object.login;
  return h('a', { href: routeHash(type, object._id), title: name }, nameText(name));
}
