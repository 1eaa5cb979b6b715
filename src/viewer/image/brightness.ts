import { h, htmlId } from '../dom.js';
import { imageTexts } from '../texts.js';

/** Brightness and contrast in per cent. */
export type Light = { brightness: number; contrast: number };

const defaultLight: Light = { brightness: 100, contrast: 100 };

/** Two sliders for images whose samples are colours. */
export function lightControls(start: Light, onChange: (light: Light) => void) {
  const rows = (['brightness', 'contrast'] as const).map((name) => {
    const id = htmlId(name);
    const input = h('input', { id, type: 'range', min: 20, max: 300, step: 5, oninput: () => changed() });
    const value = h('output.axis-value.numbers.quiet-text', { for: id });
    return {
      name,
      input,
      value,
      element: h('div.axis', h('label', { for: id }, imageTexts[name]), value, input),
    };
  });
  const reset = h('button.link-button', { onclick: () => (set(defaultLight), onChange(defaultLight)) }, imageTexts.asInFile);
  const element = h('div.frame-controls.column', ...rows.map((row) => row.element), reset);
  set(start);
  return { element, set };

  function set(light: Light) {
    for (const { name, input, value } of rows) {
      input.valueAsNumber = light[name];
      value.textContent = `${light[name]} %`;
    }
  }

  function changed() {
    const [brightness = 100, contrast = 100] = rows.map(({ input }) => input.valueAsNumber);
    set({ brightness, contrast });
    onChange({ brightness, contrast });
  }
}
