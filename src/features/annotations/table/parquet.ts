import { gzipSync } from 'node:zlib';
import { ByteWriter, ParquetWriter, type ColumnSource, type SchemaElement } from 'hyparquet-writer';
import type { Block, Cell } from './block.js';
import type { TableColumn } from './columns.js';
import type { RowGroup } from './row-groups.js';
import { shapeNumbers, type Shape } from './shapes.js';

/** The columns of the box. In Parquet files they are members of one column, `bbox`. */
const boxColumns = ['xmin', 'ymin', 'xmax', 'ymax'] as const;

/** The box around the shapes of a file. */
export type FileBox = [xmin: number, ymin: number, xmax: number, ymax: number];

function isBoxColumn(name: string): boolean {
  return (boxColumns as readonly string[]).includes(name);
}

/** Makes the schema of a file with these columns, boxes and shapes. */
function parquetSchema(columns: readonly TableColumn[]): SchemaElement[] {
  const otherColumns = columns.filter(({ name }) => !isBoxColumn(name));
  const optional = { repetition_type: 'OPTIONAL' } as const;
  const fields = otherColumns.map(({ name, type }): SchemaElement => {
    if (name === 'order') return { name, type: 'INT64', ...optional };
    if (type === 'number') return { name, type: 'DOUBLE', ...optional };
    if (type === 'boolean') return { name, type: 'BOOLEAN', ...optional };
    return { name, type: 'BYTE_ARRAY', converted_type: 'UTF8', ...optional };
  });
  return [
    { name: 'schema', num_children: otherColumns.length + shapeNumbers.length + 3 },
    ...fields,
    ...shapeNumbers.map((name): SchemaElement => ({ name, type: 'DOUBLE', ...optional })),
    { name: 'properties', type: 'BYTE_ARRAY', converted_type: 'UTF8', ...optional },
    { name: 'bbox', num_children: boxColumns.length, ...optional },
    ...boxColumns.map((name): SchemaElement => ({ name, type: 'DOUBLE', repetition_type: 'REQUIRED' })),
    { name: 'geometry', type: 'BYTE_ARRAY', ...optional },
  ];
}

/** Estimated number of bytes of a row without its shape, in a table with few measurements. */
const bytesPerRow = 128;
/** Compresses with Node's zlib, because the library's own compression is written in JavaScript and takes several times as long. */
const compressors = { GZIP: (bytes: Uint8Array): Uint8Array => gzipSync(bytes, { level: 1 }) };

/** Writes one part of a file: rows of a block with their shapes. The offsets in the returned row group are relative to the part. */
export function writeRowGroup({
  block,
  rows,
  shapes,
  columns,
}: {
  block: Block;
  rows: Uint32Array;
  shapes: readonly Shape[];
  columns: TableColumn[];
}): { bytes: Uint8Array; group: RowGroup; box: FileBox } {
  const [xmin, ymin, xmax, ymax] = boxColumns.map((name) => block.numbers(name)) as [
    Float64Array,
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  const boxAt = (row: number) => ({ xmin: xmin[row]!, ymin: ymin[row]!, xmax: xmax[row]!, ymax: ymax[row]! });
  const columnData: ColumnSource[] = columns
    .filter(({ name }) => !isBoxColumn(name))
    .map((column) => ({ name: column.name, data: parquetValues(block.cells(column, rows), column) }));
  // Most shapes have none of these numbers. If a part has only such shapes, its columns share one list of nulls.
  const hasNumbers = shapes.some(({ numbers }) => numbers !== null);
  const nulls = hasNumbers ? [] : shapes.map(() => null);
  for (const name of shapeNumbers) {
    columnData.push({ name, data: hasNumbers ? shapes.map(({ numbers }) => numbers?.[name] ?? null) : nulls });
  }
  columnData.push({ name: 'properties', data: shapes.map(({ properties }) => properties) });
  columnData.push({ name: 'bbox', data: Array.from(rows, boxAt) });
  // Shapes get no dictionary, because they are rarely equal. They get no statistics, because bounds of bytes mean nothing. They are not
  // compressed, because that would save only a quarter of their size and take a third of the time.
  const geometryOptions = { encoding: 'PLAIN', statistics: false, codec: 'UNCOMPRESSED' } as const;
  columnData.push({ name: 'geometry', data: shapes.map(({ wkb }) => wkb), ...geometryOptions });
  // A writer that grows copies everything it has written. This initial size is enough for most parts.
  const shapeBytes = shapes.reduce((sum, { wkb }) => sum + (wkb?.length ?? 0), 0);
  const writer = new ByteWriter(1024 * 1024 + shapeBytes + bytesPerRow * rows.length);
  const file = new ParquetWriter({ writer, schema: parquetSchema(columns), codec: 'GZIP', compressors });
  // The writer has just written magic bytes, which belong only before the first part. They are dropped here.
  writer.index = 0;
  writer.offset = 0;
  void file.write({ columnData: columnData.map((column) => ({ ...column, offsetIndex: false })), rowGroupSize: rows.length });
  const box: FileBox = [Infinity, Infinity, -Infinity, -Infinity];
  for (const row of rows) {
    box[0] = Math.min(box[0], xmin[row]!);
    box[1] = Math.min(box[1], ymin[row]!);
    box[2] = Math.max(box[2], xmax[row]!);
    box[3] = Math.max(box[3], ymax[row]!);
  }
  return { bytes: writer.getBytes(), group: file.row_groups[0]!, box };
}

function parquetValues(cells: Cell[], { name }: TableColumn): unknown[] {
  return name === 'order' ? cells.map((value) => (value === null ? null : BigInt(value))) : cells;
}

/** Writes the end of a file, which describes its contents (GeoParquet 1.1). */
export function parquetEnd({
  groups,
  columns,
  box,
  offset,
}: {
  groups: RowGroup[];
  columns: TableColumn[];
  box: FileBox | null;
  offset: number;
}): Uint8Array {
  const covering = Object.fromEntries(boxColumns.map((name) => [name, ['bbox', name]]));
  const geometry = {
    encoding: 'WKB',
    geometry_types: [],
    crs: null,
    ...(box !== null && { bbox: box }),
    covering: { bbox: covering },
  };
  const geo = { version: '1.1.0', primary_column: 'geometry', columns: { geometry } };
  const writer = new ByteWriter(64 * 1024);
  const file = new ParquetWriter({
    writer,
    schema: parquetSchema(columns),
    kvMetadata: [{ key: 'geo', value: JSON.stringify(geo) }],
    createdBy: 'express-large-image',
  });
  writer.index = 0;
  writer.offset = offset;
  file.row_groups = groups;
  file.num_rows = groups.reduce((sum, { num_rows: rows }) => sum + rows, 0n);
  void file.finish();
  return writer.getBytes();
}
