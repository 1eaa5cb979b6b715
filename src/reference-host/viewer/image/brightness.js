// @ts-check
import { h } from '../dom.js';

/** Brightness and contrast in per cent. @typedef {{ brightness: number, contrast: number }} Light */

/** @type {Light} */
export const usualLight = { brightness: 100, contrast: 100 };

/**
 * Two sliders for images whose samples are colours.
 *
 * @param {Light} start
 * @param {(light: Light) => void} onChange
 */
export function lightControls(start, onChange) {
  const rows = /** @type {const} */ (['brightness', 'contrast']).map((name) => {
    const id = `light-${name}`;
    const input = h('input', { id, type: 'range', min: 20, max: 300, step: 5, oninput: () => changed() });
    const value = h('output', { for: id, class: 'axis-value' });
    return {
      name,
      input,
      value,
      element: h('div', { class: 'axis' }, h('label', { for: id }, name[0]?.toUpperCase() + name.slice(1)), value, input),
    };
  });
  const reset = h(
    'button',
    { class: 'link-button', type: 'button', onclick: () => (set(usualLight), onChange(usualLight)) },
    'As in the file',
  );
  const element = h('div', { class: 'frame-controls' }, ...rows.map((row) => row.element), reset);
  set(start);
  return { element, set };

  /** @param {Light} light */
  function set(light) {
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
