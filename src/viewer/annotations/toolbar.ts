import { button, h } from '../dom.js';
import { annotationTexts } from '../annotation-texts.js';
import { isOffered, toolKeys, toolNames, type OfferedTools, type Tool } from './drawing/tool-names.js';

/** Smallest and largest radius of the brush, in CSS pixels. */
const brushRadii = { min: 3, max: 120 };

/** The tools, as buttons on the stage. The ruler is always visible; drawing tools are visible while an annotation is edited, or the image has none yet. */
export function toolbar({
  onTool,
  onRadius,
  radius,
}: {
  onTool: (tool: Tool) => void;
  onRadius: (radius: number) => void;
  radius: number;
}) {
  const keys = new Map(Object.entries(toolKeys).map(([key, tool]) => [tool, key.toUpperCase()]));
  const buttons = toolNames.map((tool) => {
    const [name, hint] = annotationTexts.tools[tool];
    const key = keys.get(tool);
    const control = button('', () => onTool(tool), {
      picture: tool,
      name,
      hint: key ? `${hint} (${key})` : hint,
      isPressed: false,
    });
    if (key) control.setAttribute('aria-keyshortcuts', key);
    return { tool, button: control };
  });
  const size = h('input', {
    type: 'range',
    ...brushRadii,
    value: radius,
    'aria-label': annotationTexts.brushSize,
    title: annotationTexts.brushSize,
    oninput: () => onRadius(size.valueAsNumber),
  });
  const sizes = h('div.brush-size.row', { hidden: true }, size);
  const attributes = { role: 'toolbar', 'aria-label': annotationTexts.drawingTools };
  const element = h('div.annotation-tools.surface.raised', attributes, ...buttons.map(({ button: control }) => control), sizes);
  offer('measure');
  return {
    element,
    offer,
    show(chosen: Tool) {
      for (const { tool, button: control } of buttons) control.setAttribute('aria-pressed', String(tool === chosen));
      sizes.hidden = chosen !== 'brush' && chosen !== 'eraser';
    },
  };

  function offer(offered: OfferedTools) {
    for (const { tool, button: control } of buttons) control.hidden = !isOffered(tool, offered);
    element.classList.toggle('ruler-only', offered === 'measure');
  }
}
