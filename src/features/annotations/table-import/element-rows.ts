import { open } from 'node:fs/promises';
import { wkbToGeojson } from 'hyparquet/src/wkb.js';
import {
  createGeoJsonReader,
  type GeoJsonReader,
  type ImportedElement,
} from '../../../annotation-format/formats/geojson-import.js';
import { BadParameterError } from '../../../errors.js';
import { computedColumns, selectValueColumns, type ValueColumn } from './columns.js';
import { requirePixels } from './coordinate-system.js';
import { setCells } from './element-patch.js';
import { bytesOf, cellOf, quoted, type ImportCell, type IncomingTable } from './incoming-table.js';
import { cellAt } from './patch-rows.js';
import { RowFile, textsOfRows } from './row-file.js';

type Json = Record<string, unknown>;

/** The result of reading a table of shapes. Its elements are in a file, as an annotation document. */
export interface ElementTable {
  /** Name of the file in the directory. */
  file: string;
  rowCount: number;
  /** Number of rows that were skipped because they have no shape. */
  skippedCount: number;
}

/** Number of rows whose texts are sorted together. */
const rowsAtOnce = 16_384;
const documentEnd = ']}';

const typesWithWidthAndHeight: ReadonlySet<unknown> = new Set(['ellipse', 'rectangle', 'rectanglegrid']);
/** Members of elements that have their own columns. The column `properties` cannot set these members. */
const reservedMembers: ReadonlySet<string> = new Set([
  'id',
  'type',
  'group',
  'user',
  'points',
  'center',
  'radius',
  'width',
  'height',
]);

/** Finds the columns of a table from which elements are made. A position of -1 means that there is no such column. */
class ShapeColumns {
  readonly geometryPosition: number;
  readonly idPosition: number;
  readonly orderPosition: number;
  /** Whether the table has the columns `id`, `type` and `order`, like tables that this package exports. */
  readonly isExported: boolean;
  readonly valueColumns: ValueColumn[];
  readonly #positions: ReadonlyMap<string, number>;

  constructor({ columns, shapes, primary }: IncomingTable) {
    this.#positions = new Map(columns.map(({ name }, position) => [name, position]));
    const geometry = primary ?? 'geometry';
    this.geometryPosition = this.positionOf(geometry);
    this.idPosition = this.positionOf('id');
    this.orderPosition = columns.findIndex(({ name, isNumber }) => name === 'order' && isNumber);
    this.isExported = this.idPosition >= 0 && this.orderPosition >= 0 && this.positionOf('type') >= 0;
    if (this.geometryPosition < 0 || columns[this.geometryPosition]!.kind !== 'binary') {
      throw new BadParameterError(`The table has no shapes: no column ${quoted(geometry)} with well-known binary (WKB).`);
    }
    const shape = shapes.get(geometry);
    if (shape !== undefined) requirePixels(shape.crs, geometry);
    const skippedNames = new Set(['id', 'bbox', geometry]);
    if (this.orderPosition >= 0) skippedNames.add('order');
    if (this.isExported) for (const name of computedColumns) skippedNames.add(name);
    this.valueColumns = selectValueColumns(columns, skippedNames);
  }

  positionOf(name: string): number {
    return this.#positions.get(name) ?? -1;
  }

  /** Returns the positions of all columns that are read. */
  usedPositions(): number[] {
    const exportedNames = this.isExported
      ? ['type', 'center_x', 'center_y', 'radius', 'width', 'height', 'rotation', 'properties']
      : [];
    const shapePositions = [
      this.geometryPosition,
      this.idPosition,
      this.orderPosition,
      ...exportedNames.map((name) => this.positionOf(name)),
    ].filter((position) => position >= 0);
    const valuePositions = this.valueColumns.flatMap(({ position, numbersPosition }) =>
      numbersPosition === null ? [position] : [position, numbersPosition],
    );
    return [...new Set([...shapePositions, ...valuePositions])];
  }
}

/** The cells of one row. */
class RowCells {
  constructor(
    readonly row: number,
    private readonly columns: ShapeColumns,
    private readonly valueAt: (position: number) => unknown,
  ) {}

