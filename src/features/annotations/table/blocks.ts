import { availableParallelism } from 'node:os';
import { LRUCache } from 'lru-cache';
import { programOf } from '../../../core/concurrency/program.js';
import { ThreadPool } from '../../../core/concurrency/thread-pool.js';
import type { ElementStore, StoredElements, WindowPacks } from '../elements/element-store.js';
import type { RawPack } from '../elements/read/loader.js';
import type { SegmentColumn, SegmentHeader } from '../elements/packs/segment.js';
import type { BlockInput } from './block.js';
import { ColumnNames, storedColumns, tableColumns, type TableColumn } from './columns.js';
import type { PacksInput, TableFunctions } from './table-thread.js';

const timeoutMs = 60_000;
const memoryMiB = 2048;
/** Maximum number of calls that wait for a thread. A request makes a few at a time, and before that it has waited in a queue. */
const waiting = 256;
/** Memory in bytes for segments that are made of packs without a stored segment. */
const maxLooseBytes = 32 * 1024 * 1024;

/** The threads that work on tables. */
export function tableThreads(): ThreadPool<TableFunctions> {
  return new ThreadPool<TableFunctions>({
    program: programOf(import.meta.url, { source: './table-thread.ts', built: 'table-thread' }),
    name: 'tables',
    maxThreads: Math.min(2, availableParallelism()),
    timeoutMs,
    memoryMiB,
    waiting,
  });
}

/** A part of a table: elements of one window. */
export interface TableBlock {
  header: SegmentHeader;
  /** Original order of its window. */
  window: number;
  /** Number of elements that have not changed since. */
  count: number;
  /** The block with stored columns, and the buffers that are handed over to a thread with it. */
  load(columns: Iterable<TableColumn>, signal: AbortSignal): Promise<{ block: BlockInput; transfer: ArrayBuffer[] }>;
}

/** The table of one version of an annotation. */
export interface OpenTable {
  content: string;
  blocks: TableBlock[];
  names: ColumnNames;
  /** Whether elements have more names than the table has columns. */
  isCut: boolean;
}

interface LooseSegment {
  header: SegmentHeader;
  parts: Uint8Array[];
}

/** Opens tables: finds their parts and columns, without loading any values. */
export class TableBlocks {
  readonly #loose = new LRUCache<string, LooseSegment>({
    maxSize: maxLooseBytes,
    sizeCalculation: ({ parts }) => parts.reduce((sum, { length }) => sum + length, 4096),
  });

  constructor(
    private readonly store: ElementStore,
    private readonly threads: ThreadPool<TableFunctions>,
  ) {}

  async open(stored: StoredElements, signal: AbortSignal): Promise<OpenTable> {
    const { segments, loose } = await this.store.table(stored, { signal });
    const blocks = segments.map(({ header, window, live, load }): TableBlock => {
      const count = live.reduce((sum, [from, to]) => sum + to - from, 0);
      return { header, window, count, load: (columns, until) => loaded({ header, window, live, load }, columns, until) };
    });
    for (const packs of loose) {
      const { header, parts } = await this.#segmentOf(packs, signal);
      const first = new Map(header.columns.map((column, i) => [column, i]));
      // A few packs never fill a column that takes several parts.
      const load = async (columns: readonly SegmentColumn[]) => columns.map((column) => parts[first.get(column)!]!);
      const segment = { header, window: packs.window, live: [[0, header.rows]] as [number, number][], load };
      blocks.push({
        header,
        window: packs.window,
        count: header.rows,
        load: (columns, until) => loaded(segment, columns, until),
      });
    }
    const { columns, isCut } = tableColumns(blocks.map(({ header }) => header));
    return { content: stored.content, blocks, names: new ColumnNames(columns), isCut };
  }

  /** Packs as the columns of a segment. */
  async #segmentOf(packs: WindowPacks, signal: AbortSignal): Promise<LooseSegment> {
    const cached = this.#loose.get(packs.id);
    if (cached !== undefined) return cached;
    const { input, transfer } = handedOver(await packs.load(signal));
    const made = await this.threads.run('segmentOf', input, { what: 'The table', signal, transfer });
    this.#loose.set(packs.id, made);
    return made;
  }
}

/** Packs to be transferred to a thread, with their buffers. */
export function handedOver(packs: RawPack[]): { input: PacksInput; transfer: ArrayBuffer[] } {
  const buffers = new Set(packs.flatMap(({ columns, text }) => [columns.buffer, text.buffer]));
  return { input: { packs }, transfer: [...buffers] as ArrayBuffer[] };
}

async function loaded(
  {
    header,
    window,
    live,
    load,
  }: Pick<BlockInput, 'window' | 'live'> & {
    header: SegmentHeader;
    load: (columns: readonly SegmentColumn[], signal?: AbortSignal) => Promise<Uint8Array[]>;
  },
  columns: Iterable<TableColumn>,
  signal: AbortSignal,
): Promise<{ block: BlockInput; transfer: ArrayBuffer[] }> {
  const wanted = storedColumns(header, columns);
  const loadedBlocks = await load(wanted, signal);
  const transfer: ArrayBuffer[] = [];
  const block: BlockInput = {
    window,
    rows: header.rows,
    live,
    columns: wanted.map(({ name, kind }, i) => {
      const bytes = new Uint8Array(loadedBlocks[i]!);
      transfer.push(bytes.buffer);
      return { name, kind, bytes };
    }),
  };
  return { block, transfer };
}
