import { h } from '../../dom.js';
import { objectTexts } from '../../object-texts.js';
import type { Box, Point } from '../annotation-model.js';
import { combineFilters, type ObjectFilter } from './object-requests.js';

/** Which shapes the user has chosen. */
type Scope = 'all' | 'selection' | 'view' | 'outline';

/** The choice of the shapes that the summary, saved files and new annotations contain. */
export function scopeChoice(options: {
  /** the filter of the table */
  currentFilter: () => ObjectFilter | null;
  selectedIds: () => Iterable<string>;
  /** the visible part of the image */
  currentView: () => Box;
  /** the area that was measured or selected on the image; `null` if there is none */
  drawnOutline: () => Point[] | null;
  onChange: () => void;
}) {
  const { currentFilter, selectedIds, currentView, drawnOutline, onChange } = options;
  const names: Record<Scope, string> = {
    all: objectTexts.everything,
    selection: objectTexts.selection,
    view: objectTexts.inView,
    outline: objectTexts.inOutline,
  };
  const filters: Record<Scope, () => ObjectFilter | null> = {
    all: currentFilter,
    selection: selectionFilter,
    view: viewFilter,
    outline: outlineFilter,
  };
  const element = h(
    'select',
    { 'aria-label': objectTexts.whichShapes, title: objectTexts.whichShapes, onchange: onChange },
    ...Object.entries(names).map(([value, words]) => h('option', { value }, words)),
  );
  return {
    element,
    isSelection: () => element.value === 'selection',
    /** The filter for the chosen shapes. @throws Error if the user has chosen the selected shapes or the outline, but there are none */
    chosenFilter: () => filters[element.value as Scope](),
  };

  function selectionFilter(): ObjectFilter {
    const ids = [...selectedIds()];
    if (ids.length === 0) throw new Error(objectTexts.notSelected);
    return { column: 'id', in: ids };
  }

  function viewFilter() {
    const { left, top, right, bottom } = currentView();
    return combineFilters(currentFilter(), { region: [left, top, right, bottom] });
  }

  function outlineFilter() {
    const points = drawnOutline();
    if (!points) throw new Error(objectTexts.noOutline);
    return combineFilters(currentFilter(), { region: points.map(({ x, y }) => [x, y]) });
  }
}
