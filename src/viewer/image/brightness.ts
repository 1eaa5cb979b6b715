import { h, linkButton, slider } from '../dom.js';
import { imageTexts } from '../texts.js';

/** Brightness and contrast in percent. */
export type LightSettings = { brightness: number; contrast: number };

/** Range of brightness and contrast, in percent. */
export const lightRange = { min: 20, max: 300 };

const defaultLight: LightSettings = { brightness: 100, contrast: 100 };

/** Sliders for the brightness and the contrast of an image whose samples are colors. */
export function lightControls(initial: LightSettings, onChange: (light: LightSettings) => void) {
  const rows = (['brightness', 'contrast'] as const).map((name) => {
    return { name, ...slider(imageTexts[name], { ...lightRange, step: 5, oninput: () => onInput() }) };
  });
  const reset = linkButton(imageTexts.asInFile, () => (set(defaultLight), onChange(defaultLight)));
  const element = h('div.frame-controls.column', ...rows.map((row) => row.element), reset);
  set(initial);
  return { element, set };

  function set(light: LightSettings) {
    for (const { name, input, output } of rows) {
      input.valueAsNumber = light[name];
      output.textContent = `${light[name]} %`;
    }
  }

  function onInput() {
    const [brightness = 100, contrast = 100] = rows.map(({ input }) => input.valueAsNumber);
    set({ brightness, contrast });
    onChange({ brightness, contrast });
  }
}
