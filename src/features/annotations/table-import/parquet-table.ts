import { open, type FileHandle } from 'node:fs/promises';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import {
  parquetMetadataAsync,
  parquetRead,
  parquetSchema,
  type AsyncBuffer,
  type ColumnMetaData,
  type Compressors,
  type FileMetaData,
  type SchemaTree,
} from 'hyparquet';
import { deserializeTCompactProtocol } from 'hyparquet/src/thrift.js';
import { BadParameterError, LargeImageError } from '../../../errors.js';
import { zstdContentSize } from '../../../tilesource/codecs/zstd-header.js';
import { loadNewZstd } from '../../../tilesource/codecs/zstd-library.js';
import { parseGeoColumns } from './coordinate-system.js';
import {
  quoted,
  requireValidColumns,
  requireRowCount,
  type ImportColumn,
  type ImportRows,
  type IncomingTable,
} from './incoming-table.js';

/** Maximum size of the footer of a file in bytes. */
const maxFooterBytes = 64 * 1024 * 1024;
/** Maximum size of a decompressed page in bytes. */
const maxPageBytes = 256 * 1024 * 1024;
/** Maximum size of a stored part of the file in bytes, such as a column of a row group. */
const maxChunkBytes = 1024 ** 3;
/** Number of rows that are read together. */
const rowsAtOnce = 65_536;

const codecs = new Set(['UNCOMPRESSED', 'SNAPPY', 'GZIP', 'BROTLI', 'ZSTD']);

/** A file whose parts are read when they are needed. */
class FileBuffer implements AsyncBuffer {
  constructor(
    private readonly file: FileHandle,
    readonly byteLength: number,
  ) {}

  async slice(start: number, end = this.byteLength): Promise<ArrayBuffer> {
    const from = start < 0 ? this.byteLength + start : start;
    const length = end - from;
    if (from < 0 || length < 0 || end > this.byteLength) throw new Error('a part is outside of the file');
    if (length > maxChunkBytes) throw new Error(`a part has ${length} bytes`);
    const bytes = new Uint8Array(length);
    for (let offset = 0; offset < length;) {
      const { bytesRead } = await this.file.read(bytes, offset, length - offset, from + offset);
      if (bytesRead === 0) throw new Error('the file ends early');
      offset += bytesRead;
    }
    return bytes.buffer;
  }
}