  readCell(name: string): ImportCell {
    const position = this.columns.positionOf(name);
    return position < 0 ? null : cellOf(this.valueAt(position), name, this.row);
  }

  readNumber(name: string): number | null {
    const value = this.readCell(name);
    if (value === null || typeof value === 'number') return value;
    throw new BadParameterError(`Row ${this.row}: ${quoted(name)} must be a number.`);
  }

  readValues(): ImportCell[] {
    return this.columns.valueColumns.map((column) => cellAt(column, this.valueAt, this.row));
  }

  readGeometry(): unknown {
    const bytes = bytesOf(this.valueAt(this.columns.geometryPosition) ?? null, 'geometry', this.row);
    if (bytes === null) return null;
    try {
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      return wkbToGeojson({ view, offset: 0 });
    } catch (cause) {
      throw new BadParameterError(`Row ${this.row}: the shape is not well-known binary (WKB) that can be read.`, { cause });
    }
  }

  /** Reads the members of the element that have no columns of their own. */
  readProperties(): Json {
    const text = this.readCell('properties');
    if (text === null) return {};
    try {
      const parsed: unknown = JSON.parse(String(text));
      if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed as Json;
    } catch {
      // Text that is not JSON gets the same error as other wrong values.
    }
    throw new BadParameterError(`Row ${this.row}: "properties" must be a JSON object.`);
  }
}

/** Makes the elements of a row: none if the row has no shape, several if its shape has parts. @throws BadParameterError that names the row. */
function elementsOf(cells: RowCells, columns: ShapeColumns, reader: GeoJsonReader): Json[] {
  const type = columns.isExported ? cells.readCell('type') : null;
  const geometry = cells.readGeometry();
  const shapes = sizedShapeOf(type, cells, geometry) ?? shapesOf(type, geometry, cells.row, reader);
  if (!columns.isExported) return shapes;
  const properties = cells.readProperties();
  for (const shape of shapes) {
    // The reader has added `closed: false`. If the exported element had it too, the properties contain it.
    if (shape.type === 'polyline' && shape.closed === false) delete shape.closed;
    for (const [name, value] of Object.entries(properties)) if (!reservedMembers.has(name)) shape[name] = value;
  }
  return shapes;
}

/** Makes a circle, ellipse or rectangle from its center and size. Returns `null` for other types, or if one of these numbers is missing. */
function sizedShapeOf(type: ImportCell, cells: RowCells, geometry: unknown): Json[] | null {
  if (type !== 'circle' && !typesWithWidthAndHeight.has(type)) return null;
  const [x, y] = [cells.readNumber('center_x'), cells.readNumber('center_y')];
  const names = type === 'circle' ? ['radius'] : ['width', 'height'];
  const numbers = names.map((name) => [name, cells.readNumber(name)] as const);
  if (x === null || y === null || numbers.some(([, value]) => value === null)) return null;
  const center = [x, y, firstZ(geometry)];
  const rotation = type === 'circle' ? null : cells.readNumber('rotation');
  return [{ type, center, ...Object.fromEntries(numbers), ...(rotation !== null && rotation !== 0 && { rotation }) }];
}

/** Returns the z of the first position of a polygon. */
function firstZ(geometry: unknown): number {
  const { coordinates } = (geometry ?? {}) as { coordinates?: number[][][] };
  return coordinates?.[0]?.[0]?.[2] ?? 0;
}

function shapesOf(type: ImportCell, geometry: unknown, row: number, reader: GeoJsonReader): ImportedElement[] {
  // Other types, such as a circle without its numbers, become polygons.
  const properties = type === 'arrow' || type === 'point' || type === 'polyline' ? { type } : {};
  try {
    return reader.read({ type: 'Feature', geometry, properties }, row);
  } catch (error) {
    if (!(error instanceof BadParameterError)) throw error;
    throw new BadParameterError(error.message.replace(/^GeoJSON feature \d+: /, `Row ${row}: `), { cause: error });
  }
}

/** Options of {@link writeElements}. */
export interface ElementRowsOptions {
  /** The directory to which the file is written. */
  directory: string;
  brand: string;
  /** Name of the annotation. Without it, the annotation gets a default name. */
  name: string | undefined;
}

