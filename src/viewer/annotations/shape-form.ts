import { button, fill, h } from '../dom.js';
import { field } from '../forms.js';
import { annotationTexts } from '../annotation-texts.js';
import { styleOf, type Groups } from './groups.js';
import type { Element } from './model.js';

/** The form of the selected shape: its group and label, and what can be done with it. */
export function shapeForm(options: {
  groups: Groups;
  selected: () => Element | null;
  commit: (before: Element, after: Element) => void;
  remove: () => void;
}) {
  const { groups, selected, commit, remove } = options;
  const groupSelect = h('select', { onchange: () => regroup(JSON.parse(groupSelect.value)) });
  const element = h('div.shape-form.column');
  return { element, show, offerGroups };

  function show() {
    const shape = selected();
    if (!shape) return fill(element, h('p.quiet-text', annotationTexts.howToEdit));
    offerGroups();
    const { value = '' } = shape.label ?? {};
    const label = h('input', { type: 'text', autocomplete: 'off', value, onchange: () => relabel(label.value) });
    fill(
      element,
      field(annotationTexts.group, groupSelect),
      field(annotationTexts.label, label),
      shape.holes && shape.holes.length > 0 && button(annotationTexts.fillHoles, fillHoles),
      button(annotationTexts.deleteShape, remove, { picture: 'trash' }),
    );
  }

  /** Offers groups for the selected shape. If there are very many, the group of new shapes, which is searched in the palette, is among them. */
  function offerGroups() {
    const own = selected()?.group ?? null;
    const names = groups.offered('', own, groups.chosen);
    fill(groupSelect, ...names.map((name) => h('option', { value: JSON.stringify(name) }, annotationTexts.groupName(name))));
    groupSelect.value = JSON.stringify(own);
  }

  function fillHoles() {
    const shape = selected();
    if (!shape) return;
    const { holes: _former, ...rest } = shape;
    commit(shape, rest);
  }

  function regroup(name: string | null) {
    const shape = selected();
    if (!shape) return;
    const { group: _former, ...rest } = shape;
    commit(shape, { ...rest, ...(name !== null && { group: name }), ...styleOf(shape, groups.colorOf(name)) });
  }

  function relabel(text: string) {
    const shape = selected();
    if (!shape) return;
    const { label, ...rest } = shape;
    const value = text.trim();
    if (value === (label?.value ?? '')) return;
    commit(shape, value === '' ? rest : { ...rest, label: { visibility: 'always', ...label, value } });
  }
}
