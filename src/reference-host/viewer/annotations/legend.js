// @ts-check
import { errorNotice, fill, h } from '../dom.js';
import { formatCount } from '../format.js';
import { displayOf } from './display.js';
import { groupsOf } from './requests.js';

/**
 * @typedef {import('./model.js').AnnotationRecord} AnnotationRecord
 * @typedef {import('./requests.js').Group} Group
 */

/** Most groups that are listed; further ones are found by their name. */
const maxListed = 100;
/** Names of groups that are to be shown stand in addresses of pictures, which must not grow longer than this. */
const maxFilter = 4000;

/** Groups of annotations, by id and version. @type {Map<string, Promise<Group[]>>} */
const known = new Map();
/** Legends that the reader has folded. @type {Set<string>} */
const folded = new Set();

/**
 * What the shapes of an annotation are: its groups with colours and counts, to show and to hide, and its opacity.
 *
 * @param {AnnotationRecord} record
 * @param {{ isOpen: boolean, onShow: (changes: Partial<import('./display.js').Display>) => void, signal: AbortSignal }} options
 */
export function legend(record, { isOpen, onShow, signal }) {
  const { _id: id, _version: version } = record;
  const display = displayOf(id);
  const place = h('div', { class: 'legend-content' });
  const element = h('details', { class: 'legend', ontoggle: toggled }, h('summary', {}, 'Legend'), place);
  element.open = isOpen && !folded.has(id);
  return element;

  function toggled() {
    if (element.open) folded.delete(id);
    else folded.add(id);
    if (element.open && !place.hasChildNodes()) void load();
  }

  async function load() {
    const key = `${id} ${version}`;
    const asked = known.get(key) ?? groupsOf(record, signal);
    known.set(key, asked);
    try {
      build((await asked).toSorted((a, b) => b.count - a.count));
    } catch (error) {
      known.delete(key);
      if (!signal.aborted) fill(place, errorNotice(error));
    }
  }

  /** @param {Group[]} groups */
  function build(groups) {
    const opacity = h('input', {
      type: 'range',
      min: 0,
      max: 1,
      step: 0.05,
      oninput: () => onShow({ opacity: opacity.valueAsNumber }),
    });
    opacity.valueAsNumber = display.opacity;
    const list = h('ul', { class: 'legend-groups', 'aria-label': 'Groups' });
    const filter = h('input', {
      type: 'search',
      placeholder: 'Find a group',
      'aria-label': 'Find a group',
      hidden: groups.length <= 12,
      oninput: () => showGroups(),
    });
    const mayHide = JSON.stringify(record.groups ?? []).length <= maxFilter;
    fill(
      place,
      h('label', { class: 'bound' }, h('span', {}, 'Opacity'), opacity),
      filter,
      list,
      groups.length > 1 &&
        mayHide &&
        h(
          'div',
          { class: 'actions' },
          button('Show all', new Set()),
          button('Hide all', new Set(groups.map(({ name }) => name))),
        ),
    );
    showGroups();

    /** @param {string} label @param {Set<string | null>} hidden */
    function button(label, hidden) {
      return h('button', { class: 'link-button', type: 'button', onclick: () => (onShow({ hidden }), showGroups()) }, label);
    }

    function showGroups() {
      const wanted = filter.value.trim().toLowerCase();
      const found = groups.filter(({ name }) => (name ?? 'no group').toLowerCase().includes(wanted));
      const more = found.length - maxListed;
      fill(
        list,
        ...found.slice(0, maxListed).map(row),
        more > 0 && h('li', { class: 'quiet-text' }, `and ${formatCount(more)} more`),
      );
    }

    /** @param {Group} group */
    function row({ name, color, count }) {
      const box = h('input', {
        type: 'checkbox',
        disabled: !mayHide,
        onchange: () => onShow({ hidden: toggledGroups(name, box.checked) }),
      });
      box.checked = !display.hidden.has(name);
      const swatch = h('span', { class: 'swatch', 'aria-hidden': 'true', 'data-color': color });
      swatch.style.backgroundColor = color;
      return h(
        'li',
        {},
        h('label', {}, box, swatch, h('span', { class: 'group-name' }, name === null ? 'No group' : name || '(empty name)')),
        h('span', { class: 'count' }, formatCount(count)),
      );
    }

    /** @param {string | null} name @param {boolean} isShown */
    function toggledGroups(name, isShown) {
      const hidden = new Set(display.hidden);
      if (isShown) hidden.delete(name);
      else hidden.add(name);
      return hidden;
    }
  }
}
