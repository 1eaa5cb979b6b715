import { requestList } from '../api.js';
import { button, debounced, errorNotice, fill, h, icon, trackNewest } from '../dom.js';
import { choice } from '../forms.js';
import { goTo, parseRoute, replaceRoute, routeHash, type Route } from '../router.js';
import { browseTexts } from '../texts.js';
import { askForColumns, chosenColumns, columnTitle } from './item-columns.js';
import { itemCard } from './item-card.js';
import { stateFilter } from './item-state.js';
import { itemTable } from './item-table.js';
import { isSame, type Folder, type Item } from './browse-model.js';
import { readListSettings, readListAddress, orderParameters, type ListSettings } from './list-order.js';
import { readPage } from './paging.js';
import type { createSelection } from './list-selection.js';

/** A note for an empty list or page. */
export function emptyNote(iconName: 'folder' | 'image' | 'inbox' | 'people' | 'trash', title: string, hint: string | false) {
  return h('div.empty.column.quiet-text', icon(iconName), h('h2', title), hint && h('p', hint));
}

interface ItemListOptions {
  folder: Pick<Folder, '_id' | '_accessLevel'>;
  route: Route;
  mayWrite: boolean;
  signal: AbortSignal;
  selection: ReturnType<typeof createSelection>;
}

/** The items of a folder, as cards or as rows with chosen columns. The user can filter and order the list. */
export function itemList(options: ItemListOptions) {
  const { folder, mayWrite, selection, signal } = options;
  let { query: addressQuery } = options.route;
  let folderDefaults: ListSettings = { columns: [], sort: null };
  let columns: string[] = [];
  let shownList: { entries: Item[]; total: number };
  const trackLoad = trackNewest();
  const countHeading = h('h2.count.quiet-text.small');
  const filterInput = h('input', {
    type: 'search',
    autocomplete: 'off',
    placeholder: browseTexts.filter,
    'aria-label': browseTexts.filter,
    title: browseTexts.filterHint,
    oninput: debounced(() => void searchItems()),
  });
  filterInput.value = addressQuery.get('find') ?? '';
  const orderSlot = h('span');
  const stateSlot = h('span');
  const columnsButton = button(browseTexts.columns, () =>
    askForColumns({ folderId: folder._id, items: shownList.entries, shownColumns: columns, onChosen: showColumns }),
  );
  const tools = h('div.list-tools.row.wrap', filterInput, stateSlot, orderSlot, columnsButton);
  const heading = h('div.list-heading.row.wrap.between', countHeading, tools);
  const body = h('div', { 'aria-live': 'polite' });
  const element = h('section', { 'aria-label': browseTexts.itemsLabel }, heading, body);
  return { element, open, reload, hasListChanged: async () => !isSame(shownList, await requestItems()) };

  /** Reads the configuration of the folder, and shows the items. */
  async function open() {
    folderDefaults = await readListSettings(folder._id, signal);
    columns = chosenColumns(folder._id, folderDefaults.columns);
    await reload();
  }

  function currentPage() {
    return readPage(addressQuery, { parameter: 'items', size: 48, listName: 'items' });
  }

  function requestItems() {
    const { sort, find } = readListAddress(addressQuery);
    const orderQuery =
      orderParameters(sort) ?? (folderDefaults.sort === null ? orderParameters('name') : { sort: folderDefaults.sort });
    return requestList('item', { query: { folderId: folder._id, find, ...currentPage().query, ...orderQuery }, signal });
  }

  async function searchItems() {
    if (signal.aborted) return;
    const { sort } = readListAddress(addressQuery);
    if (!replaceRoute(routeHash('folder', folder._id, { sort, find: filterInput.value.trim() || null }))) return;
    addressQuery = parseRoute().query;
    await reload().catch((error: unknown) => signal.aborted || fill(body, errorNotice(error)));
  }

  function applyFilter(find: string) {
    filterInput.value = find;
    void searchItems();
  }

  function showColumns(newColumns: string[]) {
    columns = newColumns;
    showItems();
  }

  async function reload() {
    const isNewest = trackLoad();
    const loadedList = await requestItems();
    signal.throwIfAborted();
    if (!isNewest()) return;
    shownList = loadedList;
    showItems();
  }

  function showItems() {
    const { entries, total } = shownList;
    const currentAddress = readListAddress(addressQuery);
    heading.hidden = total === 0 && currentAddress.find === null;
    countHeading.textContent = browseTexts.items(total);
    fill(
      orderSlot,
      orderChoice({
        sort: currentAddress.sort,
        defaultOrder: folderDefaults.sort === null ? 'name' : '',
        columns,
        onChoose: (sort) => goTo(routeHash('folder', folder._id, { sort, find: currentAddress.find })),
      }),
    );
    fill(stateSlot, stateFilter({ items: entries, find: currentAddress.find ?? '', onFind: applyFilter }));
    if (total === 0) return fill(body, noItemsNote(currentAddress.find, mayWrite));
    const createCheckbox = (item: Item) => selection.createCheckbox({ type: 'item', doc: item, level: folder._accessLevel });
    // In the address of an item, `null` means the order of the folder. If the folder has no order, this page sorts by name, and the address must say so.
    const listAddress = { ...currentAddress, sort: currentAddress.sort ?? (folderDefaults.sort === null ? 'name' : null) };
    const items =
      columns.length > 0
        ? itemTable(entries, {
            folderId: folder._id,
            columns,
            address: currentAddress,
            itemListAddress: listAddress,
            createCheckbox,
          })
        : h('ul.cards', ...entries.map((item) => itemCard(item, { checkbox: createCheckbox(item), listAddress })));
    fill(body, items, currentPage().createLinks(total));
    selection.update();
  }
}

function noItemsNote(find: string | null, mayWrite: boolean) {
  return find
    ? emptyNote('image', browseTexts.nothingFound(find), browseTexts.filterHint)
    : emptyNote('image', browseTexts.noItems, mayWrite && browseTexts.noItemsHint);
}

/** The select for the sort order: the folder's own order, the orders that every folder has, and the columns. */
function orderChoice(options: {
  /** the order that the address names; `null` if it names none */
  sort: string | null;
  /** the order that applies if the address names none; `''` is the folder's own order */
  defaultOrder: string;
  columns: readonly string[];
  onChoose: (sort: string | null) => void;
}) {
  const { sort, defaultOrder, columns, onChoose } = options;
  const columnOrders = columns.flatMap((column): [string, string][] => [
    [column, columnTitle(column)],
    [`-${column}`, browseTexts.descending(columnTitle(column))],
  ]);
  const orderTitles = {
    ...(defaultOrder === '' && { '': browseTexts.folderOrder }),
    ...browseTexts.sorts,
    ...Object.fromEntries(columnOrders),
  };
  const currentOrder = sort ?? defaultOrder;
  const orders =
    currentOrder in orderTitles ? orderTitles : { ...orderTitles, [currentOrder]: columnTitle(currentOrder.replace(/^-/, '')) };
  const select = choice(orders, currentOrder, {
    'aria-label': browseTexts.sortBy,
    onchange: () => onChoose(select.value === defaultOrder ? null : select.value),
  });
  return select;
}
