import { BadParameterError } from '../../../errors.js';
import { quoted, type ImportColumn } from './incoming-table.js';
import { userTargets, type ColumnTarget } from './user-columns.js';

/** Columns of a table that follow from the shapes of elements. */
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

const fields = new Set(['group', 'label', 'fillColor', 'lineColor', 'lineWidth'] as const);

/** If a name has both numbers and other values, the column with the numbers has this ending. */
const numberEnding = '#number';
/** pandas stores the labels of rows in such columns. */
const rowLabels = /^__index_level_\d+__$/;

/** A column whose values are read. */
export interface ReadColumn {
  name: string;
  /** Position in the table. */
  at: number;
  /** Position of the column with the numbers, if the name has both numbers and other values. */
  numbersAt: number | null;
  target: ColumnTarget;
}

/** The columns that have values for elements. @param skipped names of columns that are not read. @throws BadParameterError */
export function readColumns(columns: readonly ImportColumn[], skipped: ReadonlySet<string>): ReadColumn[] {
  const positions = new Map(columns.map(({ name }, at) => [name, at]));
  const valueColumns: Omit<ReadColumn, 'target'>[] = [];
  for (const [at, { name, kind }] of columns.entries()) {
    if (skipped.has(name) || rowLabels.test(name)) continue;
    if (kind !== 'value') {
      const problem = kind === 'binary' ? 'bytes' : 'lists, structures, or values of a type that is not supported';
      throw new BadParameterError(`The column ${quoted(name)} has ${problem}. Remove it from the table.`);
    }
    const isSecond = name.endsWith(numberEnding) && positions.has(name.slice(0, -numberEnding.length));
    if (!isSecond) valueColumns.push({ name, at, numbersAt: positions.get(`${name}${numberEnding}`) ?? null });
  }
  const isField = (name: string): name is 'group' => (fields as ReadonlySet<string>).has(name);
  const targets = userTargets(valueColumns.filter(({ name }) => !isField(name)).map(({ name }) => name));
  let next = 0;
  return valueColumns.map((column) => {
    const target: ColumnTarget = isField(column.name) ? { field: column.name } : targets[next++]!;
    return { ...column, target };
  });
}
