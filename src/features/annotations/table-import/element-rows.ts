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

/** A table of shapes, as it was read. Its elements are in a file, as an annotation document. */
export interface ElementTable {
  /** Name of the file in the directory. */
  file: string;
  rowCount: number;
  /** Number of rows without a shape, which were skipped. */
  skipped: number;
}

/** Number of rows whose texts are sorted together. */
const rowsAtOnce = 16_384;
const documentEnd = ']}';

const typesWithWidthAndHeight: ReadonlySet<unknown> = new Set(['ellipse', 'rectangle', 'rectanglegrid']);
/** Members of elements that come from other columns. The column `properties` cannot set them. */
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
  /** Whether the table has the columns `id`, `type` and `order`, as exported tables do. */
  readonly isExported: boolean;
  readonly values: ValueColumn[];
  readonly #positions: ReadonlyMap<string, number>;

  constructor({ columns, shapes, primary }: IncomingTable) {
    this.#positions = new Map(columns.map(({ name }, at) => [name, at]));
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
    const skipped = new Set(['id', 'bbox', geometry]);
    if (this.orderPosition >= 0) skipped.add('order');
    if (this.isExported) for (const name of computedColumns) skipped.add(name);
    this.values = selectValueColumns(columns, skipped);
  }

  positionOf(name: string): number {
    return this.#positions.get(name) ?? -1;
  }

  /** Positions of all columns that are read. */
  usedPositions(): number[] {
    const exportedNames = this.isExported
      ? ['type', 'center_x', 'center_y', 'radius', 'width', 'height', 'rotation', 'properties']
      : [];
    const shapePositions = [
      this.geometryPosition,
      this.idPosition,
      this.orderPosition,
      ...exportedNames.map((name) => this.positionOf(name)),
    ].filter((at) => at >= 0);
    const values = this.values.flatMap(({ at, numbersAt }) => (numbersAt === null ? [at] : [at, numbersAt]));
    return [...new Set([...shapePositions, ...values])];
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
    const at = this.columns.positionOf(name);
    return at < 0 ? null : cellOf(this.valueAt(at), name, this.row);
  }

  readNumber(name: string): number | null {
    const value = this.readCell(name);
    if (value === null || typeof value === 'number') return value;
    throw new BadParameterError(`Row ${this.row}: ${quoted(name)} must be a number.`);
  }

  readValues(): ImportCell[] {
    return this.columns.values.map((column) => cellAt(column, this.valueAt, this.row));
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

  /** The members for which there are no other columns. */
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

/** The elements of a row: none without a shape, several for shapes with parts. @throws BadParameterError that names the row. */
function elementsOf(cells: RowCells, columns: ShapeColumns, reader: GeoJsonReader): Json[] {
  const type = columns.isExported ? cells.readCell('type') : null;
  const geometry = cells.readGeometry();
  const shapes = sizedShapeOf(type, cells, geometry) ?? shapesOf(type, geometry, cells.row, reader);
  if (!columns.isExported) return shapes;
  const properties = cells.readProperties();
  for (const shape of shapes) {
    // If the original line had `closed: false`, the properties contain it.
    if (shape.type === 'polyline' && shape.closed === false) delete shape.closed;
    for (const [name, value] of Object.entries(properties)) if (!reservedMembers.has(name)) shape[name] = value;
  }
  return shapes;
}

/** A circle, ellipse or rectangle from its center and size; `null` for other types, or if one of these numbers is missing. */
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

/** The z of the first position of a polygon. */
function firstZ(geometry: unknown): number {
  const { coordinates } = (geometry ?? {}) as { coordinates?: number[][][] };
  return coordinates?.[0]?.[0]?.[2] ?? 0;
}

function shapesOf(type: ImportCell, geometry: unknown, row: number, reader: GeoJsonReader): ImportedElement[] {
  // Circles without their numbers are polygons.
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
  /** Name of the annotation. If absent, it gets a default name. */
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
  const slotByPosition = new Map(positions.map((at, slot) => [at, slot]));
  const reader = createGeoJsonReader(brand);
  const orders: number[] = [];
  const file = await RowFile.create(`${directory}/elements`);
  let rows = 0;
  let isSorted = true;
  let rowPlaces;
  try {
    await file.write(beginning);
    for await (const { count, columns: values } of table.rows(positions)) {
      for (let i = 0; i < count; i += 1) {
        const row = rows + i;
        const valueAt = (at: number) => values[slotByPosition.get(at)!]![i];
        const cells = new RowCells(row, columns, valueAt);
        const elements = elementsOf(cells, columns, reader);
        if (elements.length === 0) continue;
        const cellValues = cells.readValues();
        const id = columns.idPosition < 0 ? null : cellOf(valueAt(columns.idPosition), 'id', row);
        for (const [part, element] of elements.entries()) {
          setCells(
            element,
            columns.values.map(({ target }) => target),
            cellValues,
            false,
          );
          setId(element, id, part === 0);
        }
        const order = columns.orderPosition < 0 ? row : (cellOf(valueAt(columns.orderPosition), 'order', row) as number | null);
        const previous = orders.at(-1) ?? -Infinity;
        // Rows without a number come last.
        orders.push(order ?? Infinity);
        if ((order ?? Infinity) < previous) isSorted = false;
        await file.addRow(elements.map((element) => JSON.stringify(element)).join(), file.count === 0 ? '' : ',');
      }
      rows += count;
    }
    await file.write(documentEnd);
    rowPlaces = await file.flushAndLocate();
  } finally {
    await file.close();
  }
  const shapeCount = rowPlaces.starts.length;
  if (shapeCount === 0)
    throw new BadParameterError(rows === 0 ? 'The table has no rows.' : `None of the ${rows} rows of the table has a shape.`);
  const result = { rowCount: rows, skipped: rows - shapeCount };
  if (isSorted) return { file: 'elements', ...result };
  await sortRows(directory, beginning, rowPlaces, orders);
  return { file: 'sorted', ...result };
}

/** Sets the id of an element. An id of another form comes from another program, and is stored as a value in `user`. */
function setId(element: Json, id: ImportCell, isFirst: boolean): void {
  if (id === null) return;
  const text = typeof id === 'string' ? id.toLowerCase() : '';
  if (!/^[0-9a-f]{24}$/.test(text)) element.user = { ...(element.user as object | undefined), id };
  // Parts of one shape cannot share its id.
  else if (isFirst) element.id = text;
}

/** Rewrites the elements in the order of some numbers. Rows with equal numbers keep their order. */
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
