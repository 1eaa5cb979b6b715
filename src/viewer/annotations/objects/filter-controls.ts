import { button, fill, h } from '../../dom.js';
import { objectTexts } from '../../object-texts.js';
import { annotationTexts } from '../../annotation-texts.js';
import { columnConditions } from '../coloring/coloring.js';
import type { Range } from './plot-ranges.js';
import { combineFilters, rangeFilter, type Cell, type ObjectColumn, type ObjectFilter } from './object-requests.js';

/** A condition on a column: a range for a column of numbers, some of the categories for another column. */
interface Condition {
  column: ObjectColumn;
  low: number | null;
  high: number | null;
  categories: Cell[];
}

/** Filters of the table: a range of numbers or categories for each chosen column. */
export function filterControls(initial: ObjectFilter | null, onChange: () => void) {
  let columns: ObjectColumn[] = [];
  /** A filter that is applied as soon as the columns are known. `null` is the empty filter; `undefined` means that no filter is waiting. */
  let pendingFilter: ObjectFilter | null | undefined = initial;
  const conditions: Condition[] = [];
  const list = h('ul.plain-list.object-conditions');
  const columnList = h('select', { 'aria-label': objectTexts.addFilter, onchange: () => addCondition() });
  return {
    element: h('div.object-filters.row.wrap', list, columnList),
    get filter(): ObjectFilter | null {
      return pendingFilter === undefined ? combineFilters(...conditions.map(filterOf)) : pendingFilter;
    },
    /** Replaces all conditions. */
    set(newFilter: ObjectFilter | null) {
      pendingFilter = newFilter;
      applyPendingFilter();
    },
    setColumns(newColumns: ObjectColumn[]) {
      columns = newColumns.filter(({ type }) => type !== 'id');
      fill(
        columnList,
        h('option', { value: '' }, objectTexts.addFilter),
        ...columns.map(({ name }) => h('option', { value: name }, name)),
      );
      applyPendingFilter();
    },
    /** Adds or replaces ranges of columns. */
    setRanges(ranges: readonly Range[]) {
      for (const { column: name, low, high } of ranges) {
        const column = columns.find((candidate) => candidate.name === name);
        const condition = conditions.find((candidate) => candidate.column.name === name);
        if (condition) Object.assign(condition, { low, high });
        else if (column) conditions.push({ column, low, high, categories: [] });
      }
      showConditions();
      onChange();
    },
  };

  function applyPendingFilter() {
    if (pendingFilter === undefined || columns.length === 0) return;
    conditions.length = 0;
    for (const { column: name, gte = null, lte = null, in: categories = [] } of columnConditions(pendingFilter)) {
      const column = columns.find((candidate) => candidate.name === name);
      if (column) conditions.push({ column, low: gte, high: lte, categories });
    }
    pendingFilter = undefined;
    showConditions();
  }

  function addCondition() {
    const column = columns.find(({ name }) => name === columnList.value);
    columnList.value = '';
    if (!column || conditions.some((candidate) => candidate.column.name === column.name)) return;
    conditions.push({ column, low: null, high: null, categories: [] });
    showConditions();
    list.querySelector<HTMLElement>('li:last-child :is(input, select)')?.focus();
  }

  function showConditions() {
    fill(list, ...conditions.map(conditionRow));
  }

  function conditionRow(condition: Condition) {
    const { column } = condition;
    const removeCondition = () => {
      conditions.splice(conditions.indexOf(condition), 1);
      showConditions();
      columnList.focus();
      onChange();
    };
    const removeButton = button('', removeCondition, { icon: 'close', name: objectTexts.removeFilterNamed(column.name) });
    return h(
      'li.row',
      h('span.clip', { title: column.name }, column.name),
      ...conditionInputs(condition, onChange),
      removeButton,
    );
  }
}

/** Two fields for the bounds of numbers, or a list of categories. */
function conditionInputs(condition: Condition, onChange: () => void): HTMLElement[] {
  const { column } = condition;
  if (column.type !== 'number') return [categoryInput(condition, onChange)];
  return (['low', 'high'] as const).map((bound) => boundInput(condition, bound, onChange));
}

function boundInput(condition: Condition, bound: 'low' | 'high', onChange: () => void) {
  const { name, min, max } = condition.column;
  const columnBound = bound === 'low' ? min : max;
  const input = h('input', {
    type: 'number',
    step: 'any',
    value: condition[bound] ?? '',
    placeholder: columnBound === undefined ? '' : String(Number(columnBound.toPrecision(4))),
    'aria-label': objectTexts[bound](name),
    onchange() {
      condition[bound] = input.value === '' ? null : input.valueAsNumber;
      onChange();
    },
  });
  return input;
}

function categoryInput(condition: Condition, onChange: () => void) {
  const { name, categories = [] } = condition.column;
  const values = categories.map(({ value }) => value);
  const options = values.map((value, index) => {
    const optionText = value === null ? annotationTexts.groupName(null) : String(value);
    return h('option', { value: index, selected: condition.categories.includes(value) }, optionText);
  });
  const attributes = { multiple: true, size: 3, 'aria-label': name };
  const input = h('select', { ...attributes, onchange: () => choose() }, ...options);
  return input;

  function choose() {
    condition.categories = [...input.selectedOptions].map(({ value }) => values[Number(value)] ?? null);
    onChange();
  }
}

function filterOf({ column, low, high, categories }: Condition): ObjectFilter | null {
  const { name } = column;
  if (column.type !== 'number') return categories.length > 0 ? { column: name, in: categories } : null;
  return rangeFilter({ column: name, low, high });
}
