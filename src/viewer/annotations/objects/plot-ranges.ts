import { h } from '../../dom.js';
import { objectTexts } from '../../object-texts.js';
import { combineFilters, rangeFilter, type ObjectFilter } from './object-requests.js';

/** A range of the values of a column. `null` is a missing bound. */
export type Range = { column: string; low: number | null; high: number | null };

export function filterOfRanges(ranges: readonly Range[]): ObjectFilter | null {
  return combineFilters(...ranges.map(rangeFilter));
}

/** Fields for the bounds of columns, and buttons that use the entered bounds. */
export function rangeFields(
  columns: readonly string[],
  ranges: readonly Range[],
  handlers: { select: (ranges: Range[]) => void; filter: (ranges: Range[]) => void },
): HTMLElement[] {
  const boundInputs = columns.map((column, index) => ({
    column,
    low: boundInput(column, 'low', ranges[index]?.low),
    high: boundInput(column, 'high', ranges[index]?.high),
  }));
  const readRanges = () =>
    boundInputs
      .map(({ column, low, high }) => ({ column, low: numberOf(low), high: numberOf(high) }))
      .filter(({ low, high }) => low !== null || high !== null);
  const actionButton = (label: string, call: (enteredRanges: Range[]) => void) => {
    const callWithRanges = () => {
      const enteredRanges = readRanges();
      if (enteredRanges.length > 0) call(enteredRanges);
    };
    return h('button.button', { onclick: callWithRanges }, label);
  };
  return [
    ...boundInputs.flatMap(({ low, high }) => [low, high]),
    actionButton(objectTexts.selectRange, handlers.select),
    actionButton(objectTexts.toFilter, handlers.filter),
  ];
}

function boundInput(column: string, bound: 'low' | 'high', value: number | null | undefined) {
  return h('input', {
    type: 'number',
    step: 'any',
    value: typeof value === 'number' ? Number(value.toPrecision(5)) : '',
    placeholder: `${bound === 'low' ? '≥' : '≤'} ${column}`,
    'aria-label': objectTexts[bound](column),
  });
}

function numberOf({ valueAsNumber }: HTMLInputElement) {
  return Number.isNaN(valueAsNumber) ? null : valueAsNumber;
}
