import { actions, button, errorNotice, fill, h, linkButton } from '../../dom.js';
import { formatCount } from '../../format.js';
import { coloringControls } from '../coloring/controls.js';
import { displayOf, type Display } from '../display.js';
import { groupFilter, groupsOf, type Group } from '../requests.js';
import { nameOf, type AnnotationRecord } from '../model.js';
import { commonTexts } from '../../texts.js';
import { annotationTexts } from '../../annotation-texts.js';

/** Maximum number of listed groups. Further ones are found by their name. */
const maxListed = 100;

/** Ids of annotations whose legends the user has folded. */
const folded: Set<string> = new Set();

/** The legend of an annotation: its groups with colors and counts, which can be hidden, and its opacity. `fold` is the button that shows and hides it. */
export function legend(
  { _id: id }: AnnotationRecord,
  { isOpen, onShow, signal }: { isOpen: boolean; onShow: (changes: Partial<Display>) => void; signal: AbortSignal },
) {
  const display = displayOf(id);
  let record: AnnotationRecord | null = null;
  let groups: Group[] = [];
  /** The colors of groups, if shapes are colored by them instead of having their own. */
  let groupColors: ReadonlyMap<unknown, string> | null = null;
  /** Version of the annotation whose groups are shown or have been requested. */
  let known = -1;
  const opacity = h('input', {
    type: 'range',
    min: 0,
    max: 1,
    step: 0.05,
    value: display.opacity,
    oninput: () => onShow({ opacity: opacity.valueAsNumber }),
  });
  const name = annotationTexts.findGroup;
  const filter = h('input', { type: 'search', placeholder: name, 'aria-label': name, hidden: true, oninput: showGroups });
  const message = h('div');
  const list = h('ul.legend-groups.column', { 'aria-label': commonTexts.groups });
  const all = actions(
    linkButton(annotationTexts.showAll, () => hide([])),
    linkButton(annotationTexts.hideAll, () => hide(groups.map((group) => group.name))),
  );
  const place = h('div.column', h('label.bound.small', h('span', annotationTexts.opacity), opacity), filter, message, list, all);
  place.hidden = true;
  const coloring = coloringControls({
    record: () => record,
    coloring: () => display.coloring,
    onChange: (next) => onShow({ coloring: next }),
    onGroups(colors) {
      if (colors === null && groupColors === null) return;
      groupColors = colors;
      showGroups();
    },
    signal,
  });
  const element = h('div.legend.small', place, h('div.column', ...coloring.elements));
  const fold = button('', () => open(isFolded()), { picture: 'next', kind: 'fold' });
  open(isOpen && !folded.has(id), { isChosen: false });
  return {
    element,
    /** shows and hides it */
    fold,
    /** Shows another version. Input and open parts stay. */
    update(next: AnnotationRecord) {
      record = next;
      const label = annotationTexts.legendOf(nameOf(next));
      Object.assign(fold, { ariaLabel: label, title: label });
      if (!isFolded()) void load();
      void coloring.refresh();
    },
    /** Shows a coloring that was chosen elsewhere. */
    refresh: () => void coloring.refresh(),
  };

  function isFolded() {
    return fold.ariaExpanded !== 'true';
  }

  function open(isOpening: boolean, { isChosen = true } = {}) {
    element.hidden = !isOpening;
    fold.ariaExpanded = String(isOpening);
    if (isChosen && isOpening) folded.delete(id);
    else if (isChosen) folded.add(id);
    if (isOpening) void load();
  }

  async function load() {
    if (record === null || known === record._version) return;
    const version = record._version;
    known = version;
    try {
      const found = await groupsOf(record, signal);
      if (known !== version) return;
      groups = found.toSorted((a, b) => b.count - a.count);
      filter.hidden = groups.length <= 12 && filter.value === '';
      all.hidden = groups.length < 2;
      fill(message);
      showGroups();
    } catch (error) {
      if (known !== version || signal.aborted) return;
      known = -1;
      fill(message, errorNotice(error));
    }
    place.hidden = false;
  }

  function hide(names: (string | null)[]) {
    onShow({ hidden: new Set(names) });
    fill(message);
    showGroups();
  }

  function showGroups() {
    const wanted = filter.value.trim().toLowerCase();
    const found = groups.filter((group) => annotationTexts.groupName(group.name).toLowerCase().includes(wanted));
    const more = found.length - maxListed;
    fill(list, ...found.slice(0, maxListed).map(row), more > 0 && h('li.quiet-text', annotationTexts.more(more)));
  }

  function row({ name: group, color: own, count }: Group) {
    const color = groupColors?.get(group) ?? own;
    const checked = !display.hidden.has(group);
    const box = h('input', { type: 'checkbox', checked, onchange: () => toggle(group, box) });
    const swatch = h('span.swatch', { 'aria-hidden': 'true', 'data-color': color });
    swatch.style.backgroundColor = color;
    const words = annotationTexts.groupName(group);
    return h(
      'li.row',
      h('label.row.grow', { title: words }, box, swatch, h('span.clip', words)),
      h('span.count.quiet-text.small', formatCount(count)),
    );
  }

  function toggle(group: string | null, box: HTMLInputElement) {
    const hidden = new Set(display.hidden);
    if (box.checked) hidden.delete(group);
    else hidden.add(group);
    const isPossible = record !== null && groupFilter(record, hidden) !== null;
    fill(message, !isPossible && errorNotice(annotationTexts.tooManyHidden));
    if (isPossible) onShow({ hidden });
    else box.checked = !box.checked;
  }
}
