import { actions, button, debounced, h } from '../../dom.js';
import { objectTexts } from '../../object-texts.js';
import { commonTexts } from '../../texts.js';
import { nameOf, type AnnotationRecord, type Box, type Element, type Point } from '../annotation-model.js';
import { filterControls } from './filter-controls.js';
import { objectActions } from './object-actions.js';
import { ObjectTable } from './object-table.js';
import { createTaskRunner, type ObjectsContext } from './objects-context.js';
import { ObjectPlot } from './plot.js';
import { requestColumns, type ObjectFilter } from './object-requests.js';
import { scopeChoice } from './scope-choice.js';
import { summaryTable } from './summary-table.js';

/** Columns that the table does not show: ids, the order of shapes, and their boxes, which the image shows. */
const hiddenColumns = new Set(['id', 'order', 'xmin', 'ymin', 'xmax', 'ymax']);
/** Maximum number of shown columns. Files contain all columns. */
const maxColumns = 60;

export interface ObjectsPanelOptions {
  record: AnnotationRecord;
  itemId: string;
  /** whether the user may create annotations of this item */
  mayCreate: boolean;
  /** the visible part of the image */
  currentView: () => Box;
  /** the area that was measured or selected on the image; `null` if there is none */
  drawnOutline: () => Point[] | null;
  /** moves the view to a point of the image */
  goTo: (imagePoint: Point) => void;
  /** called when the shapes to mark on the image have changed */
  onMarksChange: () => void;
  onCreated: () => Promise<unknown>;
  initialFilter: ObjectFilter | null;
  /** called when the user has changed the filter, which also applies to the image */
  onFilter: (filter: ObjectFilter | null) => void;
  onClose: () => void;
  signal: AbortSignal;
}

/** The table, the summary and the plots of the shapes of an annotation. */
export function objectsPanel(options: ObjectsPanelOptions) {
  const { currentView, drawnOutline, onMarksChange, onClose, signal } = options;
  let { record } = options;
  const taskRunner = createTaskRunner(signal);
  const context: ObjectsContext = { currentRecord: () => record, run: taskRunner.run, onError: taskRunner.onError, signal };
  const filters = filterControls(
    options.initialFilter,
    debounced(() => {
      if (signal.aborted) return;
      options.onFilter(filters.filter);
      void reload();
    }, 150),
  );
  const currentFilter = () => filters.filter;
  const table = new ObjectTable({
    ...context,
    currentFilter,
    goTo: options.goTo,
    onSelection() {
      onMarksChange();
      if (scope.isSelection()) void summary.refresh();
    },
    onClear: () => void plot.markShape(null),
  });
  const plot = new ObjectPlot({
    ...context,
    currentFilter,
    onSelect: (ranges) => void table.selectRanges(ranges),
    onFilter: (ranges) => filters.setRanges(ranges),
  });
  const selectedIds = () => table.selectedPoints.keys();
  const scope = scopeChoice({ currentFilter, selectedIds, currentView, drawnOutline, onChange: () => void summary.load() });
  const summary = summaryTable({ ...context, currentFilter: scope.chosenFilter });
  const views = makeTabs({ table: table.element, summary: summary.element, plot: plot.element }, (name) => {
    void plot.refresh(name === 'plot');
    void summary.refresh();
  });
  const closeButton = button('', onClose, { icon: 'close', name: commonTexts.close });
  const heading = [h('h2.clip', nameOf(record)), table.countElement, table.clearButton, views.tabs, closeButton];
  const element = h(
    'section.objects-panel.surface',
    {
      'aria-label': objectTexts.tableOf(nameOf(record)),
      onkeydown: ({ key }: KeyboardEvent) => key === 'Escape' && onClose(),
    },
    h('div.object-heading.row.wrap', ...heading),
    filters.element,
    taskRunner.element,
    views.element,
    h('div.object-scope.row.wrap', scope.element, objectActions({ ...options, ...context, currentFilter: scope.chosenFilter })),
  );
  void load();
  return {
    element,
    closeButton,
    /** Positions of the selected shapes on the image, by the ids of the shapes; `null` while a position is not known. */
    get selectedPoints() {
      return table.selectedPoints;
    },
    /** Selects a shape that was clicked on the image, and scrolls to its row. */
    reveal({ id }: Pick<Element, 'id'>) {
      void plot.markShape(id);
      return table.reveal(id);
    },
    /** Shows the shapes that match a filter that was changed elsewhere. */
    setFilter(newFilter: ObjectFilter | null) {
      if (JSON.stringify(newFilter) === JSON.stringify(filters.filter)) return;
      filters.set(newFilter);
      void reload();
    },
    /** Shows another version of the annotation. */
    update(newRecord: AnnotationRecord) {
      if (newRecord._version === record._version) return;
      record = newRecord;
      void load();
    },
  };

  /** Loads the columns of the version, and then shows everything about its shapes. */
  function load() {
    return taskRunner.run(async () => {
      const columns = await requestColumns(record, signal);
      const shownColumns = columns.filter(({ name, count }) => !hiddenColumns.has(name) && count > 0).slice(0, maxColumns);
      filters.setColumns(columns);
      plot.setColumns(columns);
      summary.setColumns(shownColumns);
      table.setColumns(shownColumns.map(({ name }) => name));
      await plot.refresh();
      await summary.refresh();
    });
  }

  /** Shows the shapes that match a changed filter. */
  async function reload() {
    taskRunner.clear();
    table.reload();
    await plot.refresh();
    await summary.refresh();
  }
}

/** Views, each with a button that opens it. One view is visible, initially the first. */
function makeTabs<Name extends 'table' | 'summary' | 'plot'>(views: Record<Name, HTMLElement>, onOpen: (name: Name) => void) {
  const names = Object.keys(views) as Name[];
  const tabs = names.map((name, index) => button(objectTexts[name], () => open(name), { isPressed: index === 0 }));
  open(names[0] as Name);
  return { tabs: actions(...tabs), element: h('div.object-views', ...names.map((name) => views[name])) };

  function open(name: Name) {
    for (const otherName of names) views[otherName].hidden = otherName !== name;
    for (const [index, tab] of tabs.entries()) tab.setAttribute('aria-pressed', String(names[index] === name));
    onOpen(name);
  }
}
