import { h } from './dom.js';

const arrows = { ascending: ' ↑', descending: ' ↓' };

/** The header cell of a column by which a table can be sorted. @param order the direction in which this column sorts the table; `null` while another column sorts the table */
export function sortableHead(title: string, order: keyof typeof arrows | null, onSort: () => void) {
  const arrow = order && h('span', { 'aria-hidden': 'true' }, arrows[order]);
  return h('th', { scope: 'col', 'aria-sort': order }, h('button.link-button', { onclick: onSort }, title, arrow));
}
