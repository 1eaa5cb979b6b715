import { BadParameterError } from '../../../errors.js';
import { quoted, type ImportColumn } from './incoming-table.js';
import { userTargets, type ColumnTarget } from './user-columns.js';

/** Names of the columns that an export computes from the shapes of elements. A table cannot set these columns. */
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

/** If there are both numbers and other values under a name, the name of the column with only the numbers has this suffix. */
const numberSuffix = '#number';
/** Names of the columns in which pandas stores the labels of rows. */
const rowLabelPattern = /^__index_level_\d+__$/;

/** A column whose values are read. */
export interface ValueColumn {
  name: string;
  /** Position of the column in the table. */
  position: number;
  /** Position of the column with only the numbers, if the table has two columns for this name. */
  numbersPosition: number | null;
  target: ColumnTarget;
}

/**
 * Selects the columns with values for elements.
 *
 * @param skippedNames names of columns that are not read.
 * @throws BadParameterError for columns without values.
 */
export function selectValueColumns(columns: readonly ImportColumn[], skippedNames: ReadonlySet<string>): ValueColumn[] {
  const positions = new Map(columns.map(({ name }, position) => [name, position]));
  const valueColumns: Omit<ValueColumn, 'target'>[] = [];
  for (const [position, { name, kind }] of columns.entries()) {
    if (skippedNames.has(name) || rowLabelPattern.test(name)) continue;
    if (kind !== 'value') {
      const problem = kind === 'binary' ? 'bytes' : 'lists, structures, or values of a type that is not supported';
      throw new BadParameterError(`The column ${quoted(name)} has ${problem}. Remove it from the table.`);
    }
    const isNumberColumn = name.endsWith(numberSuffix) && positions.has(name.slice(0, -numberSuffix.length));
    if (!isNumberColumn) valueColumns.push({ name, position, numbersPosition: positions.get(`${name}${numberSuffix}`) ?? null });
  }
  const isField = (name: string): name is 'group' => (fieldNames as ReadonlySet<string>).has(name);
  const targets = userTargets(valueColumns.filter(({ name }) => !isField(name)).map(({ name }) => name));
  let nextTarget = 0;
  return valueColumns.map((column) => {
    const target: ColumnTarget = isField(column.name) ? { field: column.name } : targets[nextTarget++]!;
    return { ...column, target };
  });
}
