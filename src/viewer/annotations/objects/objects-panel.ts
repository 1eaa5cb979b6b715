import { isLinked } from '../../api.js';
import { actions, button, debounced, errorNotice, fill, h, newestOnly, tell } from '../../dom.js';
import { objectTexts } from '../../object-texts.js';
import { commonTexts } from '../../texts.js';
import { annotationTexts } from '../../annotation-texts.js';
import { nameOf, type AnnotationRecord, type Box, type Element, type Point } from '../model.js';
import { filterControls } from './filters.js';
import { plotControls } from './plot.js';
import { filterOfRanges, type Range } from './plot-ranges.js';
import { allOf, columnsOf, copyToAnnotation, idsOf, rowsOf, saveTable, summaryOf } from './requests.js';
import type { Cell, ObjectColumn, ObjectFilter } from './requests.js';
import { ObjectRows, type ObjectRow, type Sorting } from './rows.js';
import { scopeChoice } from './scope.js';
import { SelectedObjects } from './selected.js';
import { summaryTable } from './summary.js';

/** Columns that the table does not show: they are the position, which the image shows. */
const unshown = new Set(['id', 'order', 'xmin', 'ymin', 'xmax', 'ymax']);
/** Maximum number of shown columns. A file has all. */
const maxColumns = 60;
/** Maximum number of columns of the summary. */
const maxSummed = 12;
/** Maximum number of selected shapes: a filter can list as many ids. */
const maxSelected = 20_000;
/** Maximum number of selected shapes that are marked on the image. */
const maxMarked = 10_000;

export interface ObjectsPanelOptions {
  record: AnnotationRecord;
  itemId: string;
  /** whether the user may make annotations of this item */
  mayCreate: boolean;
  /** the visible part of the image */
  view: () => Box;
  /** a drawn area; `null` if there is none */
  outline: () => Point[] | null;
  /** moves the view to a point of the image */
  goTo: (at: Point) => void;
  /** called when other shapes are to be marked on the image */
  onMarks: () => void;
  onMade: () => Promise<unknown>;
  /** the filter at first */
  filter: ObjectFilter | null;
  /** called when the user has changed the filter, which is also that of the image */
  onFilter: (filter: ObjectFilter | null) => void;
  onClose: () => void;
  signal: AbortSignal;
}

