import { button, h } from '../dom.js';
import { annotationTexts } from '../annotation-texts.js';
import { isOffered, toolKeys, toolNames, type ToolOffer, type Tool } from './drawing/tool-names.js';

/** Smallest and largest radius of the brush, in CSS pixels. */
const brushRadii = { min: 3, max: 120 };

/** The tools, as buttons on the stage. The ruler is always visible; drawing tools are visible while an annotation is edited, and while the image has no annotations. */
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
    const toolButton = button('', () => onTool(tool), {
      icon: tool,
      name,
      hint: key ? `${hint} (${key})` : hint,
      isPressed: false,
    });
    if (key) toolButton.setAttribute('aria-keyshortcuts', key);
    return { tool, button: toolButton };
  });
  const radiusSlider = h('input', {
    type: 'range',
    ...brushRadii,
    value: radius,
    'aria-label': annotationTexts.brushSize,
    title: annotationTexts.brushSize,
    oninput: () => onRadius(radiusSlider.valueAsNumber),
  });
  const radiusRow = h('div.brush-size.row', { hidden: true }, radiusSlider);
  const attributes = { role: 'toolbar', 'aria-label': annotationTexts.drawingTools };
  const element = h(
    'div.annotation-tools.surface.raised',
    attributes,
    ...buttons.map(({ button: control }) => control),
    radiusRow,
  );
  offer('measure');
  return {
    element,
    offer,
    show(chosenTool: Tool) {
      for (const { tool, button: control } of buttons) control.setAttribute('aria-pressed', String(tool === chosenTool));
      radiusRow.hidden = chosenTool !== 'brush' && chosenTool !== 'eraser';
    },
  };

  function offer(toolOffer: ToolOffer) {
    for (const { tool, button: control } of buttons) control.hidden = !isOffered(tool, toolOffer);
    element.classList.toggle('ruler-only', toolOffer === 'measure');
  }
}
