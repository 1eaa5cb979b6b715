import { fill, h } from '../../dom.js';
import { formatCount, formatNumber, shorten } from '../../format.js';
import { objectTexts } from '../../object-texts.js';
import { sortableHead } from '../../sortable-head.js';
import type { Cell } from './object-requests.js';

/** Height of a row in CSS pixels, the same as in the style sheet. */
const rowHeight = 30;
/** Maximum height of the table in CSS pixels, because browsers limit the height of an element. In a table with more rows, scrolling by the height of one row passes several rows. */
const maxHeight = 8_000_000;
/** Number of rows in one request. */
const rowsPerPage = 100;

export interface ObjectRow {
  /** position in the order of the table, counted from 0 */
  index: number;
  id: string;
  x: number;
  y: number;
  cells: Cell[];
}

export interface Sorting {
  column: string;
  descending: boolean;
}

/** A table with any number of rows. Only the visible rows are loaded and on the page. */
export class ObjectRows {
  readonly element: HTMLElement;
  readonly #head = h('tr');
  readonly #body = h('tbody');
  readonly #table = h('table.object-table.small', h('thead', this.#head), this.#body);
  /** Loaded rows by the index of their page; `null` while a page is being loaded. */
  #pages: Map<number, ObjectRow[] | null> = new Map();
  #rowElementsByIndex: Map<number, HTMLTableRowElement> = new Map();
  #columns: readonly string[] = [];
  #total = 0;
  #loadController = new AbortController();

