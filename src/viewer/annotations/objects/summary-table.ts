import { fill, h, trackNewest } from '../../dom.js';
import { formatCount, formatNumber } from '../../format.js';
import { annotationTexts } from '../../annotation-texts.js';
import { objectTexts } from '../../object-texts.js';
import type { ObjectsContext } from './objects-context.js';
import { requestSummary, type ObjectColumn, type ObjectFilter } from './object-requests.js';

type Categories = Awaited<ReturnType<typeof requestSummary>>['categories'];

/** Maximum number of measurements in the summary. */
const maxColumns = 12;

/** The counts of the groups, and the means of their measurements. */
export function summaryTable({
  currentRecord,
  currentFilter,
  run,
  signal,
}: ObjectsContext & { currentFilter: () => ObjectFilter | null }) {
  let columns: string[] = [];
  const trackLoad = trackNewest();
  const element = h('div.object-summary', { tabindex: 0, role: 'group', 'aria-label': objectTexts.summary });
  return {
    element,
    load: loadSummary,
    /** Loads the summary again if it is visible. */
    refresh: async () => element.hidden || loadSummary(),
    setColumns(allColumns: readonly ObjectColumn[]) {
      const numberColumns = allColumns.filter(({ name, type }) => type === 'number' && name !== 'x' && name !== 'y');
      columns = numberColumns.slice(0, maxColumns).map(({ name }) => name);
    },
  };

  function loadSummary() {
    const isCurrent = trackLoad();
    return run(async () => {
      fill(element);
      const { categories } = await requestSummary(currentRecord(), { filter: currentFilter(), columns }, signal);
      if (!signal.aborted && isCurrent()) show(categories);
    });
  }

  function show(categories: Categories) {
    if (categories.length === 0) return fill(element, h('p.quiet-text', objectTexts.none));
    const titles = [annotationTexts.group, objectTexts.count, ...columns.map((name) => objectTexts.mean(name))];
    const heads = titles.map((title) => h('th', { scope: 'col' }, title));
    const body = categories.map(({ value, count, columns: statistics }) => {
      const name = annotationTexts.groupName(value === null ? null : String(value));
      const cells = [formatCount(count), ...columns.map((column) => meanText(statistics[column]))];
      return h('tr', h('th', { scope: 'row' }, name), ...cells.map((cell) => h('td.numbers', cell)));
    });
    fill(element, h('table.object-table.small', h('thead', h('tr', ...heads)), h('tbody', ...body)));
  }
}

function meanText(statistics: { mean: number | null; deviation: number | null } | undefined) {
  if (!statistics || statistics.mean === null) return '';
  const format = (value: number) => formatNumber(value, 4);
  return statistics.deviation === null ? format(statistics.mean) : `${format(statistics.mean)} ± ${format(statistics.deviation)}`;
}
