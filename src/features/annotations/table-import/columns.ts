import { BadParameterError } from '../../../errors.js';
import { quoted, type ImportColumn } from './incoming-table.js';
import { userTargets, type ColumnTarget } from './user-columns.js';

/** Columns that an export computes from the shapes of elements. A table cannot set them. */
export const computedColumns: ReadonlySet<string> = new Set(
  ['order', 'type', 'area', 'length', 'x', 'y', 'xmin', 'ymin', 'xmax', 'ymax', 'bbox', 'geometry', 'properties'].concat([
    'center_x',
    'center_y',
    'radius',
    'width',
    'height',
    'rotation',
  ]),
);

const fieldNames = new Set(['group', 'label', 'fillColor', 'lineColor', 'lineWidth'] as const);

/** If a name has both numbers and other values, the column with the numbers has this ending. */
const numberEnding = '#number';
/** pandas stores the labels of rows in such columns. */
const rowLabels = /^__index_level_\d+__$/;

/** A column whose values are read. */
export interface ValueColumn {
  name: string;
  /** Position in the table. */
  at: number;
  /** Position of the column with the numbers, if the name has both numbers and other values. */
  numbersAt: number | null;
  target: ColumnTarget;
}

/** The columns that have values for elements. @param skipped names of columns that are not read. @throws BadParameterError */
export function selectValueColumns(columns: readonly ImportColumn[], skipped: ReadonlySet<string>): ValueColumn[] {
  const positions = new Map(columns.map(({ name }, at) => [name, at]));
  const valueColumns: Omit<ValueColumn, 'target'>[] = [];
  for (const [at, { name, kind }] of columns.entries()) {
    if (skipped.has(name) || rowLabels.test(name)) continue;
    if (kind !== 'value') {
      const problem = kind === 'binary' ? 'bytes' : 'lists, structures, or values of a type that is not supported';
      throw new BadParameterError(`The column ${quoted(name)} has ${problem}. Remove it from the table.`);
    }
    const isNumberColumn = name.endsWith(numberEnding) && positions.has(name.slice(0, -numberEnding.length));
    if (!isNumberColumn) valueColumns.push({ name, at, numbersAt: positions.get(`${name}${numberEnding}`) ?? null });
  }
  const isField = (name: string): name is 'group' => (fieldNames as ReadonlySet<string>).has(name);
  const targets = userTargets(valueColumns.filter(({ name }) => !isField(name)).map(({ name }) => name));
  let nextTarget = 0;
  return valueColumns.map((column) => {
    const target: ColumnTarget = isField(column.name) ? { field: column.name } : targets[nextTarget++]!;
    return { ...column, target };
  });
}