/** Opens a Parquet file. */
export async function openParquet(path: string): Promise<IncomingTable> {
  const handle = await open(path, 'r');
  try {
    const file = new FileBuffer(handle, (await handle.stat()).size);
    await requireMagicBytes(file);
    const metadata = await parquetMetadataAsync(file, { geoparquet: false });
    requireReadable(metadata);
    const columns = parquetSchema(metadata).children.map(columnOf);
    requireValidColumns(columns);
    return {
      columns,
      ...shapesOf(metadata),
      rows: (indices) =>
        rowsOf(
          file,
          metadata,
          indices.map((index) => columns[index]!.name),
        ),
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function requireMagicBytes(file: FileBuffer): Promise<void> {
  const readText = async (start: number, end: number) => Buffer.from(await file.slice(start, end)).toString('latin1');
  if (file.byteLength < 12 || (await readText(0, 4)) !== 'PAR1') throw new BadParameterError('The table is not a Parquet file.');
  const lastBytes = await file.slice(file.byteLength - 8, file.byteLength);
  const mark = Buffer.from(lastBytes, 4).toString('latin1');
  if (mark === 'PARE') throw new BadParameterError('The Parquet file is encrypted.');
  const footerBytes = new DataView(lastBytes).getUint32(0, true);
  if (mark !== 'PAR1' || footerBytes > file.byteLength - 12)
    throw new BadParameterError('The Parquet file is incomplete: its footer is missing.');
  if (footerBytes > maxFooterBytes)
    throw new LargeImageError(
      'too-large',
      `The footer of the Parquet file has ${footerBytes} bytes; at most ${maxFooterBytes} are allowed.`,
    );
}

function requireReadable({ num_rows: declaredRows, row_groups: groups }: FileMetaData): void {
  let rowCount = 0;
  for (const { num_rows: count, columns } of groups) {
    if (count < 0n) throw new BadParameterError('The Parquet file is corrupt: a row group has a negative number of rows.');
    rowCount += Number(count);
    requireRowCount(rowCount);
    for (const { meta_data: column } of columns) {
      if (column === undefined) throw new BadParameterError('The Parquet file has columns in other files.');
      if (codecs.has(column.codec)) continue;
      const columnName = quoted(column.path_in_schema.join('.'));
      throw new BadParameterError(
        `The column ${columnName} is compressed with ${column.codec}, which is not supported. Use ${[...codecs].slice(1).join(', ')} or none.`,
      );
    }
  }
  if (BigInt(rowCount) !== declaredRows) throw new BadParameterError('The Parquet file is corrupt: its numbers of rows differ.');
}

const textTypes: ReadonlySet<unknown> = new Set(['UTF8', 'ENUM', 'STRING']);
const otherValueTypes: ReadonlySet<unknown> = new Set(['DECIMAL', 'FLOAT16', 'UUID']);

function columnOf({ element, children }: SchemaTree): ImportColumn {
  const { name, type, converted_type: converted, logical_type: logical, repetition_type: repetition } = element;
  if (children.length > 0 || repetition === 'REPEATED' || type === undefined) return { name, kind: 'nested', isNumber: false };
  const isBytes = type === 'BYTE_ARRAY' || type === 'FIXED_LEN_BYTE_ARRAY';
  const isValueType = [converted, logical?.type].some((typeName) => textTypes.has(typeName) || otherValueTypes.has(typeName));
  if (isBytes && !isValueType) return { name, kind: 'binary', isNumber: false };
  const isTime = [converted, logical?.type].some((typeName) => /^(DATE|TIME)/.test(typeName ?? ''));
  return { name, kind: 'value', isNumber: type !== 'BOOLEAN' && !isTime && !isBytes };
}

function shapesOf({ key_value_metadata: entries, schema }: FileMetaData): Pick<IncomingTable, 'shapes' | 'primary'> {
  const geo = parseGeoColumns(entries?.find(({ key }) => key === 'geo')?.value);
  const shapes = new Map(geo.shapes);
  for (const { name, logical_type: logical } of schema) {
    if (logical?.type !== 'GEOMETRY' && logical?.type !== 'GEOGRAPHY') continue;
    if (!shapes.has(name)) shapes.set(name, { crs: logical.crs });
  }
  return { shapes, primary: geo.primary ?? [...shapes.keys()][0] ?? null };
}

/** Makes the decompressors. They allocate the declared size of a page, which {@link checkPages} has limited. */
async function createDecompressors(): Promise<Compressors> {
  const { decompress } = await loadNewZstd();
  return {
    GZIP: (bytes, size) => gunzipSync(bytes, { maxOutputLength: Math.max(1, size) }),
    BROTLI: (bytes, size) => brotliDecompressSync(bytes, { maxOutputLength: Math.max(1, size) }),
    ZSTD: (bytes, size) => {
      if ((zstdContentSize(bytes) ?? size) > size) throw new Error('a page is longer than declared');
      return decompress(bytes, { defaultHeapSize: size });
    },
  };
}

/** The header of a Parquet page. The keys contain the numbers of the fields in the format. */
interface PageHeader {
  field_1: number;
  field_2: number;
  field_3: number;
  field_5?: { field_1: number };
  field_7?: { field_1: number };
  field_8?: { field_1: number };
}

/**
 * Checks the sizes that the pages of a column declare, because the library allocates these sizes.
 *
 * @throws Error if a size is too large, or if the pages do not have as many values as there are rows.
 */
async function checkPages(
  file: FileBuffer,
  { path_in_schema: path, ...column }: ColumnMetaData,
  rowCount: number,
): Promise<void> {
  const start = Number(column.dictionary_page_offset ?? column.data_page_offset);
  const end = start + Number(column.total_compressed_size);
  const reader = { view: new DataView(await file.slice(start, end)), offset: 0 };
  const pageName = `a page of ${quoted(path.join('.'))}`;
  let totalValueCount = 0;
  while (reader.offset < reader.view.byteLength - 1 && totalValueCount < rowCount) {
    const header = deserializeTCompactProtocol(reader) as unknown as PageHeader;
    const { field_2: size, field_3: compressedSize } = header;
    if (!(size >= 0 && size <= maxPageBytes)) throw new Error(`${pageName} has ${size} bytes, more than ${maxPageBytes}`);
    if (!(compressedSize >= 0 && compressedSize <= reader.view.byteLength - reader.offset))
      throw new Error(`${pageName} is incomplete`);
    const entryCount = header.field_7?.field_1 ?? 0;
    if (entryCount > size) throw new Error(`${pageName} has more entries than bytes`);
    const valueCount = (header.field_5 ?? header.field_8)?.field_1 ?? 0;
    if (valueCount < 0) throw new Error(`${pageName} has ${valueCount} values`);
    totalValueCount += valueCount;
    reader.offset += compressedSize;
  }
  if (totalValueCount !== rowCount)
    throw new Error(`${quoted(path.join('.'))} has ${totalValueCount} values in ${rowCount} rows`);
}

async function* rowsOf(file: FileBuffer, metadata: FileMetaData, names: string[]): AsyncGenerator<ImportRows> {
  const requestedNames = new Set(names);
  const decompressors = await createDecompressors();
  const rawParsers = { geometryFromBytes: (bytes: Uint8Array) => bytes, geographyFromBytes: (bytes: Uint8Array) => bytes };
  let groupStart = 0;
  for (const { num_rows: count, columns: chunks } of metadata.row_groups) {
    const groupEnd = groupStart + Number(count);
    for (const { meta_data: column } of chunks) {
      if (requestedNames.has(column!.path_in_schema[0]!)) await checkPages(file, column!, Number(count));
    }
    for (let rowStart = groupStart; rowStart < groupEnd; rowStart += rowsAtOnce) {
      const rowEnd = Math.min(groupEnd, rowStart + rowsAtOnce);
      let rows: unknown[][] = [];
      await parquetRead({
        file,
        metadata,
        columns: names,
        rowStart,
        rowEnd,
        compressors: decompressors,
        utf8: false,
        geoparquet: false,
        parsers: rawParsers,
        onComplete: (result) => (rows = result),
      });
      if (rows.length !== rowEnd - rowStart) throw new Error('rows are missing');
      yield { count: rows.length, columns: names.map((_, column) => rows.map((row) => row[column] ?? null)) };
    }
    groupStart = groupEnd;
  }
}
