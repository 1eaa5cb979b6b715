import { errorNotice, fill, h } from '../dom.js';
import { formatCount } from '../format.js';
import { displayOf } from './display.js';
import { groupsOf } from './requests.js';
import type { AnnotationRecord } from './model.js';
import type { Group } from './requests.js';
import type { Display } from './display.js';
import { annotationTexts } from '../texts.js';

/** Most groups that are listed; further ones are found by their name. */
const maxListed = 100;
/** Names of groups that are to be shown stand in addresses of pictures, which must not grow longer than this. */
const maxFilter = 4000;

/** Groups of annotations, by id and version. */
const known: Map<string, Promise<Group[]>> = new Map();
/** Legends that the reader has folded. */
const folded: Set<string> = new Set();

/** What the shapes of an annotation are: its groups with colours and counts, to show and to hide, and its opacity. */
export function legend(
  record: AnnotationRecord,
  { isOpen, onShow, signal }: { isOpen: boolean; onShow: (changes: Partial<Display>) => void; signal: AbortSignal },
) {
  const { _id: id, _version: version } = record;
  const display = displayOf(id);
  const place = h('div.column');
  const element = h('details.legend.small', { ontoggle: toggled }, h('summary', annotationTexts.legend), place);
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

  function build(groups: Group[]) {
    const opacity = h('input', {
      type: 'range',
      min: 0,
      max: 1,
      step: 0.05,
      oninput: () => onShow({ opacity: opacity.valueAsNumber }),
    });
    opacity.valueAsNumber = display.opacity;
    const list = h('ul.legend-groups.column', { 'aria-label': annotationTexts.groups });
    const filter = h('input', {
      type: 'search',
      placeholder: annotationTexts.findGroup,
      'aria-label': annotationTexts.findGroup,
      hidden: groups.length <= 12,
      oninput: () => showGroups(),
    });
    const mayHide = JSON.stringify(record.groups ?? []).length <= maxFilter;
    fill(
      place,
      h('label.bound.small', h('span', annotationTexts.opacity), opacity),
      filter,
      list,
      groups.length > 1 &&
        mayHide &&
        h(
          'div.actions.wrap',
          button(annotationTexts.showAll, new Set()),
          button(annotationTexts.hideAll, new Set(groups.map(({ name }) => name))),
        ),
    );
    showGroups();

    function button(label: string, hidden: Set<string | null>) {
      return h('button.link-button', { onclick: () => (onShow({ hidden }), showGroups()) }, label);
    }

    function showGroups() {
      const wanted = filter.value.trim().toLowerCase();
      const found = groups.filter(({ name }) => annotationTexts.groupName(name).toLowerCase().includes(wanted));
      const more = found.length - maxListed;
      fill(list, ...found.slice(0, maxListed).map(row), more > 0 && h('li.quiet-text', annotationTexts.more(more)));
    }

    function row({ name, color, count }: Group) {
      const box = h('input', {
        type: 'checkbox',
        disabled: !mayHide,
        onchange: () => onShow({ hidden: toggledGroups(name, box.checked) }),
      });
      box.checked = !display.hidden.has(name);
      const swatch = h('span.swatch', { 'aria-hidden': 'true', 'data-color': color });
      swatch.style.backgroundColor = color;
      return h(
        'li.row',
        h('label.row.grow', box, swatch, h('span.clip', annotationTexts.groupName(name))),
        h('span.count.quiet-text.small', formatCount(count)),
      );
    }

    function toggledGroups(name: string | null, isShown: boolean) {
      const hidden = new Set(display.hidden);
      if (isShown) hidden.delete(name);
      else hidden.add(name);
      return hidden;
    }
  }
}
