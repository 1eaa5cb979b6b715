// @ts-check
import { h, icon } from '../dom.js';

/** @typedef {import('./model.js').Element} Element */

/** Colours of new groups, one after the other; they can be told apart on stained tissue and by the colour-blind. */
const newColors = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#7a3ec8', '#b2182b'];
/** Share of the ground that shows through a filled shape. */
const fillOpacity = 0.2;
const lineWidth = 3;

/**
 * How a shape of a colour looks.
 *
 * @param {Pick<Element, 'type' | 'closed'>} element
 * @param {string} color `#rrggbb`
 * @returns {Partial<Element>}
 */
export function styleOf({ type, closed }, color) {
  if (type === 'polyline' && !closed) return { lineColor: color, lineWidth };
  const [r, g, b] = [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16));
  return { lineColor: color, lineWidth, fillColor: type === 'point' ? color : `rgba(${r}, ${g}, ${b}, ${fillOpacity})` };
}

/** The groups of an annotation with their colours, one of which is that of new shapes. */
export class Groups {
  /** @type {Map<string | null, string>} colours by name; `null`: no group */
  #colors = new Map([[null, '#ffb000']]);
  /** @type {string | null} */
  chosen = null;

  /** @param {string | null} group */
  colorOf(group) {
    return this.#colors.get(group) ?? this.add(group);
  }

  get names() {
    return [...this.#colors.keys()];
  }

  /** @param {string | null} group @param {string | null} [color] */
  add(group, color) {
    const known = this.#colors.get(group);
    if (known) return known;
    const made = color ?? newColors[(this.#colors.size - 1) % newColors.length] ?? '#000000';
    this.#colors.set(group, made);
    return made;
  }

  /** @param {string | null} group @param {string} color */
  paint(group, color) {
    this.#colors.set(group, color);
  }

  /** Takes the colours that groups are seen in. @param {{ name: string | null, color: string }[]} seen */
  learn(seen) {
    for (const { name, color } of seen) this.#colors.set(name, color);
  }
}

/**
 * The palette: which group new shapes belong to, and in which colour they are drawn.
 *
 * @param {Groups} groups
 * @param {{ onChoose: () => void, onColor: (group: string | null) => void }} options
 */
export function groupPalette(groups, { onChoose, onColor }) {
  const list = h('div', { class: 'group-list' });
  const name = h('input', { type: 'text', 'aria-label': 'Name of a new group', placeholder: 'New group', maxlength: 200 });
  const form = h(
    'form',
    { class: 'group-form', onsubmit: add },
    name,
    h('button', { class: 'button icon-button', type: 'submit', 'aria-label': 'Add group', title: 'Add group' }, icon('plus')),
  );
  show();
  return { element: h('fieldset', { class: 'group-palette' }, h('legend', {}, 'Group of new shapes'), list, form), show };

  function show() {
    list.replaceChildren(...groups.names.map(row));
  }

  /** @param {string | null} group */
  function row(group) {
    const label = group === null ? 'No group' : group || '(empty name)';
    const color = h('input', {
      type: 'color',
      value: groups.colorOf(group),
      'aria-label': `Color of ${label}`,
      onchange: () => {
        groups.paint(group, color.value);
        onColor(group);
      },
    });
    const radio = h('input', { type: 'radio', name: 'annotation-group', onchange: () => choose(group) });
    radio.checked = groups.chosen === group;
    return h('div', { class: 'group-row' }, h('label', {}, radio, h('span', {}, label)), color);
  }

  /** @param {string | null} group */
  function choose(group) {
    groups.chosen = group;
    onChoose();
  }

  /** @param {SubmitEvent} event */
  function add(event) {
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
