import {
  Bool,
  Field,
  Float64,
  Int64,
  makeData,
  RecordBatch,
  RecordBatchStreamWriter,
  Schema,
  Struct,
  Table,
  Utf8,
  vectorFromArray,
  type Data,
} from 'apache-arrow';
import { Block, type FilteredBlock } from './block.js';
import type { TableColumn } from './columns.js';

/** Length of the marker at the end of a stream, in bytes. */
const endMarkerBytes = 8;

function schemaOf(columns: readonly TableColumn[]): Schema {
  return new Schema(columns.map(({ name, type }) => new Field(name, arrowTypeOf(name, type), true)));
}

function arrowTypeOf(name: string, type: TableColumn['type']): Bool | Float64 | Int64 | Utf8 {
  if (name === 'order') return new Int64();
  return type === 'number' ? new Float64() : type === 'boolean' ? new Bool() : new Utf8();
}

/** Writes the beginning of a stream: its schema. */
export function arrowStart({ columns }: { columns: TableColumn[] }): Uint8Array {
  const writer = new RecordBatchStreamWriter();
  writer.reset(undefined, schemaOf(columns));
  writer.finish();
  const bytes = writer.toUint8Array(true);
  return bytes.slice(0, schemaLengthOf(bytes));
}

/** Finds the length of a stream's first message (the schema) in bytes. A message is a 4-byte marker, a 4-byte length, and that many bytes. */
function schemaLengthOf(stream: Uint8Array): number {
  return 8 + new DataView(stream.buffer, stream.byteOffset).getInt32(4, true);
}

/** Writes the rows of a block that match a filter as a message of a stream. Returns no bytes if no row matches. */
export function arrowBatch({ block: input, filter, columns }: FilteredBlock & { columns: TableColumn[] }): Uint8Array {
  const block = new Block(input);
  const rows = block.selectRows(filter);
  if (rows.length === 0) return new Uint8Array(0);
  const schema = schemaOf(columns);
  const children = columns.map((column) => arrowDataOf(block, column, rows));
  const data = makeData({ type: new Struct(schema.fields), length: rows.length, nullCount: 0, children });
  const writer = RecordBatchStreamWriter.writeAll(new Table([new RecordBatch(schema, data)]));
  const bytes = writer.toUint8Array(true);
  return bytes.slice(schemaLengthOf(bytes), bytes.length - endMarkerBytes);
}

function arrowDataOf(block: Block, column: TableColumn, rows: Uint32Array): Data {
  if (column.name === 'order') {
    const order = block.numbers('order');
    return makeData({
      type: new Int64(),
      length: rows.length,
      nullCount: 0,
      data: BigInt64Array.from(rows, (row) => BigInt(order[row]!)),
    });
  }
  if (column.type !== 'number') {
    return vectorFromArray(block.cells(column, rows), arrowTypeOf(column.name, column.type)).data[0]!;
  }
  const numbers = block.numbers(column.source);
  const values = new Float64Array(rows.length);
  const nullBitmap = new Uint8Array((rows.length + 7) >>> 3);
  let nullCount = 0;
  for (let i = 0; i < rows.length; i += 1) {
    const value = numbers[rows[i] as number] as number;
    if (Number.isNaN(value)) nullCount += 1;
    else {
      values[i] = value;
      nullBitmap[i >>> 3]! |= 1 << (i & 7);
    }
  }
  return makeData({ type: new Float64(), length: rows.length, nullCount, data: values, nullBitmap });
}
