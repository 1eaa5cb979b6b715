import { bufferOf } from '../../../core/buffer-of.js';
import { transferBytes, createCallHandler } from '../../../core/concurrency/thread-functions.js';
import { windowPositions } from '../elements/packs/pack-index.js';
import { PackColumns } from '../elements/packs/pack.js';
import type { SegmentHeader } from '../elements/packs/segment.js';
import { draftTableOfPacks } from '../elements/read/pack-table.js';
import { arrowBatch, arrowStart } from './arrow.js';
import { Block, type BlockInput, type Cell } from './block.js';
import { storedColumns, type TableColumn } from './columns.js';
import type { TableFilter } from './filter.js';
import { parquetEnd, writeRowGroup, type FileBox } from './parquet.js';
import { shiftRowGroup, type RowGroup } from './row-groups.js';
import { ShapeTexts } from './shape-texts.js';
import { csv } from './csv.js';
import { cells, ids, page, select } from './ordering.js';
import { describe, histogram, summarize } from './statistics.js';
import { values } from './values.js';

/** Packs in the form in which they are sent to a thread. */
export interface PacksInput {
  packs: { columns: Uint8Array; text: Uint8Array }[];
}

/** Makes a segment that contains only these packs. */
async function segmentOf({ packs }: PacksInput): Promise<{ header: SegmentHeader; parts: Uint8Array[] }> {
  const decodedPacks = packs.map(({ columns, text }) => ({ columns: new PackColumns(bufferOf(columns)), text: bufferOf(text) }));
  const draft = await draftTableOfPacks(decodedPacks);
  const parts: Uint8Array[] = [];
  for await (const part of draft.table.encodeSegment(draft.packColumns, [])) parts.push(part);
  const [header] = parts.splice(0, 1);
  return { header: JSON.parse(bufferOf(header!).toString()) as SegmentHeader, parts };
}

/** Returns the values of columns at some rows of packs, column by column. The rows of all packs are numbered consecutively. */
async function cellsOfPacks({
  packs,
  windowIndex,
  columns,
  rows,
}: PacksInput & { windowIndex: number; columns: TableColumn[]; rows: Uint32Array }): Promise<Cell[][]> {
  const { header, parts } = await segmentOf({ packs });
  const partsByColumn = new Map(header.columns.map((column, i) => [column, parts[i]!]));
  const blockColumns = storedColumns(header, columns).map((column) => ({
    name: column.name,
    kind: column.kind,
    bytes: partsByColumn.get(column)!,
  }));
  const block = { windowIndex, rowCount: header.rows, liveRanges: [[0, header.rows]] as const, columns: blockColumns };
  return cells({ block, columns, rows });
}

/** Elements of a window for a Parquet file. The packs are needed for the shapes. */
interface ParquetInput extends PacksInput {
  /** Blocks with all columns that the file needs. */
  blocks: BlockInput[];
  filter: TableFilter | null;
  columns: TableColumn[];
}

/** Number of rows in one part of a Parquet file. More rows would take more memory and would not save time. */
const rowsPerPart = 16_384;

/** Writes parts of a Parquet file with the elements of the blocks that match a filter. */
function parquetParts({ packs, blocks, filter, columns }: ParquetInput) {
  const texts = new ShapeTexts(packs);
  const partBytes: Uint8Array[] = [];
  const groups: RowGroup[] = [];
  const boxes: FileBox[] = [];
  let byteCount = 0;
  for (const input of blocks) {
    const block = new Block(input);
    const selectedRows = block.selectRows(filter);
    const orders = block.numbers('order');
    for (let from = 0; from < selectedRows.length; from += rowsPerPart) {
      const rows = selectedRows.subarray(from, from + rowsPerPart);
      const shapes = Array.from(rows, (row) => texts.shapeAt((orders[row] as number) % windowPositions));
      const part = writeRowGroup({ block, rows, shapes, columns });
      groups.push(shiftRowGroup(part.group, byteCount));
      boxes.push(part.box);
      partBytes.push(part.bytes);
      byteCount += part.bytes.length;
    }
  }
  // Bytes that are transferred must fill their buffer.
  const bytes = new Uint8Array(byteCount);
  let offset = 0;
  for (const part of partBytes) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return transferBytes({ bytes, groups, boxes }, bytes);
}

const functions = {
  segmentOf,
  cellsOfPacks,
  values,
  describe,
  histogram,
  summarize,
  select,
  page,
  cells,
  ids,
  csv,
  arrowStart,
  arrowBatch,
  parquetParts,
  parquetEnd,
};

/** The functions of the threads for tables. */
export type TableFunctions = typeof functions;

export default createCallHandler(functions);
