import { h, trackNewest, showMessage } from '../../dom.js';
import { objectTexts } from '../../object-texts.js';
import { nameOf, type Point } from '../annotation-model.js';
import type { ObjectsContext } from './objects-context.js';
import { filterOfRanges, type Range } from './plot-ranges.js';
import { combineFilters, requestIds, requestRows, type Cell, type ObjectFilter } from './object-requests.js';
import { ObjectRows, type ObjectRow, type Sorting } from './object-rows.js';
import { SelectedObjects } from './selected-objects.js';

/** Maximum number of selected shapes, which is the maximum number of ids in a filter. */
const maxSelected = 20_000;
/** Maximum number of selected shapes that are marked on the image. */
const maxMarked = 10_000;

interface ObjectTableOptions extends ObjectsContext {
  currentFilter: () => ObjectFilter | null;
  /** moves the view to a point of the image */
  goTo: (imagePoint: Point) => void;
  /** called when other shapes are selected */
  onSelection: () => void;
  /** called before the user clears the selection */
  onClear: () => void;
}

/** The shapes as rows, in an order that the user chooses, and the selection of shapes. */
export class ObjectTable {
  /** Shows the number of rows. */
  readonly countElement = h('span.quiet-text.small', { role: 'status' });
  readonly #rows: ObjectRows;
  readonly #selectedObjects: SelectedObjects;
  #columns: readonly string[] = [];
  #sorting: Sorting = { column: 'order', descending: false };
  readonly #trackSelection = trackNewest();

  constructor(private readonly options: ObjectTableOptions) {
    const { currentRecord, goTo, onSelection, onClear, onError, signal } = options;
    this.#selectedObjects = new SelectedObjects(onSelection, () => (onClear(), this.#select(new Map())));
    this.#rows = new ObjectRows({
      label: objectTexts.tableOf(nameOf(currentRecord())),
      load: (offset, limit, loadSignal) => this.#load(offset, limit, loadSignal),
      isSelected: (id) => this.selectedPoints.has(id),
      onSelect: (row, isSelected) => (isSelected ? this.#selectedObjects.add(row) : this.#selectedObjects.delete(row.id)),
      onShow: (row) => {
        goTo({ x: row.x, y: row.y });
        this.#selectedObjects.add(row);
        this.#rows.refresh();
      },
      currentSorting: () => this.#sorting,
      onSort: (column) => this.#sort(column),
      onTotal: (total) => (this.countElement.textContent = objectTexts.rowCount(total)),
      onError,
      signal,
    });
  }

  get element() {
    return this.#rows.element;
  }

  /** Positions of the selected shapes on the image, by the ids of the shapes; `null` while a position is not known. */
  get selectedPoints() {
    return this.#selectedObjects.points;
  }

  get clearButton() {
    return this.#selectedObjects.clearButton;
  }

  setColumns(names: readonly string[]) {
    this.#columns = names;
    this.#rows.setColumns(names);
  }

  reload() {
    this.#rows.reload();
  }

  /** Selects the shapes whose values are in these ranges. */
  selectRanges(ranges: readonly Range[]) {
    const { currentRecord, currentFilter, run, signal } = this.options;
    return run(async () => {
      const isCurrent = this.#trackSelection();
      const filterInRanges = combineFilters(currentFilter(), filterOfRanges(ranges));
      if (!filterInRanges) return;
      const [{ count, ids }, { rows }] = await Promise.all([
        requestIds(currentRecord(), filterInRanges, maxSelected, signal),
        requestRows(currentRecord(), { filter: filterInRanges, columns: ['id', 'x', 'y'], limit: maxMarked }, signal),
      ]);
      if (signal.aborted || !isCurrent()) return;
      const positions: Map<string, Point | null> = new Map(ids.map((id) => [id, null]));
      for (const [id, x, y] of rows) if (positions.has(String(id))) positions.set(String(id), { x: Number(x), y: Number(y) });
      this.#select(positions);
      if (count > maxSelected) showMessage(objectTexts.tooMany(count, maxSelected));
    });
  }

  /** Selects a shape, and scrolls to its row, which is found by counting the shapes up to it in the order of the table. */
  reveal(id: string) {
    const { currentRecord, currentFilter, run, signal } = this.options;
    return run(async () => {
      const isCurrent = this.#trackSelection();
      const { column, descending } = this.#sorting;
      const idFilter: ObjectFilter = { column: 'id', in: [id] };
      const { rows } = await requestRows(currentRecord(), { filter: idFilter, columns: ['x', 'y', column], limit: 1 }, signal);
      const [row] = rows;
      if (signal.aborted || !isCurrent() || !row) return;
      const [x, y, value] = row;
      this.#select(new Map([[id, { x: Number(x), y: Number(y) }]]));
      if (typeof value !== 'number') return;
      const filterUpToRow: ObjectFilter = { column, ...(descending ? { gte: value } : { lte: value }) };
      const { total } = await requestRows(
        currentRecord(),
        { filter: combineFilters(currentFilter(), filterUpToRow), columns: ['id'], limit: 0 },
        signal,
      );
      if (!signal.aborted && isCurrent()) this.#rows.scrollTo(Math.max(0, total - 1));
    });
  }

  #select(positions: Map<string, Point | null>) {
    this.#selectedObjects.replace(positions);
    this.#rows.refresh();
  }

  #sort(column: string) {
    this.#sorting = { column, descending: this.#sorting.column === column && !this.#sorting.descending };
    this.#rows.reload();
  }

  async #load(offset: number, limit: number, signal: AbortSignal) {
    const { currentRecord, currentFilter } = this.options;
    const { column: sort, descending } = this.#sorting;
    const columns = ['id', 'x', 'y', ...this.#columns];
    const query = { filter: currentFilter(), columns, sort, sortdir: descending ? -1 : 1, offset, limit } as const;
    const { total, rows } = await requestRows(currentRecord(), query, signal);
    const objectRows = rows.map(([id, x, y, ...cells], index): ObjectRow => {
      return { index: offset + index, id: String(id), x: Number(x), y: Number(y), cells: cells as Cell[] };
    });
    return { total, rows: objectRows };
  }
}
