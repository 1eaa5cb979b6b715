import { threadFunctions } from '../../../core/concurrency/thread-functions.js';
import { PackColumns } from '../elements/packs/pack.js';
import type { SegmentHeader } from '../elements/packs/segment.js';
import { tableOfPacks } from '../elements/read/pack-table.js';
import { cells, csv, ids, page, select } from './ordering.js';
import { describe, histogram, summarize } from './statistics.js';

/** Packs as they are sent to a thread. */
export interface PacksInput {
  packs: { columns: Uint8Array; text: Uint8Array }[];
}

/** Makes a segment of packs that are in none. */
async function segmentOf({ packs }: PacksInput): Promise<{ header: SegmentHeader; parts: Uint8Array[] }> {
  const read = packs.map(({ columns, text }) => ({ columns: new PackColumns(bufferOf(columns)), text: bufferOf(text) }));
  const table = await tableOfPacks(read);
  const order = Uint32Array.from({ length: table.count }, (_, row) => row);
  const parts: Uint8Array[] = [];
  for await (const part of table.segment(order, { packs: [], counts: [] })) parts.push(part);
  const [header] = parts.splice(0, 1);
  return { header: JSON.parse(bufferOf(header!).toString()) as SegmentHeader, parts };
}

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

const functions = { segmentOf, describe, histogram, summarize, select, page, cells, ids, csv };

/** The functions of the threads for tables. */
export type TableFunctions = typeof functions;

export default threadFunctions(functions);
