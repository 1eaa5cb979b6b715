import { availableParallelism } from 'node:os';
import { LRUCache } from 'lru-cache';
import { findProgram } from '../../../core/concurrency/program.js';
import { ThreadPool } from '../../../core/concurrency/thread-pool.js';
import type { ElementStore, StoredElements, TableSegment, WindowPacks } from '../elements/element-store.js';
import type { RawPack } from '../elements/read/loader.js';
import type { SegmentColumn, SegmentHeader } from '../elements/packs/segment.js';
import type { BlockInput, Cell } from './block.js';
import { ColumnsByName, storedColumns, tableColumns, type TableColumn } from './columns.js';
import type { PacksInput, TableFunctions } from './table-thread.js';

const taskSubject = 'The table';
/**
 * If a few rows lie in at most this many packs, their cells are computed from the packs. This is faster than reading a segment: even a
 * segment with few columns has five megabytes, and measuring an element takes only some microseconds.
 */
const maxPacksForCells = 16;
const timeoutMs = 60_000;
const memoryMiB = 2048;
/**
 * Maximum number of calls that wait for a thread. Each request makes only a few calls at a time, and requests wait in a queue before they
 * begin.
 */
const maxWaitingCalls = 256;
/** Memory in bytes for segments that are computed from packs, because no stored segment contains these packs. */
const maxLooseBytes = 32 * 1024 * 1024;

/** Creates the threads that work on tables. */
export function createTableThreads(): ThreadPool<TableFunctions> {
  return new ThreadPool<TableFunctions>({
    program: findProgram(import.meta.url, { source: './table-thread.ts', built: 'table-thread' }),
    name: 'tables',
    maxThreads: Math.min(2, availableParallelism()),
    timeoutMs,
    memoryMiB,
    maxWaiting: maxWaitingCalls,
  });
}

/** A part of a table: elements of one window. */
export interface TableBlock {
  header: SegmentHeader;
  /** Index of the block's window in the annotation. */
  windowIndex: number;
  /** Number of elements that have not changed since the block was written. */
  liveCount: number;
  /** Loads the block with these columns. `transfer` lists the buffers to transfer when the block is sent to a thread. */
  load(columns: Iterable<TableColumn>, signal: AbortSignal): Promise<{ block: BlockInput; transfer: ArrayBuffer[] }>;
  /**
   * Loads the values of columns at some rows, column by column. The elements of these rows must not have changed since the block was
   * written.
   */
  loadCells(columns: TableColumn[], rows: Uint32Array, signal: AbortSignal): Promise<Cell[][]>;
}

/** The table of one version of an annotation. */
export interface OpenTable {
  content: string;
  blocks: TableBlock[];
  columnsByName: ColumnsByName;
  /** Whether elements have values without a column, because the table has its maximum number of columns. */
  isCut: boolean;
}

/** A block whose columns can be loaded. If it is a stored segment, its packs can be loaded, too. */
type LoadableBlock = Pick<TableSegment, 'header' | 'windowIndex' | 'liveRanges'> &
  Partial<Pick<TableSegment, 'loadPacks'>> & {
    loadColumns: (columns: readonly SegmentColumn[], signal?: AbortSignal) => Promise<Uint8Array[]>;
  };

/** A segment that was computed from packs. */
interface LooseSegment {
  header: SegmentHeader;
  parts: Uint8Array[];
}

