import { actions, button, debounced, errorNotice, fill, h, newestOnly, tell } from '../../dom.js';
import { formatCount } from '../../format.js';
import { objectTexts } from '../../object-texts.js';
import { browseTexts, commonTexts } from '../../texts.js';
import { annotationTexts } from '../../annotation-texts.js';
import { nameOf, type AnnotationRecord, type Box, type Element, type Point } from '../model.js';
import { filterControls } from './filters.js';
import { filterOfRanges, plotControls, type Range } from './plot.js';
import {
  allOf,
  columnsOf,
  copyToAnnotation,
  idsOf,
  rowsOf,
  saveTable,
  summaryOf,
  type Cell,
  type ObjectColumn,
  type ObjectFilter,
} from './requests.js';
import { ObjectRows, type ObjectRow, type Sorting } from './rows.js';

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

type Scope = 'all' | 'selection' | 'view' | 'outline';

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
  onClose: () => void;
  signal: AbortSignal;
}

/** The table, the summary and the plots of the shapes of an annotation. */
export function objectsPanel(options: ObjectsPanelOptions) {
  const { itemId, mayCreate, view, outline, goTo, onMarks, onMade, onClose, signal } = options;
  let { record } = options;
  let shown: ObjectColumn[] = [];
  let sorting: Sorting = { column: 'order', descending: false };
  /** Positions of the selected shapes by their ids; `null` until they are known. */
  let selected: Map<string, Point | null> = new Map();
  const isNewest = newestOnly();
  const isNewestSummary = newestOnly();
  const message = h('div', { role: 'alert' });
  const count = h('span.quiet-text.small', { role: 'status' });
  const summary = h('div.object-summary', { tabindex: 0, role: 'group', 'aria-label': objectTexts.summary });
  const filters = filterControls(debounced(() => void refresh(), 150));
  const rows = new ObjectRows({
    label: objectTexts.tableOf(nameOf(record)),
    load: loadRows,
    isSelected: (id) => selected.has(id),
    onSelect: (row, isSelected) => {
      if (isSelected) selected.set(row.id, { x: row.x, y: row.y });
      else selected.delete(row.id);
      afterSelection();
    },
    onShow(row) {
      selected.set(row.id, { x: row.x, y: row.y });
      goTo({ x: row.x, y: row.y });
      afterSelection();
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
  const scopes: Record<Scope, string> = {
    all: objectTexts.everything,
    selection: objectTexts.selection,
    view: objectTexts.inView,
    outline: objectTexts.inOutline,
  };
  const scope = h(
    'select',
    { 'aria-label': objectTexts.of, title: objectTexts.of, onchange: () => void showSummary() },
    ...Object.entries(scopes).map(([value, words]) => h('option', { value }, words)),
  );
  const clear = h('button.link-button', { hidden: true, onclick: () => selectAll(new Map()) });
  const ofScope = h(
    'div.object-scope.row.wrap',
    scope,
    actions(
      button(objectTexts.csv, () => void act(() => saveTable(record, scopeFilter(), 'csv', nameOf(record))), {
        picture: 'download',
      }),
      button(objectTexts.parquet, () => void act(() => saveTable(record, scopeFilter(), 'parquet', nameOf(record))), {
        picture: 'download',
      }),
      mayCreate && button(objectTexts.newAnnotation, () => void act(copy), { picture: 'plus' }),
    ),
  );
  const views = { table: rows.element, summary, plot: plot.element };
  const tabs = (['table', 'summary', 'plot'] as const).map((name) => ({
    name,
    button: button(objectTexts[name], () => open(name), { isPressed: name === 'table' }),
  }));
  const close = button('', onClose, { picture: 'close', name: commonTexts.close });
  const element = h(
    'section.objects-panel.surface',
    { 'aria-label': objectTexts.tableOf(nameOf(record)) },
    h(
      'div.object-heading.row.wrap',
      h('h2.clip', nameOf(record)),
      count,
      clear,
      actions(...tabs.map((tab) => tab.button)),
      close,
    ),
    filters.element,
    message,
    h('div.object-views', ...Object.values(views)),
    ofScope,
  );
  element.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') onClose();
  });
  open('table');
  void load();
  return {
    element,
    close,
    get marked(): ReadonlyMap<string, Point | null> {
      return selected;
    },
    /** Selects a shape that was clicked on the image, and scrolls to its row. */
    reveal,
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
    if (!views.summary.hidden) await showSummary();
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

  function selectAll(next: Map<string, Point | null>) {
    selected = next;
    rows.refresh();
    afterSelection();
  }

  function afterSelection() {
    clear.hidden = selected.size === 0;
    clear.textContent = `${objectTexts.selected(selected.size)} ✕`;
    clear.setAttribute('aria-label', `${objectTexts.selected(selected.size)}. ${browseTexts.clearSelection}`);
    onMarks();
    if (scope.value === 'selection' && !views.summary.hidden) void showSummary();
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
      selectAll(next);
      if (all > maxSelected) tell(objectTexts.tooMany(all, maxSelected));
    });
  }

  /** The filter for the shapes that the user has chosen. @throws Error if there are none */
  function scopeFilter(): ObjectFilter | null {
    const { filter } = filters;
    const chosen = scope.value as Scope;
    if (chosen === 'all') return filter;
    if (chosen === 'selection') {
      if (selected.size === 0) throw new Error(objectTexts.notSelected);
      return { column: 'id', in: [...selected.keys()] };
    }
    if (chosen === 'view') {
      const { left, top, right, bottom } = view();
      return allOf(filter, { region: [left, top, right, bottom] });
    }
    const points = outline();
    if (!points) throw new Error(objectTexts.noOutline);
    return allOf(filter, { region: points.map(({ x, y }) => [x, y]) });
  }

  function showSummary() {
    const isCurrent = isNewestSummary();
    return act(async () => {
      const numbers = shown.filter(({ name, type }) => type === 'number' && name !== 'x' && name !== 'y');
      const columns = numbers.slice(0, maxSummed).map(({ name }) => name);
      fill(summary);
      const { categories } = await summaryOf(record, { filter: scopeFilter(), columns }, signal);
      if (signal.aborted || !isCurrent()) return;
      if (categories.length === 0) return fill(summary, h('p.quiet-text', objectTexts.none));
      const head = [annotationTexts.group, objectTexts.count, ...columns.map((name) => objectTexts.mean(name))];
      const body = categories.map(({ value, count: number, columns: sums }) => {
        const cells = columns.map((name) => h('td.numbers', meanOf(sums[name])));
        return h(
          'tr',
          h('th', { scope: 'row' }, annotationTexts.groupName(value === null ? null : String(value))),
          h('td.numbers', formatCount(number)),
          ...cells,
        );
      });
      const heads = head.map((name) => h('th', { scope: 'col' }, name));
      fill(summary, h('table.object-table.small', h('thead', h('tr', ...heads)), h('tbody', ...body)));
    });
  }

  async function copy() {
    const filter = scopeFilter();
    const name = objectTexts.newName(nameOf(record));
    await copyToAnnotation(record, filter, { itemId, name });
    if (signal.aborted) return;
    await onMade();
    tell(annotationTexts.created(name));
  }

  /** The row of a shape is found by counting those before it. */
  async function reveal({ id }: Pick<Element, 'id'>) {
    await act(async () => {
      const isCurrent = isNewest();
      const { column, descending } = sorting;
      const mine: ObjectFilter = { column: 'id', in: [id] };
      const { rows: found } = await rowsOf(record, { filter: mine, columns: ['x', 'y', column], limit: 1 }, signal);
      const [row] = found;
      if (signal.aborted || !isCurrent() || !row) return;
      const [x, y, value] = row;
      selectAll(new Map([[id, { x: Number(x), y: Number(y) }]]));
      if (typeof value !== 'number') return;
      const before: ObjectFilter = { column, ...(descending ? { gte: value } : { lte: value }) };
      const { total } = await rowsOf(record, { filter: allOf(filters.filter, before), columns: ['id'], limit: 0 }, signal);
      if (!signal.aborted && isCurrent()) rows.scrollTo(Math.max(0, total - 1));
    });
  }
}

function meanOf(sums: { mean: number | null; deviation: number | null } | undefined) {
  if (!sums || sums.mean === null) return '';
  const short = (value: number) => String(Number(value.toPrecision(4)));
  return sums.deviation === null ? short(sums.mean) : `${short(sums.mean)} ± ${short(sums.deviation)}`;
}
