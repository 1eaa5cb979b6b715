import { h, icon, nameText } from '../dom.js';
import { routeHash } from '../router.js';
import { commonTexts } from '../texts.js';
import type { Place } from './browse-model.js';

/**
 * A collection or a folder in a list.
 *
 * @param options `note` is shown below the name, and `checkbox` selects the collection or folder
 */
export function placeRow(
  type: 'collection' | 'folder',
  { _id, name, public: isPublic }: Place,
  { note, checkbox }: { note?: string | null | undefined; checkbox?: HTMLElement },
) {
  const tag = isPublic === false && h('span.tag', commonTexts.private);
  const title = h('span.place-name.break.strong', { title: name }, nameText(name), tag);
  const text = h('span.column.grow', title, note && h('span.place-note.quiet-text.small', note));
  return h('li.selectable', h('a.place.surface.row', { href: routeHash(type, _id) }, icon(type), text), checkbox);
}
