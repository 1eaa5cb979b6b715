// @ts-check
import { h, icon } from '../dom.js';

/** @typedef {import('./tools.js').Tool} Tool */

/** @type {readonly { tool: Tool, name: string, hint: string, picture: Parameters<typeof icon>[0] }[]} */
const tools = [
  { tool: 'select', name: 'Select', hint: 'Select, move and reshape', picture: 'arrow' },
  { tool: 'rectangle', name: 'Rectangle', hint: 'Drag from corner to corner', picture: 'rectangle' },
  { tool: 'ellipse', name: 'Ellipse', hint: 'Drag from corner to corner of its box', picture: 'ellipse' },
  {
    tool: 'polygon',
    name: 'Polygon',
    hint: 'Click corners, or drag an outline; Enter or a double click ends it',
    picture: 'polygon',
  },
  { tool: 'line', name: 'Line', hint: 'Click points, or drag; Enter or a double click ends it', picture: 'line' },
  { tool: 'point', name: 'Point', hint: 'Click to place points; Escape ends', picture: 'point' },
  { tool: 'hole', name: 'Hole', hint: 'Select a polygon first, then draw what is not part of it', picture: 'hole' },
  { tool: 'measure', name: 'Measure', hint: 'Click points, the first again for an area; nothing is saved', picture: 'ruler' },
];

/**
 * The tools, as buttons on the stage: those that draw while an annotation is edited, and the ruler always.
 *
 * @param {(tool: Tool) => void} onTool
 */
export function toolbar(onTool) {
  const buttons = tools.map(({ tool, name, hint, picture }) => ({
    tool,
    button: h(
      'button',
      {
        class: 'button icon-button',
        type: 'button',
        'aria-label': name,
        'aria-pressed': 'false',
        title: `${name}: ${hint}`,
        onclick: () => onTool(tool),
      },
      icon(picture),
    ),
  }));
  const element = h(
    'div',
    { class: 'annotation-tools', role: 'toolbar', 'aria-label': 'Drawing tools' },
    ...buttons.map(({ button }) => button),
  );
  setEditing(false);
  return {
    element,
    setEditing,
    /** @param {Tool} chosen */
    show(chosen) {
      for (const { tool, button } of buttons) button.setAttribute('aria-pressed', String(tool === chosen));
    },
  };

  /** @param {boolean} isEditing */
  function setEditing(isEditing) {
    for (const { tool, button } of buttons) button.hidden = !isEditing && tool !== 'measure';
  }
}
