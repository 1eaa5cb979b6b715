import type { AnnotationElement } from '../../../annotation-format/schema/document.js';
import { bufferOf } from '../../../core/buffer-of.js';
import { moved, threadFunctions } from '../../../core/concurrency/thread-functions.js';
import { PackColumns } from '../elements/packs/pack.js';
import type { SegmentHeader } from '../elements/packs/segment.js';
import { tableOfPacks } from '../elements/read/pack-table.js';
import { arrowBatch, arrowStart } from './arrow.js';
import { Block } from './block.js';
import type { TableColumn } from './columns.js';
import type { TableFilter } from './filter.js';
import { parquetEnd, writeRowGroup } from './parquet.js';
import { shapeOf, type Shape } from './shapes.js';
import { cells, csv, ids, page, select } from './ordering.js';
import { describe, histogram, summarize } from './statistics.js';
import { values } from './values.js';

/** Packs as they are sent to a thread. */
export interface PacksInput {
  packs: { columns: Uint8Array; text: Uint8Array }[];
}

/** Makes a segment of packs that are in none. @param each takes every element, in the order of the rows. */
async function segmentOf(
  { packs }: PacksInput,
  each?: (element: AnnotationElement) => void,
): Promise<{ header: SegmentHeader; parts: Uint8Array[] }> {
  const read = packs.map(({ columns, text }) => ({ columns: new PackColumns(bufferOf(columns)), text: bufferOf(text) }));
  const table = await tableOfPacks(read, each);
  const order = Uint32Array.from({ length: table.count }, (_, row) => row);
  const parts: Uint8Array[] = [];
  for await (const part of table.segment(order, { packs: [], counts: [] })) parts.push(part);
  const [header] = parts.splice(0, 1);
  return { header: JSON.parse(bufferOf(header!).toString()) as SegmentHeader, parts };
}

/** Writes a part of a Parquet file: those elements of packs that a filter takes; `null` when there are none. */
async function parquetPart({
  packs,
  window,
  filter,
  columns,
}: PacksInput & { window: number; filter: TableFilter | null; columns: TableColumn[] }) {
  const shapes: Shape[] = [];
  const { header, parts } = await segmentOf({ packs }, (element) => void shapes.push(shapeOf(element)));
  let next = 0;
  const stored = header.columns.map(({ name, kind, parts: count }) => {
    const bytes = Buffer.concat(parts.slice(next, next + count));
    next += count;
    return { name, kind, bytes };
  });
  const block = new Block({ window, rows: header.rows, live: [[0, header.rows]], columns: stored });
  const rows = block.select(filter);
  if (rows.length === 0) return null;
  const part = writeRowGroup({ block, rows, shapes, columns });
  return moved(part, part.bytes);
}

const functions = {
  segmentOf: (input: PacksInput) => segmentOf(input),
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
  parquetPart,
  parquetEnd,
};

/** The functions of the threads for tables. */
export type TableFunctions = typeof functions;

export default threadFunctions(functions);