/** Makes an annotation document from a table of shapes. @throws BadParameterError */
export async function writeElements(
  table: IncomingTable,
  { directory, brand, name = '' }: ElementRowsOptions,
): Promise<ElementTable> {
  const beginning = `{"name":${JSON.stringify(name)},"elements":[`;
  const columns = new ShapeColumns(table);
  const positions = columns.usedPositions();
  const slotByPosition = new Map(positions.map((position, slot) => [position, slot]));
  const reader = createGeoJsonReader(brand);
  const orders: number[] = [];
  const file = await RowFile.create(`${directory}/elements`);
  let rowCount = 0;
  let isSorted = true;
  let rowPlaces;
  try {
    await file.write(beginning);
    for await (const { count, columns: values } of table.rows(positions)) {
      for (let i = 0; i < count; i += 1) {
        const row = rowCount + i;
        const valueAt = (position: number) => values[slotByPosition.get(position)!]![i];
        const cells = new RowCells(row, columns, valueAt);
        const elements = elementsOf(cells, columns, reader);
        if (elements.length === 0) continue;
        const cellValues = cells.readValues();
        const id = columns.idPosition < 0 ? null : cellOf(valueAt(columns.idPosition), 'id', row);
        for (const [part, element] of elements.entries()) {
          setCells(
            element,
            columns.valueColumns.map(({ target }) => target),
            cellValues,
            false,
          );
          setId(element, id, part === 0);
        }
        const order = columns.orderPosition < 0 ? row : (cellOf(valueAt(columns.orderPosition), 'order', row) as number | null);
        const previousOrder = orders.at(-1) ?? -Infinity;
        // Rows without an order come last.
        orders.push(order ?? Infinity);
        if ((order ?? Infinity) < previousOrder) isSorted = false;
        await file.addRow(elements.map((element) => JSON.stringify(element)).join(), file.count === 0 ? '' : ',');
      }
      rowCount += count;
    }
    await file.write(documentEnd);
    rowPlaces = await file.flushAndLocate();
  } finally {
    await file.close();
  }
  const shapeCount = rowPlaces.starts.length;
  if (shapeCount === 0)
    throw new BadParameterError(
      rowCount === 0 ? 'The table has no rows.' : `None of the ${rowCount} rows of the table has a shape.`,
    );
  const result = { rowCount, skippedCount: rowCount - shapeCount };
  if (isSorted) return { file: 'elements', ...result };
  await sortRows(directory, beginning, rowPlaces, orders);
  return { file: 'sorted', ...result };
}

/**
 * Sets the id of an element. An id that does not have the form of element ids comes from another program, and is stored as a value in
 * `user`.
 */
function setId(element: Json, id: ImportCell, isFirst: boolean): void {
  if (id === null) return;
  const text = typeof id === 'string' ? id.toLowerCase() : '';
  if (!/^[0-9a-f]{24}$/.test(text)) element.user = { ...(element.user as object | undefined), id };
  // Parts of one shape cannot share its id.
  else if (isFirst) element.id = text;
}

/** Writes the elements to a second file, sorted by `orders`. Rows with equal numbers keep their order. */
async function sortRows(
  directory: string,
  beginning: string,
  places: Awaited<ReturnType<RowFile['flushAndLocate']>>,
  orders: readonly number[],
): Promise<void> {
  const order = Uint32Array.from(orders, (_, i) => i).sort((a, b) => orders[a]! - orders[b]! || a - b);
  const source = await open(`${directory}/elements`, 'r');
  const target = await RowFile.create(`${directory}/sorted`);
  try {
    await target.write(beginning);
    for (let start = 0; start < order.length; start += rowsAtOnce) {
      const texts = await textsOfRows(source, places, order.subarray(start, start + rowsAtOnce));
      await target.write(`${start === 0 ? '' : ','}${texts.join()}`);
    }
    await target.write(documentEnd);
    await target.flushAndLocate();
  } finally {
    await Promise.all([source.close(), target.close()]);
  }
}
