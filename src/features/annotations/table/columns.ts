import { BadParameterError } from '../../../errors.js';
import { baseColumnNames, idColumnNames, type SegmentColumn, type SegmentHeader } from '../elements/packs/segment.js';

/** A column of a table. */
export interface TableColumn {
  name: string;
  type: 'id' | 'number' | 'boolean' | 'text';
  /** Name of the stored columns with its values. There can be two stored columns of this name: one for numbers and one for other values. */
  source: string;
  /** True for a text column that also has numbers, which it shows as texts. */
  isMixed: boolean;
}

/** Maximum number of columns of a table. */
const maxColumns = 1000;

/** If there are both numbers and other values under a name, the name of the column with only the numbers gets this suffix. */
const numberSuffix = '#number';

/** Determines the columns of a table from the headers of its segments. `isCut`: whether elements have values without a column. */
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

/** Finds the stored columns of a segment that contain the values of these columns of the table. */
export function storedColumns(header: SegmentHeader, columns: Iterable<TableColumn>): SegmentColumn[] {
  const keys = new Set<string>();
  for (const { source, type, isMixed } of columns) {
    if (type === 'id') for (const name of idColumnNames) keys.add(`number ${name}`);
    else if (type === 'number') keys.add(`number ${source}`);
    else keys.add(`text ${source}`);
    if (isMixed) keys.add(`number ${source}`);
  }
  return header.columns.filter(({ kind, name }) => keys.has(`${kind} ${name}`));
}

/** Finds columns by name. */
export class ColumnsByName {
  readonly #byName: ReadonlyMap<string, TableColumn>;

  constructor(readonly columns: readonly TableColumn[]) {
    this.#byName = new Map(columns.map((column) => [column.name, column]));
  }

  /** Finds a column. @throws BadParameterError for a name that no column has. */
  find(name: string): TableColumn {
    const column = this.#byName.get(name);
    if (column !== undefined) return column;
    throw new BadParameterError(`The table has no column ${JSON.stringify(name.slice(0, 200))}.`);
  }

  /** Finds a column of numbers. @throws BadParameterError also for another column. */
  findNumbers(name: string): TableColumn {
    const column = this.find(name);
    if (column.type === 'number') return column;
    throw new BadParameterError(`The column ${JSON.stringify(name)} does not contain numbers.`);
  }

  /** Finds a column of categories. @throws BadParameterError also for a column of numbers or ids. */
  findCategories(name: string): TableColumn {
    const column = this.find(name);
    if (column.type === 'text' || column.type === 'boolean') return column;
    throw new BadParameterError(`The column ${JSON.stringify(name)} does not contain categories.`);
  }

  /** Finds the columns with these names. @throws BadParameterError for an entry that is not the name of a column. */
  findAll(names: readonly unknown[]): TableColumn[] {
    return names.map((name) => {
      if (typeof name !== 'string') throw new BadParameterError('columns must be a list of column names.');
      return this.find(name);
    });
  }
}
