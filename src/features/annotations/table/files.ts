import { mapAhead } from '../../../core/concurrency/map-ahead.js';
import type { ThreadPool } from '../../../core/concurrency/thread-pool.js';
import type { WindowPacks } from '../elements/element-store.js';
import { ownPacks } from './blocks.js';
import type { TableColumn } from './columns.js';
import { filterColumns } from './filter.js';
import { csvCell } from './ordering.js';
import type { FileBox, RowGroup } from './parquet.js';
import { candidates, type TableQuestion } from './tables.js';
import type { TableFunctions } from './table-thread.js';

type Chunks = AsyncGenerator<Uint8Array, void, undefined>;

const what = 'The table';
/** Windows whose shapes are written at the same time. Each takes some 100 MB in its thread. */
const windowsAtOnce = 2;

/** Writes tables as files, one block or window at a time, in threads. */
export class TableFiles {
  constructor(private readonly threads: ThreadPool<TableFunctions>) {}

  /** Comma-separated values. */
  async *csv(question: TableQuestion, columns: TableColumn[]): Chunks {
    yield Buffer.from(`${columns.map(({ name }) => csvCell(name)).join(',')}\r\n`);
    yield* this.#blocks('csv', question, columns);
  }

  /** An Arrow stream. */
  async *arrow(question: TableQuestion, columns: TableColumn[]): Chunks {
    yield await this.threads.run('arrowStart', { columns }, { what, signal: question.signal });
    yield* this.#blocks('arrowBatch', question, columns);
    // Marks the end of a stream.
    yield Buffer.from([0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
  }

  /** The rows of all blocks, as a function of the threads writes them. */
  async *#blocks(write: 'csv' | 'arrowBatch', { table, filter, signal }: TableQuestion, columns: TableColumn[]): Chunks {
    const needed = [...columns, ...filterColumns(filter, table.names)];
    for (const source of candidates(table, filter)) {
      const { block, transfer } = await source.load(needed, signal);
      yield await this.threads.run(write, { block, filter, columns }, { what, signal, transfer });
    }
  }

  /** A Parquet file with shapes, for which the texts of elements are read. @param windows all packs. */
  async *parquet({ filter, signal }: TableQuestion, columns: TableColumn[], windows: readonly WindowPacks[]): Chunks {
    yield Buffer.from('PAR1');
    let offset = 4;
    const groups: RowGroup[] = [];
    let box: FileBox | null = null;
    const write = async (packs: WindowPacks) => {
      const { input, transfer } = ownPacks(await packs.load(signal));
      return this.threads.run('parquetPart', { ...input, window: packs.window, filter, columns }, { what, signal, transfer });
    };
    for await (const part of mapAhead(windows, windowsAtOnce, write)) {
      if (part === null) continue;
      groups.push(movedGroup(part.group, offset));
      box = box === null ? part.box : around(box, part.box);
      offset += part.bytes.length;
      yield part.bytes;
    }
    yield await this.threads.run('parquetEnd', { groups, columns, box, offset }, { what, signal });
  }
}

function around(a: FileBox, b: FileBox): FileBox {
  return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])];
}

/** The description of a part that begins at `offset` in the file. */
function movedGroup(group: RowGroup, offset: number): RowGroup {
  const moved = (position: bigint) => position + BigInt(offset);
  const columns = group.columns.map(({ file_offset, meta_data, ...column }) => {
    if (meta_data === undefined) throw new Error('The writer describes every column');
    const { data_page_offset, dictionary_page_offset } = meta_data;
    const dictionary = dictionary_page_offset !== undefined && { dictionary_page_offset: moved(dictionary_page_offset) };
    const data = { ...meta_data, data_page_offset: moved(data_page_offset), ...dictionary };
    return { ...column, file_offset: moved(file_offset), meta_data: data };
  });
  return { ...group, columns, ...(group.file_offset !== undefined && { file_offset: moved(group.file_offset) }) };
}
