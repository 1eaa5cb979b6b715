import { BadParameterError } from '../../../errors.js';
import { cellOf, quoted, type IncomingTable } from './incoming-table.js';
import { computedColumns, selectValueColumns, type ValueColumn } from './columns.js';
import { RowFile, type RowPlaces } from './row-file.js';
import { IdList, type SortedIds } from './row-ids.js';
import type { ColumnTarget } from './user-columns.js';

/** Maximum number of ids that a message lists. */
export const maxNamedIds = 10;

/** The result of reading a table with values for elements. The cells of each row are in a file, as a JSON list. */
export interface PatchTable {
  /** Number of rows. */
  count: number;
  /** The target of each cell of a row. */
  targets: ColumnTarget[];
  ids: SortedIds;
  places: RowPlaces;
}

/** Returns the cell of a row in a column. @param valueAt returns the row's value in the column at a position. */
export function cellAt(
  { name, position, numbersPosition }: Pick<ValueColumn, 'name' | 'position' | 'numbersPosition'>,
  valueAt: (columnPosition: number) => unknown,
  row: number,
): ReturnType<typeof cellOf> {
  const number = numbersPosition === null ? null : cellOf(valueAt(numbersPosition), name, row);
  return number ?? cellOf(valueAt(position), name, row);
}

function requirePatchColumns({ columns }: IncomingTable): ValueColumn[] {
  if (!columns.some(({ name }) => name === 'id')) {
    const names = columns.slice(0, 5).map(({ name }) => quoted(name));
    throw new BadParameterError(`The table has no column "id", only ${names.join(', ')}${columns.length > 5 ? ', …' : ''}.`);
  }
  const computedNames = columns.filter(({ name }) => computedColumns.has(name)).map(({ name }) => quoted(name));
  if (computedNames.length > 0) {
    throw new BadParameterError(
      `These columns follow from the shapes and cannot be set: ${computedNames.join(', ')}. Send \`id\` and the columns to change.`,
    );
  }
  const valueColumns = selectValueColumns(columns, new Set(['id']));
  if (valueColumns.length === 0) throw new BadParameterError('The table has no columns besides `id`.');
  return valueColumns;
}

/** Reads the ids and values of a table. @param to path of a new file for the values. @throws BadParameterError */
export async function writePatchRows(table: IncomingTable, to: string): Promise<PatchTable> {
  const valueColumns = requirePatchColumns(table);
  const idPosition = table.columns.findIndex(({ name }) => name === 'id');
  const valuePositions = valueColumns.flatMap(({ position, numbersPosition }) =>
    numbersPosition === null ? [position] : [position, numbersPosition],
  );
  const positions = [idPosition, ...valuePositions];
  const slotByPosition = new Map(positions.map((position, slot) => [position, slot]));
  const ids = new IdList();
  const file = await RowFile.create(to);
  try {
    for await (const { count, columns } of table.rows(positions)) {
      for (let i = 0; i < count; i += 1) {
        const row = ids.count;
        const valueAt = (position: number) => columns[slotByPosition.get(position)!]![i];
        ids.add(parseId(valueAt(idPosition), row));
        await file.addRow(JSON.stringify(valueColumns.map((column) => cellAt(column, valueAt, row))));
      }
    }
    if (ids.count === 0) throw new BadParameterError('The table has no rows.');
    const { words, rows, repeatedIds } = ids.sortIds(maxNamedIds);
    if (repeatedIds.length > 0) throw new BadParameterError(`These ids are in more than one row: ${repeatedIds.join(', ')}.`);
    const targets = valueColumns.map(({ target }) => target);
    return { count: ids.count, targets, ids: { words, rows }, places: await file.flushAndLocate() };
  } finally {
    await file.close();
  }
}

function parseId(value: unknown, row: number): string {
  const id = typeof value === 'string' ? value.toLowerCase() : '';
  if (/^[0-9a-f]{24}$/.test(id)) return id;
  const description = value === null ? 'no id' : `the id ${quoted(String(cellOf(value, 'id', row)))}`;
  throw new BadParameterError(`Row ${row} has ${description}; ids of elements have 24 hexadecimal digits.`);
}
