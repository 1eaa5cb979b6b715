import { errorNotice, fill, h, linkButton, trackNewest } from '../../dom.js';
import { annotationTexts } from '../../annotation-texts.js';
import { objectTexts } from '../../object-texts.js';
import type { AnnotationRecord } from '../annotation-model.js';
import { requestColumns, type Cell, type ObjectColumn } from '../objects/object-requests.js';
import { categoryList } from './category-list.js';
import { ColoringChoices } from './coloring-choices.js';
import { changeColoring, fitsAddress, isPlain, needsLegend, setCategoryColor, type Coloring } from './coloring.js';
import { requestLegend, type ColoringLegend } from './coloring-requests.js';
import { ColoringScale } from './coloring-scale.js';

interface ColoringOptions {
  currentRecord: () => AnnotationRecord | null;
  currentColoring: () => Coloring;
  onChange: (coloring: Coloring) => void;
  /** called with the colors of groups, if shapes are colored by their group; otherwise with `null` */
  onGroups: (colors: ReadonlyMap<unknown, string> | null) => void;
  signal: AbortSignal;
}

/** Controls for the colors and the filter of the shapes of an annotation, with a legend. */
export class ColoringControls {
  /** A line about the filter, and the controls. The line stays visible while the controls are folded. */
  readonly elements: HTMLElement[];
  readonly #details: HTMLDetailsElement;
  readonly #filterLine = h('p.row.wrap.small', { role: 'status' });
  readonly #message = h('div', { role: 'alert' });
  readonly #choices = new ColoringChoices((changes) => this.#change(changes));
  readonly #legendArea = h('div.coloring-scale.column');
  readonly #categories = categoryList<Cell>({
    label: objectTexts.colors,
    searchLabel: annotationTexts.findCategory,
    onColor: (value, color) => this.#colorCategory(value, color),
  });
  readonly #scale: ColoringScale;
  readonly #trackRefresh = trackNewest();
  #columns: ObjectColumn[] = [];
  /** The version of the annotation whose columns are loaded; -1 until then. */
  #columnsVersion = -1;

  constructor(private readonly options: ColoringOptions) {
    const { currentColoring, onChange, signal } = options;
    this.#scale = new ColoringScale({
      currentColoring,
      onChange: (bounds) => onChange({ ...currentColoring(), ...bounds }),
      signal,
    });
    this.#details = h(
      'details.coloring',
      { ontoggle: () => this.#details.open && void this.refresh(), open: !isPlain(currentColoring()) },
      h('summary', objectTexts.colors),
      this.#message,
      h('div.coloring-fields.column', ...this.#choices.elements, this.#legendArea),
    );
    this.elements = [this.#filterLine, this.#details];
  }

  /** Shows the current coloring, with the columns and the legend of the current version. */
  async refresh() {
    const { signal } = this.options;
    const record = this.options.currentRecord();
    if (!record) return;
    const coloring = this.options.currentColoring();
    const isNewest = this.#trackRefresh();
    const isCurrent = () => !signal.aborted && isNewest();
    fill(this.#message);
    try {
      if (this.#details.open) await this.#loadColumns(record);
      if (!isCurrent()) return;
      this.#choices.show(coloring, this.#columns);
      const legend = needsLegend(coloring) ? await requestLegend(record, coloring, signal) : null;
      if (!isCurrent()) return;
      this.#showFilter(record, coloring, legend);
      await this.#showLegend(record, coloring, legend, isCurrent);
    } catch (error) {
      if (isCurrent()) fill(this.#message, errorNotice(error));
    }
  }

  async #loadColumns(record: AnnotationRecord) {
    if (this.#columnsVersion === record._version) return;
    const columns = await requestColumns(record, this.options.signal);
    this.#columns = columns.filter(({ type, count }) => type !== 'id' && count > 0);
    this.#columnsVersion = record._version;
  }

  #change(changes: Partial<Coloring>) {
    const formerColoring = { ...this.options.currentColoring(), ...this.#scale.takePendingBounds() };
    const isNumber = (column: string | null) => this.#columns.some(({ name, type }) => name === column && type === 'number');
    this.options.onChange(changeColoring(formerColoring, changes, isNumber));
    void this.refresh();
  }

  #showFilter(record: AnnotationRecord, { filter }: Coloring, legend: ColoringLegend | null) {
    const filterText = legend && filter && objectTexts.filtered(legend.count, record._elementCount);
    fill(this.#filterLine, filterText, filterText && linkButton(objectTexts.removeFilter, () => this.#change({ filter: null })));
    this.#filterLine.hidden = !filterText;
  }

  async #showLegend(record: AnnotationRecord, coloring: Coloring, legend: ColoringLegend | null, isCurrent: () => boolean) {
    const { scale, categories } = legend ?? {};
    this.#choices.hasPalette = Boolean(scale);
    const groups = coloring.by === 'group' ? categories : null;
    this.options.onGroups(groups ? new Map(groups.map(({ value, color }) => [value, color])) : null);
    // The list of groups, above these controls, shows the colors of groups.
    if (groups) fill(this.#legendArea);
    else if (categories) {
      this.#categories.show(categories);
      // A list that is shown already is not replaced, because it may have the focus.
      if (!this.#legendArea.contains(this.#categories.elements[0]!)) fill(this.#legendArea, this.#categories.elements);
    } else if (scale) {
      const elements = await this.#scale.createElements(record, coloring, scale);
      if (isCurrent()) fill(this.#legendArea, elements);
    } else fill(this.#legendArea);
  }

  #colorCategory(value: Cell, color: string) {
    const colors = setCategoryColor(this.options.currentColoring().colors, value, color);
    if (fitsAddress(colors)) this.#change({ colors });
    else fill(this.#message, errorNotice(annotationTexts.tooManyColors));
  }
}
