import { fill, h, linkButton, type Child } from '../../dom.js';
import { formatCount } from '../../format.js';
import { commonTexts } from '../../texts.js';
import { annotationTexts } from '../../annotation-texts.js';
import type { Cell } from '../objects/object-requests.js';

/** Number of categories that are listed initially, and added by each click on “Show more”. */
const listStep = 100;

/** If there are more categories, a search field is shown. */
const maxWithoutSearch = 12;

/** A category, or a group of shapes. */
export interface Category<Value extends Cell> {
  value: Value;
  color: string;
  count: number;
}

/** A list of categories with their counts and their colors, which can be changed. Only some categories are listed at first; the user can find or list all others. */
export function categoryList<Value extends Cell>(options: {
  label: string;
  /** the label of the field that finds a category */
  searchLabel: string;
  onColor: (value: Value, color: string) => void;
  /** Makes the elements that name a category, with controls next to the name; `refresh` updates their state. */
  makeNameControls?: (value: Value, displayName: string) => { elements: Child[]; refresh: () => void };
}) {
  const { label, searchLabel, onColor, makeNameControls } = options;
  let categories: readonly Category<Value>[] = [];
  let listedCount = listStep;
  let alwaysListed: Value | undefined;
  let areColorsFixed = false;
  let rows: Map<Value, ReturnType<typeof makeRow>> = new Map();
  const searchInput = h('input', {
    type: 'search',
    placeholder: searchLabel,
    'aria-label': searchLabel,
    hidden: true,
    oninput: () => search(),
  });
  const list = h('ul.legend-groups.column', { 'aria-label': label });
  return { elements: [searchInput, list], show, recreateRows };

  /** @param display `areColorsFixed`: the colors cannot be changed; `alwaysListed`: a category that is always listed */
  function show(
    newCategories: readonly Category<Value>[],
    display: { areColorsFixed?: boolean; alwaysListed?: Value | undefined } = {},
  ) {
    categories = newCategories;
    ({ areColorsFixed = false, alwaysListed } = display);
    searchInput.hidden = categories.length <= maxWithoutSearch && searchInput.value === '';
    refreshRows();
  }

  /** Must be called when the rows need other controls than before. */
  function recreateRows() {
    rows = new Map();
    refreshRows();
  }

  function search() {
    listedCount = listStep;
    refreshRows();
  }

  function refreshRows() {
    const searchText = searchInput.value.trim().toLowerCase();
    const matches = categories.filter(({ value }) => categoryName(value).toLowerCase().includes(searchText));
    const listedMatches = matches.slice(0, listedCount);
    const extraCategories = categories.filter((category) => category.value === alwaysListed && !listedMatches.includes(category));
    const shownRows = [...extraCategories, ...listedMatches].map((category) => {
      const row = rows.get(category.value) ?? makeRow(category.value);
      row.show(category);
      return [category.value, row] as const;
    });
    rows = new Map(shownRows);
    const elements: Element[] = shownRows.map(([, { element }]) => element);
    const unlistedCount = matches.length - listedMatches.length;
    if (unlistedCount > 0) elements.push(moreRow(unlistedCount));
    // Rows that have not changed are not replaced, so that they keep the focus and the color that is being chosen.
    const areRowsSame =
      elements.length === list.children.length && elements.every((element, index) => list.children[index] === element);
    if (!areRowsSame) fill(list, ...elements);
  }

  function moreRow(count: number) {
    const showMore = () => {
      listedCount += listStep;
      refreshRows();
    };
    const button = linkButton(annotationTexts.showMore(Math.min(count, listStep)), showMore);
    return h('li.quiet-text.row.wrap', annotationTexts.more(count), button);
  }

  function makeRow(value: Value) {
    const displayName = categoryName(value);
    const colorLabel = commonTexts.colorOf(displayName);
    const color = h('input.swatch', { type: 'color', 'aria-label': colorLabel, onchange: () => onColor(value, color.value) });
    const count = h('span.count.quiet-text.small');
    const controls = makeNameControls?.(value, displayName) ?? { elements: [h('span.clip.grow', displayName)], refresh() {} };
    const element = h('li.row', { title: displayName }, color, controls.elements, count);
    return {
      element,
      show(category: Category<Value>) {
        color.value = category.color;
        color.dataset.color = category.color;
        color.disabled = areColorsFixed;
        count.textContent = formatCount(category.count);
        controls.refresh();
      },
    };
  }
}

function categoryName(value: Cell) {
  return annotationTexts.groupName(value === null ? null : String(value));
}