/** Opens tables. Finds their blocks and columns, without loading values. */
export class TableBlocks {
  readonly #looseSegments = new LRUCache<string, LooseSegment>({
    maxSize: maxLooseBytes,
    sizeCalculation: ({ parts }) => parts.reduce((sum, { length }) => sum + length, 4096),
  });

  constructor(
    private readonly store: ElementStore,
    private readonly threads: ThreadPool<TableFunctions>,
  ) {}

  async open(stored: StoredElements, signal: AbortSignal): Promise<OpenTable> {
    const { segments, loosePacks } = await this.store.readTable(stored, { signal });
    const blocks = segments.map((segment) => this.#toBlock(segment));
    for (const packs of loosePacks) {
      const { header, parts } = await this.#segmentFromPacks(packs, signal);
      const partIndexByColumn = new Map(header.columns.map((column, i) => [column, i]));
      // Loose packs are few, so each column fits into one part.
      const loadColumns = async (columns: readonly SegmentColumn[]) =>
        columns.map((column) => parts[partIndexByColumn.get(column)!]!);
      blocks.push(this.#toBlock({ header, windowIndex: packs.windowIndex, liveRanges: [[0, header.rows]], loadColumns }));
    }
    const { columns, isCut } = tableColumns(blocks.map(({ header }) => header));
    return { content: stored.content, blocks, columnsByName: new ColumnsByName(columns), isCut };
  }

  #toBlock(segment: LoadableBlock): TableBlock {
    const { header, windowIndex, liveRanges } = segment;
    return {
      header,
      windowIndex,
      liveCount: liveRanges.reduce((sum, [from, to]) => sum + to - from, 0),
      load: (columns, signal) => loadBlock(segment, columns, signal),
      loadCells: (columns, rows, signal) => this.#loadCells(segment, columns, rows, signal),
    };
  }

  async #loadCells(segment: LoadableBlock, columns: TableColumn[], rows: Uint32Array, signal: AbortSignal): Promise<Cell[][]> {
    const { header, windowIndex, loadPacks } = segment;
    const selection = packsOfRows(header, rows);
    // If the segment is cut, it lacks some columns. Its packs alone could lack different columns, so they are not used then.
    if (loadPacks === undefined || header.isCut === true || selection.packs.length > maxPacksForCells) {
      const { block, transfer } = await loadBlock(segment, columns, signal);
      return this.threads.run('cells', { block, columns, rows }, { inputName: taskSubject, signal, transfer });
    }
    const { input, transfer } = toPacksInput(await loadPacks(selection.packs, signal));
    return this.threads.run(
      'cellsOfPacks',
      { ...input, windowIndex, columns, rows: selection.rows },
      { inputName: taskSubject, signal, transfer },
    );
  }

  /** Computes the segment of some packs. */
  async #segmentFromPacks(packs: WindowPacks, signal: AbortSignal): Promise<LooseSegment> {
    const cached = this.#looseSegments.get(packs.id);
    if (cached !== undefined) return cached;
    const { input, transfer } = toPacksInput(await packs.load(signal));
    const segment = await this.threads.run('segmentOf', input, { inputName: taskSubject, signal, transfer });
    this.#looseSegments.set(packs.id, segment);
    return segment;
  }
}

/** Makes the input of a thread from packs. `transfer` lists the buffers to transfer with the input. */
export function toPacksInput(packs: RawPack[]): { input: PacksInput; transfer: ArrayBuffer[] } {
  const buffers = new Set(packs.flatMap(({ columns, text }) => [columns.buffer, text.buffer]));
  return { input: { packs }, transfer: [...buffers] as ArrayBuffer[] };
}

/**
 * Finds the packs that contain some rows of a segment.
 *
 * @returns `packs`: indices of these packs in the header. `rows`: for each row, its index among the rows of only these packs.
 */
function packsOfRows({ counts }: SegmentHeader, rows: Uint32Array): { packs: number[]; rows: Uint32Array } {
  const packs: number[] = [];
  const selectedRows = new Uint32Array(rows.length);
  // Rows are visited in the order of the segment, so that each pack is added once.
  const sortedIndices = Uint32Array.from(rows, (_, i) => i).sort((a, b) => rows[a]! - rows[b]!);
  // The first row of `pack` in the segment, and its first row in the selected packs.
  let [pack, firstRow, firstSelectedRow] = [0, 0, 0];
  for (const i of sortedIndices) {
    const row = rows[i] as number;
    while (row >= firstRow + counts[pack]!) {
      if (packs.at(-1) === pack) firstSelectedRow += counts[pack]!;
      firstRow += counts[pack]!;
      pack += 1;
    }
    if (packs.at(-1) !== pack) packs.push(pack);
    selectedRows[i] = firstSelectedRow + row - firstRow;
  }
  return { packs, rows: selectedRows };
}

/** Loads a block with the stored columns that contain the values of these columns of the table. */
async function loadBlock(
  { header, windowIndex, liveRanges, loadColumns }: LoadableBlock,
  columns: Iterable<TableColumn>,
  signal: AbortSignal,
): Promise<{ block: BlockInput; transfer: ArrayBuffer[] }> {
  const neededColumns = storedColumns(header, columns);
  const columnBytes = await loadColumns(neededColumns, signal);
  const transfer: ArrayBuffer[] = [];
  const block: BlockInput = {
    windowIndex,
    rowCount: header.rows,
    liveRanges,
    columns: neededColumns.map(({ name, kind }, i) => {
      const bytes = new Uint8Array(columnBytes[i]!);
      transfer.push(bytes.buffer);
      return { name, kind, bytes };
    }),
  };
  return { block, transfer };
}