  constructor(
    private readonly options: {
      label: string;
      load: (offset: number, limit: number, signal: AbortSignal) => Promise<{ total: number; rows: ObjectRow[] }>;
      isSelected: (id: string) => boolean;
      onSelect: (row: ObjectRow, isSelected: boolean) => void;
      onShow: (row: ObjectRow) => void;
      currentSorting: () => Sorting;
      onSort: (column: string) => void;
      onTotal: (total: number) => void;
      onError: (error: unknown) => void;
      signal: AbortSignal;
    },
  ) {
    const { label, signal } = options;
    this.#table.setAttribute('aria-label', label);
    const attributes = {
      tabindex: 0,
      role: 'group',
      'aria-label': label,
      onscroll: () => this.#render(),
      onkeydown: (event: KeyboardEvent) => this.#moveFocus(event),
    };
    this.element = h('div.object-scroll', attributes, this.#table);
    const observer = new ResizeObserver(() => this.#render());
    observer.observe(this.element);
    signal.addEventListener('abort', () => (observer.disconnect(), this.#loadController.abort()), { once: true });
  }

  setColumns(columns: readonly string[]) {
    this.#columns = columns;
    this.reload();
  }

  reload() {
    this.#loadController.abort();
    this.#loadController = new AbortController();
    this.#pages = new Map();
    this.#showHead();
    void this.#load(0);
  }

  scrollTo(index: number) {
    const topIndex = Math.max(0, index - 2);
    this.element.scrollTop = this.#exceedsMaxHeight ? (topIndex / this.#total) * this.#maxScrollTop : topIndex * rowHeight;
    this.#render();
  }

  /** Creates the rows on the page again, so that they show which of them are selected. */
  refresh() {
    for (const row of this.#rowElementsByIndex.values()) row.remove();
    this.#rowElementsByIndex = new Map();
    this.#render();
  }

  get #tableHeight() {
    return Math.min(maxHeight, this.#total * rowHeight);
  }

  get #exceedsMaxHeight() {
    return this.#total * rowHeight > maxHeight;
  }

  get #maxScrollTop() {
    return Math.max(1, this.#tableHeight - this.element.clientHeight + rowHeight);
  }

  #showHead() {
    const { column, descending } = this.options.currentSorting();
    const heads = this.#columns.map((name) => {
      const order = name === column ? (descending ? 'descending' : 'ascending') : null;
      return sortableHead(name, order, () => this.options.onSort(name));
    });
    const selectTitle = h('span.visually-hidden', objectTexts.select);
    fill(this.#head, h('th', { scope: 'col' }, selectTitle), h('th', { scope: 'col' }, '#'), ...heads);
  }

  async #load(pageIndex: number) {
    const { signal } = this.#loadController;
    if (this.#pages.has(pageIndex)) return;
    this.#pages.set(pageIndex, null);
    try {
      const { total, rows } = await this.options.load(pageIndex * rowsPerPage, rowsPerPage, signal);
      if (signal.aborted) return;
      this.#pages.set(pageIndex, rows);
      if (total !== this.#total || pageIndex === 0) {
        this.#total = total;
        this.options.onTotal(total);
      }
      this.#table.setAttribute('aria-rowcount', String(total + 1));
      this.refresh();
    } catch (error) {
      if (signal.aborted) return;
      this.#pages.delete(pageIndex);
      this.options.onError(error);
    }
  }

  #rowAt(index: number) {
    return this.#pages.get(Math.floor(index / rowsPerPage))?.[index % rowsPerPage] ?? null;
  }

  #render() {
    const { scrollTop, clientHeight } = this.element;
    const visibleRowCount = Math.ceil(clientHeight / rowHeight) + 2;
    const scrolledShare = scrollTop / this.#maxScrollTop;
    const exactFirstIndex = this.#exceedsMaxHeight
      ? scrolledShare * Math.max(0, this.#total - visibleRowCount + 2)
      : scrollTop / rowHeight;
    const firstIndex = Math.max(0, Math.min(this.#total - 1, Math.floor(exactFirstIndex)));
    const endIndex = Math.min(this.#total, firstIndex + visibleRowCount);
    const heightAbove = this.#exceedsMaxHeight
      ? Math.min(scrollTop, this.#tableHeight - (endIndex - firstIndex) * rowHeight)
      : firstIndex * rowHeight;
    const rows: HTMLTableRowElement[] = [];
    const nextElements: Map<number, HTMLTableRowElement> = new Map();
    for (let index = firstIndex; index < endIndex; index += 1) {
      const row = this.#rowAt(index);
      if (!row) {
        void this.#load(Math.floor(index / rowsPerPage));
        continue;
      }
      const element = this.#rowElementsByIndex.get(index) ?? this.#createRow(row);
      nextElements.set(index, element);
      rows.push(element);
    }
    for (const [index, row] of this.#rowElementsByIndex) if (!nextElements.has(index)) row.remove();
    this.#rowElementsByIndex = nextElements;
    const missingHeight = (endIndex - firstIndex - rows.length) * rowHeight;
    const heightBelow = Math.max(0, this.#tableHeight - heightAbove - rows.length * rowHeight - missingHeight);
    const [top, bottom] = this.#spacerRows;
    top.style.height = `${heightAbove}px`;
    bottom.style.height = `${heightBelow + missingHeight}px`;
    if (!top.isConnected) fill(this.#body, top, bottom);
    // Rows that stay are not moved, so that they keep the focus.
    let previous: Element = top;
    for (const row of rows) {
      if (previous.nextElementSibling !== row) previous.after(row);
      previous = row;
    }
  }

  readonly #spacerRows = [0, 1].map(() => h('tr.object-space', { 'aria-hidden': 'true' })) as [
    HTMLTableRowElement,
    HTMLTableRowElement,
  ];

  #createRow(row: ObjectRow) {
    const { isSelected, onSelect, onShow } = this.options;
    const number = row.index + 1;
    const checked = isSelected(row.id);
    const onChange = () => {
      onSelect(row, checkbox.checked);
      element.classList.toggle('selected', checkbox.checked);
    };
    const checkbox = h('input', { type: 'checkbox', checked, 'aria-label': objectTexts.selectRow(number), onchange: onChange });
    const showButton = h(
      'button.link-button',
      { 'aria-label': objectTexts.show(number), onclick: () => onShow(row) },
      String(number),
    );
    const cells = row.cells.map((cell, index) => {
      const isGrouped = groupedColumns.has(this.#columns[index] ?? '');
      const shortText = (maxLength: number) => cellText(cell, maxLength, isGrouped);
      return h('td', { class: typeof cell === 'number' ? 'numbers' : '', title: shortText(400) }, shortText(40));
    });
    const element = h(
      'tr',
      { 'aria-rowindex': number + 1, class: checked ? 'selected' : '', 'data-index': row.index },
      h('td', checkbox),
      h('td.numbers', showButton),
      ...cells,
    );
    return element;
  }

  /** The arrow keys move between rows. */
  #moveFocus(event: KeyboardEvent) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const control = event.target as HTMLElement;
    const row = control.closest('tr');
    if (step === undefined || row?.dataset.index === undefined) return;
    event.preventDefault();
    const index = Number(row.dataset.index) + step;
    if (!this.#rowElementsByIndex.has(index) || index % 1 !== 0) return;
    const tagName = control.tagName.toLowerCase();
    const nextControl = this.#rowElementsByIndex.get(index)?.querySelector<HTMLElement>(tagName);
    nextControl?.focus();
  }
}

/** Columns whose whole numbers have grouped digits. Whole numbers in other columns can be ids. */
const groupedColumns: ReadonlySet<string> = new Set(['area', 'length']);

function cellText(cell: Cell, maxLength: number, isGrouped: boolean) {
  if (cell === null) return '';
  if (typeof cell === 'number' && Number.isInteger(cell)) return isGrouped ? formatCount(cell) : String(cell);
  if (typeof cell === 'number') return formatNumber(cell, 5);
  return shorten(String(cell), maxLength);
}
