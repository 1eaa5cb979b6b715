import { fill, h } from '../../dom.js';
import { choice, field } from '../../forms.js';
import { objectTexts } from '../../object-texts.js';
import type { ObjectColumn } from '../objects/object-requests.js';
import { palettes, type Coloring } from './coloring.js';

/** Drop-down lists for the column, the heat map and the palette of a coloring. */
export class ColoringChoices {
  readonly elements: HTMLElement[];
  readonly #by: HTMLSelectElement;
  readonly #heat: HTMLSelectElement;
  readonly #palette: HTMLSelectElement;
  readonly #paletteField: HTMLElement;

  constructor(change: (changes: Partial<Coloring>) => void) {
    const heats: Record<string, string> = {
      '': objectTexts.heatOff,
      number: objectTexts.heatNumber,
      mean: objectTexts.heatMean,
    };
    const names = Object.fromEntries(palettes.map((name) => [name, name]));
    this.#by = h('select', { onchange: () => change({ by: this.#by.value || null, low: null, high: null, colors: [] }) });
    this.#heat = choice(heats, '', { onchange: () => change({ heat: (this.#heat.value || null) as Coloring['heat'] }) });
    this.#palette = choice(names, '', { onchange: () => change({ palette: this.#palette.value }) });
    this.#paletteField = field(objectTexts.palette, this.#palette);
    this.elements = [field(objectTexts.colorBy, this.#by), field(objectTexts.heat, this.#heat), this.#paletteField];
  }

  set hasPalette(hasPalette: boolean) {
    this.#paletteField.hidden = !hasPalette;
  }

  /** Shows a coloring, and offers these columns. */
  show({ by, heat, palette }: Coloring, columns: readonly ObjectColumn[]) {
    const names = columns.map(({ name }) => name);
    if (by !== null && !names.includes(by)) names.push(by);
    const options = names.map((name) => h('option', { value: name }, name));
    fill(this.#by, h('option', { value: '' }, objectTexts.ownColors), ...options);
    this.#by.value = by ?? '';
    this.#heat.value = heat ?? '';
    const isNumber = columns.some(({ name, type }) => name === by && type === 'number');
    const mean = this.#heat.querySelector<HTMLOptionElement>('[value="mean"]');
    if (mean) mean.disabled = !isNumber && heat !== 'mean';
    this.#palette.value = palette ?? palettes[0];
  }
}
