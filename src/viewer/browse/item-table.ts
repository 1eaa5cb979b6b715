import { h, nameText } from '../dom.js';
import { goTo, routeHash } from '../router.js';
import { sortableHead } from '../sortable-head.js';
import { browseTexts } from '../texts.js';
import { cellContent, columnTitle } from './item-columns.js';
import { itemPicture } from './item-card.js';
import type { Item } from './browse-model.js';
import type { ListAddress } from './list-order.js';

/** The items of a folder in rows, with chosen columns. A click on the title of a column sorts by it, and a second click reverses the order. */
export function itemTable(
  items: Item[],
  options: {
    folderId: string;
    columns: string[];
    /** the order and filter in the address of the folder's page */
    address: ListAddress;
    /** the order and filter in the addresses of the items, which the links to their neighbors use */
    itemListAddress: ListAddress;
    /** creates the check box that selects an item */
    createCheckbox: (item: Item) => HTMLElement;
  },
) {
  const { folderId, columns, address, itemListAddress, createCheckbox } = options;
  const titles = [
    headerCell(browseTexts.columnName, 'name'),
    ...columns.map((column) => headerCell(columnTitle(column), column)),
  ];
  const rows = items.map((item) =>
    h(
      'tr.selectable',
      { 'data-item': item._id },
      h('td.row-box', createCheckbox(item)),
      h('td.row-picture', itemPicture(item)),
      h(
        'th.break',
        { scope: 'row' },
        h('a', { href: routeHash('item', item._id, { ...itemListAddress }), title: item.name }, nameText(item.name)),
      ),
      ...columns.map((column) => h('td.break', cellContent(item, column))),
    ),
  );
  const emptyCell = () => h('td');
  return h(
    'div.table-scroll',
    { tabindex: 0, role: 'region', 'aria-label': browseTexts.itemTable },
    h('table.item-table', h('thead', h('tr', emptyCell(), emptyCell(), ...titles)), h('tbody', ...rows)),
  );

  function headerCell(title: string, field: string) {
    const isAscending = address.sort === field;
    const isDescending = address.sort === `-${field}`;
    const nextSort = isAscending && field !== 'name' ? `-${field}` : field;
    const sort = () => goTo(routeHash('folder', folderId, { ...address, sort: nextSort }));
    return sortableHead(title, isAscending ? 'ascending' : isDescending ? 'descending' : null, sort);
  }
}
