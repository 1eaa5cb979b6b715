import { boxOf } from '../drawing/shapes.js';
import { geometryOf } from '../shape-measures.js';
import type { Element } from '../annotation-model.js';
import type { Cell, ObjectFilter } from '../objects/object-requests.js';

/** Types of the columns of a table, by name. */
type ColumnTypes = Readonly<Record<string, string>>;

/** Maximum length of a text value, in characters, as on the server. Longer texts do not count as values. */
const maxTextLength = 1024;

/** If a field has both numbers and other values, the column with the numbers has this ending. */
const numberEnding = '#number';

/** The value of a shape in a column of the table; `null` if the shape has no value there. The server has the same rules. */
export function valueOf(element: Element, column: string, types: ColumnTypes): Cell {
  const type = types[column];
  if (!column.startsWith('/')) return baseValue(element, column);
  const value = valueAt(element.user, column) ?? (type === 'number' ? valueAt(element.user, removeNumberEnding(column)) : null);
  if (type === 'number') return typeof value === 'number' && Number.isFinite(value) ? value : null;
  if (type === 'boolean') return typeof value === 'boolean' ? value : null;
  const isCell =
    typeof value === 'number' || typeof value === 'boolean' || (typeof value === 'string' && value.length <= maxTextLength);
  return isCell ? String(value) : null;
}

function removeNumberEnding(column: string) {
  return column.endsWith(numberEnding) ? column.slice(0, -numberEnding.length) : column;
}

/** The value at a JSON pointer. */
function valueAt(user: unknown, pointer: string): unknown {
  const names = pointer.slice(1).split('/');
  return names.reduce<unknown>((value, name) => {
    const key = name.replaceAll('~1', '/').replaceAll('~0', '~');
    return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
      ? (value as Record<string, unknown>)[key]
      : undefined;
  }, user);
}

function baseValue(element: Element, column: string): Cell {
  const { left, top, right, bottom } = boxOf(element);
  switch (column) {
    case 'id':
    case 'type':
      return element[column];
    case 'group':
      return element.group ?? null;
    case 'label':
      return element.label?.value ?? null;
    case 'area':
    case 'length':
    case 'x':
    case 'y':
      return geometryOf(element)[column];
    case 'xmin':
      return left;
    case 'ymin':
      return top;
    case 'xmax':
      return right;
    case 'ymax':
      return bottom;
    default:
      return null;
  }
}

/** Whether a shape matches a filter. */
export function matchesFilter(filter: ObjectFilter | null, element: Element, types: ColumnTypes): boolean {
  if (filter === null) return true;
  if ('and' in filter) return filter.and.every((part) => matchesFilter(part, element, types));
  // Filters that the table makes have no regions.
  if ('region' in filter) return true;
  const { column, gte = -Infinity, lte = Infinity, in: listedValues } = filter;
  const value = valueOf(element, column, types);
  const isRange = filter.gte !== undefined || filter.lte !== undefined;
  if (isRange && !(typeof value === 'number' && value >= gte && value <= lte)) return false;
  return listedValues === undefined || (value !== null && listedValues.includes(value));
}
