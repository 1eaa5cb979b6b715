import { fill, h } from '../../dom.js';
import { field } from '../../forms.js';
import { objectTexts } from '../../object-texts.js';
import { columnConditions } from '../coloring/coloring.js';
import type { ObjectColumn, ObjectFilter } from './object-requests.js';

/** Drop-down lists for the one or two columns of a plot. */
export class PlotAxes {
  readonly fields: HTMLElement[];
  readonly #xSelect: HTMLSelectElement;
  readonly #ySelect: HTMLSelectElement;
  #columns: readonly ObjectColumn[] = [];

  constructor(onChange: () => void) {
    this.#xSelect = h('select', { onchange: onChange });
    this.#ySelect = h('select', { onchange: onChange });
    this.fields = [field(objectTexts.horizontal, this.#xSelect), field(objectTexts.vertical, this.#ySelect)];
  }

  /** The horizontal column; `null` while there are no columns. */
  get x() {
    return this.#xSelect.value || null;
  }

  /** The vertical column; `null` for a histogram. */
  get y() {
    return this.#ySelect.value || null;
  }

  get columns() {
    return [this.x, this.y].filter((name) => name !== null);
  }

  /** Offers these columns, and keeps the chosen columns. Initially, the horizontal column is the first measurement from the file. */
  setColumns(columns: readonly ObjectColumn[]) {
    this.#columns = columns;
    const names = columns.filter(({ type, count }) => type === 'number' && count > 0).map(({ name }) => name);
    const [x, y] = [this.#xSelect.value, this.#ySelect.value];
    const options = () => names.map((name) => h('option', { value: name }, name));
    fill(this.#xSelect, ...options());
    fill(this.#ySelect, h('option', { value: '' }, objectTexts.histogramOnly), ...options());
    this.#xSelect.value = names.includes(x) ? x : (names.find((name) => name.startsWith('/')) ?? 'area');
    this.#ySelect.value = names.includes(y) ? y : '';
  }

  /** The range of a column's values that a filter allows; `null` if the filter allows all values or no values. */
  filteredRangeOf(column: string, filter: ObjectFilter | null): { low: number; high: number } | null {
    const { min, max } = this.#columns.find(({ name }) => name === column) ?? {};
    if (typeof min !== 'number' || typeof max !== 'number') return null;
    const conditions = columnConditions(filter).filter((condition) => condition.column === column);
    const low = Math.max(min, ...conditions.map(({ gte = -Infinity }) => gte));
    const high = Math.min(max, ...conditions.map(({ lte = Infinity }) => lte));
    return low < high && (low > min || high < max) ? { low, high } : null;
  }
}
