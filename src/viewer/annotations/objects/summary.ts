import { fill, h } from '../../dom.js';
import { formatCount } from '../../format.js';
import { annotationTexts } from '../../annotation-texts.js';
import { objectTexts } from '../../object-texts.js';
import type { summaryOf } from './requests.js';

type Categories = Awaited<ReturnType<typeof summaryOf>>['categories'];

/** The counts of the groups, and the means of their measurements. */
export function summaryTable() {
  const element = h('div.object-summary', { tabindex: 0, role: 'group', 'aria-label': objectTexts.summary });
  return { element, clear: () => fill(element), show };

  /** @param columns the names of the measurements */
  function show(categories: Categories, columns: readonly string[]) {
    if (categories.length === 0) return fill(element, h('p.quiet-text', objectTexts.none));
    const head = [annotationTexts.group, objectTexts.count, ...columns.map((name) => objectTexts.mean(name))];
    const heads = head.map((name) => h('th', { scope: 'col' }, name));
    const body = categories.map(({ value, count, columns: sums }) => {
      const name = annotationTexts.groupName(value === null ? null : String(value));
      const cells = [formatCount(count), ...columns.map((column) => meanOf(sums[column]))];
      return h('tr', h('th', { scope: 'row' }, name), ...cells.map((cell) => h('td.numbers', cell)));
    });
    fill(element, h('table.object-table.small', h('thead', h('tr', ...heads)), h('tbody', ...body)));
  }
}

function meanOf(sums: { mean: number | null; deviation: number | null } | undefined) {
  if (!sums || sums.mean === null) return '';
  const short = (value: number) => String(Number(value.toPrecision(4)));
  return sums.deviation === null ? short(sums.mean) : `${short(sums.mean)} ± ${short(sums.deviation)}`;
}
