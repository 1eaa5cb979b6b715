import { button, h } from '../dom.js';
import { annotationTexts } from '../annotation-texts.js';
import type { Tool } from './drawing/tools.js';

const tools: Tool[] = ['select', 'rectangle', 'ellipse', 'polygon', 'line', 'point', 'hole', 'measure'];

/** The tools, as buttons on the stage: those for drawing while an annotation is edited, and the ruler always. */
export function toolbar(onTool: (tool: Tool) => void) {
  const buttons = tools.map((tool) => {
    const [name, hint] = annotationTexts.tools[tool];
    return { tool, button: button('', () => onTool(tool), { picture: tool, name, hint, isPressed: false }) };
  });
  const attributes = { role: 'toolbar', 'aria-label': annotationTexts.drawingTools };
  const element = h('div.annotation-tools.surface.raised', attributes, ...buttons.map(({ button: made }) => made));
  setEditing(false);
  return {
    element,
    setEditing,
    show(chosen: Tool) {
      for (const { tool, button: made } of buttons) made.setAttribute('aria-pressed', String(tool === chosen));
    },
  };

  function setEditing(isEditing: boolean) {
    for (const { tool, button: made } of buttons) made.hidden = !isEditing && tool !== 'measure';
  }
}
