import { actions, button, fill, h } from '../dom.js';
import { field } from '../forms.js';
import { annotationTexts } from '../annotation-texts.js';
import { isArea, isLocked } from './drawing/shapes.js';
import { shapeStyle, type Groups } from './shape-groups.js';
import type { Edit, Element } from './annotation-model.js';

/** The form of the selected shapes: their group and label, and what can be done with them. */
export function shapeForm(options: {
  groups: Groups;
  selectedShapes: () => Element[];
  commit: (...edits: Edit[]) => void;
  remove: () => void;
  merge: () => void;
  simplify: () => void;
}) {
  const { groups, selectedShapes, commit, remove, merge, simplify } = options;
  const groupSelect = h('select', { onchange: () => setGroup(JSON.parse(groupSelect.value)) });
  const element = h('div.shape-form.column');
  return { element, show, offerGroups };

  function show() {
    const shapes = selectedShapes();
    const [firstShape] = shapes;
    if (!firstShape) return fill(element, h('p.quiet-text', annotationTexts.howToEdit));
    offerGroups();
    const isSingleShape = shapes.length === 1;
    const isAnyLocked = shapes.some(isLocked);
    const hasHoles = shapes.some(({ holes = [] }) => holes.length > 0);
    const hasVertices = shapes.some((shape) => shape.type === 'polyline' && !isLocked(shape));
    fill(
      element,
      !isSingleShape && h('p', { role: 'status' }, annotationTexts.selectedShapes(shapes.length)),
      field(annotationTexts.group, groupSelect),
      isSingleShape && labelField(firstShape),
      isAnyLocked && h('p.quiet-text.small', annotationTexts.locked),
      actions(
        isAnyLocked && button(annotationTexts.unlock, unlock),
        hasHoles && !isAnyLocked && button(annotationTexts.fillHoles, fillHoles),
        shapes.filter((shape) => isArea(shape) && !isLocked(shape)).length > 1 && button(annotationTexts.merge, merge),
        hasVertices && button(annotationTexts.simplify, simplify),
        button(isSingleShape ? annotationTexts.deleteShape : annotationTexts.deleteShapes, remove, { icon: 'trash' }),
      ),
    );
  }

  function labelField(shape: Element) {
    const { value = '' } = shape.label ?? {};
    const label = h('input', { type: 'text', autocomplete: 'off', value, onchange: () => setLabel(label.value) });
    return field(annotationTexts.label, label);
  }

  /** Fills the list of groups. If there are too many, some are left out, but never the group of new shapes. */
  function offerGroups() {
    const shapeGroups = [...new Set(selectedShapes().map(({ group = null }) => group))];
    const isOneGroup = shapeGroups.length < 2;
    const names = groups.namesToOffer(...shapeGroups.slice(0, 2), groups.chosenGroup);
    fill(
      groupSelect,
      !isOneGroup && h('option', { value: '""', disabled: true, hidden: true }, annotationTexts.variousGroups),
      ...names.map((name) => h('option', { value: JSON.stringify([name]) }, annotationTexts.groupName(name))),
    );
    groupSelect.value = isOneGroup ? JSON.stringify([shapeGroups[0] ?? null]) : '""';
  }

  /** Changes all selected shapes in one step. */
  function changeAll(change: (shape: Element) => Element) {
    commit(...selectedShapes().map((before) => ({ before, after: change(before) })));
  }

  function fillHoles() {
    changeAll(({ holes: _former, ...shapeWithoutHoles }) => shapeWithoutHoles);
  }

  function unlock() {
    changeAll((shape) => {
      const qupath = { ...(shape.user?.qupath as Record<string, unknown> | undefined), isLocked: false };
      return { ...shape, user: { ...shape.user, qupath } };
    });
  }

  function setGroup([name]: [string | null]) {
    changeAll((shape) => {
      const { group: _former, ...otherMembers } = shape;
      return { ...otherMembers, ...(name !== null && { group: name }), ...shapeStyle(shape, groups.colorOf(name)) };
    });
  }

  function setLabel(text: string) {
    const value = text.trim();
    changeAll((shape) => {
      const { label, ...otherMembers } = shape;
      return value === '' ? otherMembers : { ...otherMembers, label: { visibility: 'always', ...label, value } };
    });
  }
}
