import { fill, h } from '../../dom.js';
import { choice, field } from '../../forms.js';
import { objectTexts } from '../../object-texts.js';
import type { ObjectColumn } from '../objects/object-requests.js';
import { palettes, type Coloring } from './coloring.js';

/** Drop-down lists for the column, the heat map and the palette of a coloring. */
export class ColoringChoices {
  readonly elements: HTMLElement[];
  readonly #columnSelect: HTMLSelectElement;
  readonly #heatSelect: HTMLSelectElement;
  readonly #paletteSelect: HTMLSelectElement;
  readonly #paletteField: HTMLElement;

  constructor(change: (changes: Partial<Coloring>) => void) {
    const heats: Record<string, string> = {
      '': objectTexts.heatOff,
      number: objectTexts.heatNumber,
      mean: objectTexts.heatMean,
    };
    const names = Object.fromEntries(palettes.map((name) => [name, name]));
    this.#columnSelect = h('select', {
      onchange: () => change({ by: this.#columnSelect.value || null, low: null, high: null, colors: [] }),
    });
    this.#heatSelect = choice(heats, '', {
      onchange: () => change({ heat: (this.#heatSelect.value || null) as Coloring['heat'] }),
    });
    this.#paletteSelect = choice(names, '', { onchange: () => change({ palette: this.#paletteSelect.value }) });
    this.#paletteField = field(objectTexts.palette, this.#paletteSelect);
    this.elements = [
      field(objectTexts.colorBy, this.#columnSelect),
      field(objectTexts.heat, this.#heatSelect),
      this.#paletteField,
    ];
  }

  set hasPalette(hasPalette: boolean) {
    this.#paletteField.hidden = !hasPalette;
  }

  /** Shows a coloring, and offers these columns. */
  show({ by, heat, palette }: Coloring, columns: readonly ObjectColumn[]) {
    const names = columns.map(({ name }) => name);
    if (by !== null && !names.includes(by)) names.push(by);
    const options = names.map((name) => h('option', { value: name }, name));
    fill(this.#columnSelect, h('option', { value: '' }, objectTexts.ownColors), ...options);
    this.#columnSelect.value = by ?? '';
    this.#heatSelect.value = heat ?? '';
    const isNumber = columns.some(({ name, type }) => name === by && type === 'number');
    const meanOption = this.#heatSelect.querySelector<HTMLOptionElement>('[value="mean"]');
    if (meanOption) meanOption.disabled = !isNumber && heat !== 'mean';
    this.#paletteSelect.value = palette ?? palettes[0];
  }
}
