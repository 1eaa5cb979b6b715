import { mapConcurrently } from '../../../core/concurrency/map-concurrently.js';
import { mapAhead } from '../../../core/concurrency/map-ahead.js';
import type { ThreadPool } from '../../../core/concurrency/thread-pool.js';
import type { WindowPacks } from '../elements/element-store.js';
import { toPacksInput } from './blocks.js';
import type { TableColumn } from './columns.js';
import { filterColumns } from './filter.js';
import { csvCell } from './csv.js';
import type { FileBox } from './parquet.js';
import { shiftRowGroup, type RowGroup } from './row-groups.js';
import { candidateBlocks, type TableQuery } from './tables.js';
import type { TableFunctions } from './table-thread.js';

type Chunks = AsyncGenerator<Uint8Array, void, undefined>;

const taskSubject = 'The table';
/** Number of windows whose shapes are written at the same time. Each window takes some 100 MB in its thread. */
const windowsAtOnce = 2;
/** Number of blocks that are written at the same time. The start of the file counts as a block. */
const writesAtOnce = 3;
/** Number of blocks of a window that are loaded at the same time. */
const blocksAtOnce = 4;
/** Columns that are needed to find the texts of shapes and to write their boxes. */
const shapeColumns = ['order', 'xmin', 'ymin', 'xmax', 'ymax'] as const;

/** Writes tables as files, one block or window at a time, in threads. */
export class TableFiles {
  constructor(private readonly threads: ThreadPool<TableFunctions>) {}

  /** Writes comma-separated values. */
  async *csv(query: TableQuery, columns: TableColumn[]): Chunks {
    const start = Buffer.from(`${columns.map(({ name }) => csvCell(name)).join(',')}\r\n`);
    yield* this.#writeBlocks('csv', query, columns, Promise.resolve(start));
  }

  /** Writes an Arrow stream. */
  async *arrow(query: TableQuery, columns: TableColumn[]): Chunks {
    const start = this.threads.run('arrowStart', { columns }, { inputName: taskSubject, signal: query.signal });
    // The first blocks are loaded while a thread starts.
    yield* this.#writeBlocks('arrowBatch', query, columns, start);
    // This marks the end of a stream.
    yield Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
  }

  /** Writes the start of a file, and then the rows of all blocks. Each block is written by a function in a thread. */
  async *#writeBlocks(
    write: 'csv' | 'arrowBatch',
    { table, filter, signal }: TableQuery,
    columns: TableColumn[],
    start: Promise<Uint8Array>,
  ): Chunks {
    const neededColumns = [...columns, ...filterColumns(filter, table.columnsByName)];
    yield* mapAhead([null, ...candidateBlocks(table, filter)], writesAtOnce, async (tableBlock) => {
      if (tableBlock === null) return start;
      const { block, transfer } = await tableBlock.load(neededColumns, signal);
      return this.threads.run(write, { block, filter, columns }, { inputName: taskSubject, signal, transfer });
    });
  }

  /**
   * Writes a Parquet file with shapes.
   *
   * @param windows all packs of the annotation, by window. The shapes are made from the texts in the packs.
   */
  async *parquet({ table, filter, signal }: TableQuery, columns: TableColumn[], windows: readonly WindowPacks[]): Chunks {
    yield Buffer.from('PAR1');
    let offset = 4;
    const groups: RowGroup[] = [];
    let box: FileBox | null = null;
    const neededColumns = [
      ...columns,
      ...shapeColumns.map((name) => table.columnsByName.find(name)),
      ...filterColumns(filter, table.columnsByName),
    ];
    const tableBlocks = candidateBlocks(table, filter);
    const write = async (packs: WindowPacks) => {
      const windowBlocks = tableBlocks.filter(({ windowIndex }) => windowIndex === packs.windowIndex);
      if (windowBlocks.length === 0) return null;
      const loadedBlocks = await mapConcurrently(windowBlocks, blocksAtOnce, (tableBlock) =>
        tableBlock.load(neededColumns, signal),
      );
      const { input, transfer } = toPacksInput(await packs.load(signal));
      const blocks = loadedBlocks.map(({ block }) => block);
      const allBuffers = [...transfer, ...loadedBlocks.flatMap((block) => block.transfer)];
      return this.threads.run(
        'parquetParts',
        { ...input, blocks, filter, columns },
        { inputName: taskSubject, signal, transfer: allBuffers },
      );
    };
    for await (const part of mapAhead(windows, windowsAtOnce, write)) {
      if (part === null || part.groups.length === 0) continue;
      for (const group of part.groups) groups.push(shiftRowGroup(group, offset));
      for (const groupBox of part.boxes) box = box === null ? groupBox : boxAround(box, groupBox);
      offset += part.bytes.length;
      yield part.bytes;
    }
    yield await this.threads.run('parquetEnd', { groups, columns, box, offset }, { inputName: taskSubject, signal });
  }
}

function boxAround(a: FileBox, b: FileBox): FileBox {
  return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])];
}
