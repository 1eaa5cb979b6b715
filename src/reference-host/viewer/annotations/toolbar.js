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
];

/**
 * The drawing tools, as buttons on the stage.
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
    { class: 'annotation-tools', role: 'toolbar', 'aria-label': 'Drawing tools', hidden: true },
    ...buttons.map(({ button }) => button),
  );
  return {
    element,
    /** @param {Tool} chosen */
    show(chosen) {
      for (const { tool, button } of buttons) button.setAttribute('aria-pressed', String(tool === chosen));
    },
  };
}
