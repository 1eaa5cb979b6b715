import { BadParameterError } from '../../../errors.js';
import { baseColumnNames, idColumnNames, type SegmentColumn, type SegmentHeader } from '../elements/packs/segment.js';

/** A column of a table, as clients name it. */
export interface TableColumn {
  name: string;
  type: 'id' | 'number' | 'boolean' | 'text';
  /** Name of the stored columns with its values. There is one for numbers and one for other values. */
  source: string;
  /** Whether this is the text column of a name with both numbers and other values. It shows the numbers as texts. */
  isMixed: boolean;
}

/** Maximum number of columns of a table. */
const maxColumns = 1000;

/** If a name has both numbers and other values, the column with the numbers has this ending. */
const numberSuffix = '#number';

/** Determines the columns of a table from the headers of its segments. `isCut`: elements have values that no column is left for. */
export function tableColumns(headers: Iterable<SegmentHeader>): { columns: TableColumn[]; isCut: boolean } {
  const kindsByName = new Map<string, { hasNumbers: boolean; hasTexts: boolean; onlyBooleans: boolean }>();
  let isCut = false;
  for (const header of headers) {
    if (header.isCut === true) isCut = true;
    for (const { name, kind, isBoolean = false } of header.columns) {
      if (!name.startsWith('/')) continue;
      let kindsOfName = kindsByName.get(name);
      if (kindsOfName === undefined) {
        kindsOfName = { hasNumbers: false, hasTexts: false, onlyBooleans: true };
        kindsByName.set(name, kindsOfName);
      }
      if (kind === 'number') kindsOfName.hasNumbers = true;
      else {
        kindsOfName.hasTexts = true;
        if (!isBoolean) kindsOfName.onlyBooleans = false;
      }
    }
  }
  const textColumnNames = new Set(['type', 'group', 'label']);
  const columns: TableColumn[] = baseColumnNames.map((name) => {
    return { name, type: name === 'id' ? 'id' : textColumnNames.has(name) ? 'text' : 'number', source: name, isMixed: false };
  });
  for (const [name, { hasNumbers, hasTexts, onlyBooleans }] of kindsByName) {
    const isMixed = hasNumbers && hasTexts;
    const type = !hasTexts ? 'number' : onlyBooleans && !hasNumbers ? 'boolean' : 'text';
    columns.push({ name, type, source: name, isMixed });
    const numberColumnName = `${name}${numberSuffix}`;
    if (isMixed && !kindsByName.has(numberColumnName))
      columns.push({ name: numberColumnName, type: 'number', source: name, isMixed: false });
  }
  if (columns.length > maxColumns) isCut = true;
  return { columns: columns.slice(0, maxColumns), isCut };
}

/** The stored columns of a segment that columns of a table need. */
export function storedColumns(header: SegmentHeader, columns: Iterable<TableColumn>): SegmentColumn[] {
  const needed = new Set<string>();
  for (const { source, type, isMixed } of columns) {
    if (type === 'id') for (const name of idColumnNames) needed.add(`number ${name}`);
    else if (type === 'number') needed.add(`number ${source}`);
    else needed.add(`text ${source}`);
    if (isMixed) needed.add(`number ${source}`);
  }
  return header.columns.filter(({ kind, name }) => needed.has(`${kind} ${name}`));
}

/** Finds columns by name. */
export class ColumnsByName {
  readonly #byName: ReadonlyMap<string, TableColumn>;

  constructor(readonly columns: readonly TableColumn[]) {
    this.#byName = new Map(columns.map((column) => [column.name, column]));
  }

  /** @throws BadParameterError for a name that no column has. */
  find(name: string): TableColumn {
    const column = this.#byName.get(name);
    if (column !== undefined) return column;
    throw new BadParameterError(`The table has no column ${JSON.stringify(name.slice(0, 200))}.`);
  }

  /** @throws BadParameterError also for a column that does not have numbers. */
  findNumbers(name: string): TableColumn {
    const column = this.find(name);
    if (column.type === 'number') return column;
    throw new BadParameterError(`The column ${JSON.stringify(name)} does not contain numbers.`);
  }

  /** @throws BadParameterError also for numbers and ids, which are not categories. */
  findCategories(name: string): TableColumn {
    const column = this.find(name);
    if (column.type === 'text' || column.type === 'boolean') return column;
    throw new BadParameterError(`The column ${JSON.stringify(name)} does not contain categories.`);
  }

  /** The columns with these names. @throws BadParameterError for an entry that is not the name of a column. */
  findAll(names: readonly unknown[]): TableColumn[] {
    return names.map((name) => {
      if (typeof name !== 'string') throw new BadParameterError('columns must be a list of column names.');
      return this.find(name);
    });
  }
}
