import { h, icon } from '../dom.js';
import type { Element } from './model.js';
import { commonTexts } from '../texts.js';
import { annotationTexts } from '../annotation-texts.js';

/** Colors of new groups in turn. They are distinguishable on stained tissue and by color-blind people. */
const newColors = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#7a3ec8', '#b2182b'];
/** Maximum number of groups that are offered at once. Others are found by their names. */
const maxOffered = 100;
/** Opacity of the fill of shapes. */
const fillOpacity = 0.2;
const lineWidth = 3;

/**
 * Line and fill of a shape of a color.
 *
 * @param color `#rrggbb`
 */
export function styleOf({ type, closed }: Pick<Element, 'type' | 'closed'>, color: string): Partial<Element> {
  if (type === 'polyline' && !closed) return { lineColor: color, lineWidth };
  const [r, g, b] = [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16));
  return { lineColor: color, lineWidth, fillColor: type === 'point' ? color : `rgba(${r}, ${g}, ${b}, ${fillOpacity})` };
}

/** The groups of an annotation with their colors, and the group of new shapes. */
export class Groups {
  /** colors by name; `null` for no group */
  #colors: Map<string | null, string> = new Map([[null, '#ffb000']]);
  chosen: string | null = null;

  get size() {
    return this.#colors.size;
  }

  colorOf(group: string | null) {
    return this.#colors.get(group) ?? this.add(group);
  }

  /** The groups to offer. If there are very many, only those whose names contain the text, and always `kept`. */
  offered(text: string, ...kept: (string | null)[]) {
    const wanted = text.trim().toLowerCase();
    const found = [...this.#colors.keys()].filter((name) => (name ?? '').toLowerCase().includes(wanted));
    return found.length <= maxOffered ? found : [...new Set([...kept, null, ...found.slice(0, maxOffered)])];
  }

  add(group: string | null, color?: string | null) {
    const known = this.#colors.get(group);
    if (known) return known;
    const made = color ?? newColors[(this.#colors.size - 1) % newColors.length] ?? '#000000';
    this.#colors.set(group, made);
    return made;
  }

  paint(group: string | null, color: string) {
    this.#colors.set(group, color);
  }

  /** Adds groups with their colors as the server reports them. @param isFirst whether these replace known ones */
  learn(seen: { name: string | null; color: string }[], isFirst: boolean) {
    for (const { name, color } of seen) if (isFirst || !this.#colors.has(name)) this.#colors.set(name, color);
  }
}

/** The palette, in which the user selects group and color of new shapes. */
export function groupPalette(
  groups: Groups,
  { onChoose, onColor }: { onChoose: () => void; onColor: (group: string | null) => void },
) {
  const list = h('div.group-list');
  const name = h('input', {
    type: 'text',
    'aria-label': annotationTexts.newGroupName,
    placeholder: commonTexts.newGroup,
    maxlength: 200,
    oninput: show,
  });
  const label = annotationTexts.addGroup;
  const submit = h('button.button.icon-button', { type: 'submit', 'aria-label': label, title: label }, icon('plus'));
  const form = h('form.row', { onsubmit: add }, name, submit);
  show();
  return { element: h('fieldset', h('legend', annotationTexts.groupOfNew), list, form), show };

  function show() {
    list.replaceChildren(...groups.offered(groups.size > maxOffered ? name.value : '', groups.chosen).map(row));
  }

  function row(group: string | null) {
    const label = annotationTexts.groupName(group);
    const color = h('input', {
      type: 'color',
      value: groups.colorOf(group),
      'aria-label': commonTexts.colorOf(label),
      onchange: () => {
        groups.paint(group, color.value);
        onColor(group);
      },
    });
    const checked = groups.chosen === group;
    const radio = h('input', { type: 'radio', name: 'annotation-group', checked, onchange: () => choose(group) });
    return h('div.group-row.row.between', h('label.row.grow', radio, h('span.clip', label)), color);
  }

  function choose(group: string | null) {
    groups.chosen = group;
    onChoose();
  }

  function add(event: SubmitEvent) {
    event.preventDefault();
    const group = name.value.trim();
    if (group === '') return;
    groups.add(group);
    name.value = '';
    show();
    choose(group);
    show();
  }
}
