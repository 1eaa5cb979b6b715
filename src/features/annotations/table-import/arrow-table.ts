import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { CompressionType, compressionRegistry, DataType, RecordBatchReader, Type, type Field, type Vector } from 'apache-arrow';
import { BadParameterError } from '../../../errors.js';
import { zstdContentSize } from '../../../tilesource/codecs/zstd-header.js';
import { loadNewZstd } from '../../../tilesource/codecs/zstd-library.js';
import { parseGeoColumns } from './coordinate-system.js';
import {
  requireValidColumns,
  requireRowCount,
  type ImportColumn,
  type ImportRows,
  type IncomingTable,
} from './incoming-table.js';

const chunkBytes = 1024 * 1024;
/** Maximum size of one buffer after decompression, in bytes. */
const maxBufferBytes = 1024 ** 3;
/** The last bytes of a stream, in hexadecimal: a continuation marker and the length zero. */
const endMark = 'ffffffff00000000';

function* chunksOf(file: number): Generator<Uint8Array, void, undefined> {
  for (;;) {
    const chunk = new Uint8Array(chunkBytes);
    const length = readSync(file, chunk);
    if (length === 0) return;
    yield chunk.subarray(0, length);
  }
}

function readBytesAt(file: number, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(file, bytes, 0, length, Math.max(0, position)));
}

/**
 * Opens an Arrow stream. Batches can be compressed with Zstandard. LZ4 frames are refused, because no maintained library reads them.
 */
export async function openArrow(path: string): Promise<IncomingTable> {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    if (readBytesAt(file, 0, 6).toString('latin1') === 'ARROW1')
      throw new BadParameterError('This is an Arrow file (Feather). Send an Arrow stream, or Parquet.');
    if (readBytesAt(file, size - 8, 8).toString('hex') !== endMark)
      throw new BadParameterError('The Arrow stream is incomplete: its end-of-stream marker is missing.');
    const { decompress } = await loadNewZstd();
    compressionRegistry.set(CompressionType.ZSTD, {
      decode: (bytes) => {
        const declaredBytes = zstdContentSize(bytes) ?? maxBufferBytes;
        if (declaredBytes > maxBufferBytes)
          throw new BadParameterError(`The Arrow stream has a buffer of ${declaredBytes} bytes.`);
        return decompress(bytes, { defaultHeapSize: declaredBytes });
      },
    });
    compressionRegistry.set(CompressionType.LZ4_FRAME, {
      decode: () => {
        throw new BadParameterError(
          'The Arrow stream is compressed with LZ4, which is not supported. Send it uncompressed or with ZSTD.',
        );
      },
    });
    const reader = RecordBatchReader.from(chunksOf(file)).open();
    const { fields, metadata } = reader.schema;
    const columns = fields.map(columnOf);
    requireValidColumns(columns);
    return {
      columns,
      ...shapesOf(fields, metadata),
      rows: (indices) => rowsOf(reader, indices, fields),
      close: async () => closeSync(file),
    };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

function shapesOf(fields: readonly Field[], metadata: ReadonlyMap<string, string>): Pick<IncomingTable, 'shapes' | 'primary'> {
  const geo = parseGeoColumns(metadata.get('geo'));
  const shapes = new Map(geo.shapes);
  for (const { name, metadata: fieldMetadata } of fields) {
    if (shapes.has(name) || fieldMetadata.get('ARROW:extension:name') !== 'geoarrow.wkb') continue;
    // If the coordinate system is missing, it is unknown here. In GeoParquet, it would be degrees.
    const { crs = null } = JSON.parse(fieldMetadata.get('ARROW:extension:metadata') || '{}') as { crs?: unknown };
    shapes.set(name, { crs });
  }
  return { shapes, primary: geo.primary ?? [...shapes.keys()][0] ?? null };
}

function columnOf({ name, type }: Field): ImportColumn {
  const valueType: DataType = DataType.isDictionary(type) ? type.dictionary : type;
  const isNumber = DataType.isInt(valueType) || DataType.isFloat(valueType);
  const isValue =
    isNumber ||
    DataType.isBool(valueType) ||
    DataType.isUtf8(valueType) ||
    DataType.isLargeUtf8(valueType) ||
    DataType.isDate(valueType) ||
    DataType.isTimestamp(valueType) ||
    DataType.isNull(valueType);
  const isBinary = DataType.isBinary(valueType) || valueType.typeId === Type.LargeBinary;
  return { name, kind: isValue ? 'value' : isBinary ? 'binary' : 'nested', isNumber };
}

async function* rowsOf(
  reader: RecordBatchReader,
  indices: readonly number[],
  fields: readonly Field[],
): AsyncGenerator<ImportRows> {
  const dateIndices = new Set(indices.filter((index) => isTime(fields[index]!.type)));
  let rowCount = 0;
  for (const batch of reader as Iterable<{ numRows: number; getChildAt(index: number): Vector | null }>) {
    const count = batch.numRows;
    rowCount += count;
    requireRowCount(rowCount);
    const columns = indices.map((index) => {
      const vector = batch.getChildAt(index)!;
      if (vector.length !== count)
        throw new BadParameterError('The Arrow stream is corrupt: columns of a batch differ in length.');
      const isDate = dateIndices.has(index);
      return Array.from({ length: count }, (_, row) => {
        const value = vector.get(row) as unknown;
        return isDate && typeof value === 'number' ? new Date(value) : value;
      });
    });
    yield { count, columns };
  }
}

function isTime(type: DataType): boolean {
  const valueType: DataType = DataType.isDictionary(type) ? type.dictionary : type;
  return DataType.isDate(valueType) || DataType.isTimestamp(valueType);
}
