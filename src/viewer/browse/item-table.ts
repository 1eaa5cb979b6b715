import { h, nameText } from '../dom.js';
import { goTo, routeHash } from '../router.js';
import { sortableHead } from '../sortable-head.js';
import { browseTexts } from '../texts.js';
import { cellOf, columnTitle } from './columns.js';
import { itemPicture } from './item-card.js';
import type { Item } from './model.js';
import type { ListAddress } from './order.js';

/** The items of a folder in rows, with chosen columns. A click on the title of a column sorts by it, and a second one reverses the order. */
export function itemTable(
  items: Item[],
  options: { folderId: string; columns: string[]; address: ListAddress; link: ListAddress; box: (item: Item) => HTMLElement },
) {
  const { folderId, columns, address, link, box } = options;
  const titles = [header(browseTexts.columnName, 'name'), ...columns.map((column) => header(columnTitle(column), column))];
  const rows = items.map((item) =>
    h(
      'tr.selectable',
      { 'data-item': item._id },
      h('td.row-box', box(item)),
      h('td.row-picture', itemPicture(item)),
      h(
        'th.break',
        { scope: 'row' },
        h('a', { href: routeHash('item', item._id, { ...link }), title: item.name }, nameText(item.name)),
      ),
      ...columns.map((column) => h('td.break', cellOf(item, column))),
    ),
  );
  const empty = () => h('td');
  return h(
    'div.table-scroll',
    { tabindex: 0, role: 'region', 'aria-label': browseTexts.itemTable },
    h('table.item-table', h('thead', h('tr', empty(), empty(), ...titles)), h('tbody', ...rows)),
  );

  function header(title: string, field: string) {
    const isUp = address.sort === field;
    const isDown = address.sort === `-${field}`;
    const next = isUp && field !== 'name' ? `-${field}` : field;
    const sort = () => goTo(routeHash('folder', folderId, { ...address, sort: next }));
    return sortableHead(title, isUp ? 'ascending' : isDown ? 'descending' : null, sort);
  }
}
