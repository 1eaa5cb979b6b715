import { BadParameterError } from '../../../errors.js';
import { cellOf, quoted, type IncomingTable } from './incoming-table.js';
import { computedColumns, selectValueColumns, type ValueColumn } from './columns.js';
import { RowFile, type RowPlaces } from './row-file.js';
import { IdList, type SortedIds } from './row-ids.js';
import type { ColumnTarget } from './user-columns.js';

/** Maximum number of ids in a message. */
export const maxNamedIds = 10;

/** A table with values for elements, as it was read. The cells of each row are in a file, as a JSON list. */
export interface PatchTable {
  count: number;
  targets: ColumnTarget[];
  ids: SortedIds;
  places: RowPlaces;
}

/** The cell of a row in a column. @param valueAt gives the value of the row in the column at a position. */
export function cellAt(
  { name, at, numbersAt }: Pick<ValueColumn, 'name' | 'at' | 'numbersAt'>,
  valueAt: (position: number) => unknown,
  row: number,
): ReturnType<typeof cellOf> {
  const number = numbersAt === null ? null : cellOf(valueAt(numbersAt), name, row);
  return number ?? cellOf(valueAt(at), name, row);
}

function requirePatchColumns({ columns }: IncomingTable): ValueColumn[] {
  if (!columns.some(({ name }) => name === 'id')) {
    const names = columns.slice(0, 5).map(({ name }) => quoted(name));
    throw new BadParameterError(`The table has no column "id", only ${names.join(', ')}${columns.length > 5 ? ', …' : ''}.`);
  }
  const computed = columns.filter(({ name }) => computedColumns.has(name)).map(({ name }) => quoted(name));
  if (computed.length > 0) {
    throw new BadParameterError(
      `These columns follow from the shapes and cannot be set: ${computed.join(', ')}. Send \`id\` and the columns to change.`,
    );
  }
  const valueColumns = selectValueColumns(columns, new Set(['id']));
  if (valueColumns.length === 0) throw new BadParameterError('The table has no columns besides `id`.');
  return valueColumns;
}

/** Reads the ids and values of a table. @param to path of a new file for the values. @throws BadParameterError */
export async function writePatchRows(table: IncomingTable, to: string): Promise<PatchTable> {
  const valueColumns = requirePatchColumns(table);
  const idColumn = table.columns.findIndex(({ name }) => name === 'id');
  const indices = [idColumn, ...valueColumns.flatMap(({ at, numbersAt }) => (numbersAt === null ? [at] : [at, numbersAt]))];
  const slotByPosition = new Map(indices.map((at, slot) => [at, slot]));
  const ids = new IdList();
  const file = await RowFile.create(to);
  try {
    for await (const { count, columns } of table.rows(indices)) {
      for (let i = 0; i < count; i += 1) {
        const row = ids.count;
        const valueAt = (at: number) => columns[slotByPosition.get(at)!]![i];
        ids.add(parseId(valueAt(idColumn), row));
        await file.addRow(JSON.stringify(valueColumns.map((column) => cellAt(column, valueAt, row))));
      }
    }
    if (ids.count === 0) throw new BadParameterError('The table has no rows.');
    const { words, rows, repeated } = ids.sortIds(maxNamedIds);
    if (repeated.length > 0) throw new BadParameterError(`These ids are in more than one row: ${repeated.join(', ')}.`);
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