/** The table, the summary and the plots of the shapes of an annotation. */
export function objectsPanel(options: ObjectsPanelOptions) {
  const { itemId, mayCreate, view, outline, goTo, onMarks, onMade, onClose, signal } = options;
  let { record } = options;
  let shown: ObjectColumn[] = [];
  let sorting: Sorting = { column: 'order', descending: false };
  const isNewest = newestOnly();
  const isNewestSummary = newestOnly();
  const message = h('div', { role: 'alert' });
  const count = h('span.quiet-text.small', { role: 'status' });
  const summary = summaryTable();
  const filters = filterControls(
    options.filter,
    debounced(() => {
      if (signal.aborted) return;
      options.onFilter(filters.filter);
      void refresh();
    }, 150),
  );
  const selected = new SelectedObjects(afterSelection, () => (void plot.mark(null), select(new Map())));
  const rows = new ObjectRows({
    label: objectTexts.tableOf(nameOf(record)),
    load: loadRows,
    isSelected: (id) => selected.places.has(id),
    onSelect: (row, isSelected) => (isSelected ? selected.add(row) : selected.delete(row.id)),
    onShow(row) {
      goTo({ x: row.x, y: row.y });
      selected.add(row);
      rows.refresh();
    },
    sorting: () => sorting,
    onSort(column) {
      sorting = { column, descending: sorting.column === column && !sorting.descending };
      rows.reload();
    },
    onTotal: (total) => (count.textContent = objectTexts.rowCount(total)),
    onError: report,
    signal,
  });
  const plot = plotControls({
    record: () => record,
    filter: () => filters.filter,
    onSelect: (ranges) => void selectRanges(ranges),
    onFilter: (ranges) => filters.setRanges(ranges),
    onError: report,
    signal,
  });
  const scope = scopeChoice({
    filter: () => filters.filter,
    selectedIds: () => selected.places.keys(),
    view,
    outline,
    onChange: () => void showSummary(),
  });
  const views = { table: rows.element, summary: summary.element, plot: plot.element };
  const tabs = (['table', 'summary', 'plot'] as const).map((name) => ({
    name,
    button: button(objectTexts[name], () => open(name), { isPressed: name === 'table' }),
  }));
  const close = button('', onClose, { picture: 'close', name: commonTexts.close });
  const heading = [h('h2.clip', nameOf(record)), count, selected.clearButton, actions(...tabs.map((tab) => tab.button)), close];
  const downloads = (['csv', 'parquet'] as const).map((kind) =>
    button(objectTexts[kind], () => void act(() => saveTable(record, scope.chosen(), kind, nameOf(record))), {
      picture: 'download',
    }),
  );
  const copying = mayCreate && button(objectTexts.newAnnotation, () => void act(copy), { picture: 'plus' });
  const element = h(
    'section.objects-panel.surface',
    { 'aria-label': objectTexts.tableOf(nameOf(record)) },
    h('div.object-heading.row.wrap', ...heading),
    filters.element,
    message,
    h('div.object-views', ...Object.values(views)),
    h('div.object-scope.row.wrap', scope.element, actions(...(isLinked() ? [] : downloads), copying)),
  );
  element.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') onClose();
  });
  open('table');
  void load();
  return {
    element,
    close,
    get marked() {
      return selected.places;
    },
    /** Selects a shape that was clicked on the image, and scrolls to its row. */
    reveal,
    /** Shows the shapes that a filter takes, which was changed elsewhere. */
    setFilter(next: ObjectFilter | null) {
      if (JSON.stringify(next) === JSON.stringify(filters.filter)) return;
      filters.set(next);
      void refresh();
    },
    /** Shows another version. */
    update(next: AnnotationRecord) {
      if (next._version === record._version) return;
      record = next;
      void load();
    },
  };

  function open(name: keyof typeof views) {
    for (const [other, part] of Object.entries(views)) part.hidden = other !== name;
    for (const tab of tabs) tab.button.setAttribute('aria-pressed', String(tab.name === name));
    void plot.refresh(name === 'plot');
    if (name === 'summary') void showSummary();
  }

  function report(error: unknown) {
    if (!signal.aborted) fill(message, errorNotice(error));
  }

  /** Does something with the server, and shows what goes wrong. */
  async function act(run: () => Promise<unknown>) {
    fill(message);
    try {
      await run();
    } catch (error) {
      report(error);
    }
  }

  function load() {
    return act(async () => {
      const columns = await columnsOf(record, signal);
      shown = columns.filter(({ name, count: values }) => !unshown.has(name) && values > 0).slice(0, maxColumns);
      filters.setColumns(columns);
      plot.setColumns(columns);
      rows.setColumns(shown.map(({ name }) => name));
      await refreshOthers();
    });
  }

  async function refresh() {
    fill(message);
    rows.reload();
    await refreshOthers();
  }

  async function refreshOthers() {
    await plot.refresh();
    if (!summary.element.hidden) await showSummary();
  }

  async function loadRows(offset: number, limit: number, signalOfRows: AbortSignal) {
    const names = shown.map(({ name }) => name);
    const { column: sort, descending } = sorting;
    const query = {
      filter: filters.filter,
      columns: ['id', 'x', 'y', ...names],
      sort,
      sortdir: descending ? -1 : 1,
      offset,
      limit,
    } as const;
    const { total, rows: found } = await rowsOf(record, query, signalOfRows);
    const made = found.map(([id, x, y, ...cells], at): ObjectRow => {
      return { index: offset + at, id: String(id), x: Number(x), y: Number(y), cells: cells as Cell[] };
    });
    return { total, rows: made };
  }

  function select(places: Map<string, Point | null>) {
    selected.replace(places);
    rows.refresh();
  }

  function afterSelection() {
    onMarks();
    if (scope.isSelection() && !summary.element.hidden) void showSummary();
  }

  /** Selects the shapes in a part of the plot. */
  function selectRanges(ranges: readonly Range[]) {
    return act(async () => {
      const isCurrent = isNewest();
      const filter = allOf(filters.filter, filterOfRanges(ranges));
      if (!filter) return;
      const [{ count: all, ids }, { rows: found }] = await Promise.all([
        idsOf(record, filter, maxSelected, signal),
        rowsOf(record, { filter, columns: ['id', 'x', 'y'], limit: maxMarked }, signal),
      ]);
      if (signal.aborted || !isCurrent()) return;
      const next: Map<string, Point | null> = new Map(ids.map((id) => [id, null]));
      for (const [id, x, y] of found) if (next.has(String(id))) next.set(String(id), { x: Number(x), y: Number(y) });
      select(next);
      if (all > maxSelected) tell(objectTexts.tooMany(all, maxSelected));
    });
  }

  function showSummary() {
    const isCurrent = isNewestSummary();
    return act(async () => {
      const numbers = shown.filter(({ name, type }) => type === 'number' && name !== 'x' && name !== 'y');
      const columns = numbers.slice(0, maxSummed).map(({ name }) => name);
      summary.clear();
      const { categories } = await summaryOf(record, { filter: scope.chosen(), columns }, signal);
      if (!signal.aborted && isCurrent()) summary.show(categories, columns);
    });
  }

  async function copy() {
    const filter = scope.chosen();
    const name = objectTexts.newName(nameOf(record));
    await copyToAnnotation(record, filter, { itemId, name });
    if (signal.aborted) return;
    await onMade();
    tell(annotationTexts.created(name));
  }

  /** The row of a shape is found by counting those before it. */
  async function reveal({ id }: Pick<Element, 'id'>) {
    void plot.mark(id);
    await act(async () => {
      const isCurrent = isNewest();
      const { column, descending } = sorting;
      const mine: ObjectFilter = { column: 'id', in: [id] };
      const { rows: found } = await rowsOf(record, { filter: mine, columns: ['x', 'y', column], limit: 1 }, signal);
      const [row] = found;
      if (signal.aborted || !isCurrent() || !row) return;
      const [x, y, value] = row;
      select(new Map([[id, { x: Number(x), y: Number(y) }]]));
      if (typeof value !== 'number') return;
      const before: ObjectFilter = { column, ...(descending ? { gte: value } : { lte: value }) };
      const { total } = await rowsOf(record, { filter: allOf(filters.filter, before), columns: ['id'], limit: 0 }, signal);
      if (!signal.aborted && isCurrent()) rows.scrollTo(Math.max(0, total - 1));
    });
  }
}
