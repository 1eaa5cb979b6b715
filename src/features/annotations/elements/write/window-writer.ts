import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { compress } from '../packs/codec.js';
import type { StoredWindow } from '../element-store.js';
import { boxAround, encodePackIndex, makePackEntry, type PackEntry } from '../packs/pack-index.js';
import type { WindowDraft } from './draft.js';
import type { TableDraft } from './table-draft.js';
import { encodeIdIndex, makeIndexEntry } from '../packs/id-index.js';
import { idAt, hashIdWords, type IdMaker } from '../packs/ids.js';
import { encodeColumns, PackColumns, type PackRows } from '../packs/pack.js';
import { Inserter, TaskLimit } from './inserter.js';
import type { ElementRecords, PartRecord, PackRecord, WindowRecord } from '../records.js';

/** Windows of at most this many packs have no id index. To find an id, all their packs are searched. */
export const maxPacksWithoutIndex = 4;
/** Number of packs to compress at the same time. By default, Node's thread pool has four threads, so four more packs wait for a thread. */
const maxCompressing = 8;

/** Writes an id index entry for each element of a pack to `entries`, starting at index `from`. */
function writeIndexEntries(entries: Float64Array, from: number, rows: Pick<PackRows, 'count' | 'ids'>, slot: number): void {
  const { high, middle, low } = rows.ids;
  for (let i = 0; i < rows.count; i += 1) {
    entries[from + i] = makeIndexEntry(hashIdWords(high[i] as number, middle[i] as number, low[i] as number), slot);
  }
}

/**
 * Finds the smallest and the largest of some ids. Ids are compared as numbers. To convert all of them to text would take as long as all
 * other work on the ids.
 */
class IdRange {
  low = '';
  high = '';
  /** The same ids, each as three numbers. */
  #low: [number, number, number] = [Infinity, 0, 0];
  #high: [number, number, number] = [-1, 0, 0];

  add(ids: PackRows['ids']): void {
    let [lowRow, highRow] = [-1, -1];
    for (let i = 0; i < ids.high.length; i += 1) {
      const [a, b, c] = [ids.high[i] as number, ids.middle[i] as number, ids.low[i] as number];
      if (isBelow(a, b, c, this.#low)) {
        this.#low = [a, b, c];
        lowRow = i;
      }
      if (!isBelow(a, b, c, this.#high)) {
        this.#high = [a, b, c];
        highRow = i;
      }
    }
    if (lowRow !== -1) this.low = idAt(ids, lowRow);
    if (highRow !== -1) this.high = idAt(ids, highRow);
  }
}

function isBelow(high: number, middle: number, low: number, [a, b, c]: [number, number, number]): boolean {
  return high !== a ? high < a : middle !== b ? middle < b : low < c;
}

/** Joins the positions of the elements of all packs, in the order of the packs. */
function joinPositions(packs: readonly PackColumns[], count: number): Float64Array {
  const positions = new Float64Array(count);
  let firstRow = 0;
  for (const pack of packs) {
    positions.set(pack.positions, firstRow);
    firstRow += pack.count;
  }
  return positions;
}

/** Writes windows of one family. Records are inserted in batches, so that many small windows take few inserts. */
export class WindowWriter {
  readonly #packInserter: Inserter<PackRecord>;
  readonly #windowInserter: Inserter<WindowRecord>;
  readonly #partInserter: Inserter<PartRecord>;

  constructor(
    records: Pick<ElementRecords, 'insertPacks' | 'insertWindows' | 'insertParts'>,
    private readonly family: string,
    private readonly ids: IdMaker,
    private readonly signal: AbortSignal | undefined,
    /** Compresses the text of a pack. It may also return the text unchanged, if the text will be compressed later. */
    private readonly compressText: (text: Buffer) => Promise<Pick<PackRecord, 'codec' | 'text'>> = compress,
  ) {
    this.#packInserter = new Inserter((packs) => records.insertPacks(packs));
    this.#windowInserter = new Inserter((windows) => records.insertWindows(windows));
    this.#partInserter = new Inserter((parts) => records.insertParts(parts));
  }

  /**
   * Divides a draft into packs, and stores the packs with the window's pack index, id index and table. Some records are stored only when
   * {@link finish} returns.
   */
  async write(draft: WindowDraft): Promise<StoredWindow> {
    const packEntries: PackEntry[] = [];
    const indexEntries = new Float64Array(draft.count);
    let count = 0;
    const packs: PackColumns[] = [];
    const idRange = new IdRange();
    const compressionLimit = new TaskLimit(maxCompressing);
    try {
      for await (const { rows, text } of draft.divideIntoPacks()) {
        this.signal?.throwIfAborted();
        const id = this.ids.make();
        writeIndexEntries(indexEntries, count, rows, packEntries.length);
        count += rows.count;
        idRange.add(rows.ids);
        packs.push(new PackColumns(rows));
        packEntries.push(makePackEntry(id, rows));
        await compressionLimit.start(async () => void (await this.writePack(id, rows, text)));
      }
      await compressionLimit.finish();
    } finally {
      // A failed write is undone only after all its inserts have ended.
      await compressionLimit.settle();
    }
    const idIndexParts = packEntries.length > maxPacksWithoutIndex ? await this.writeIdIndex(indexEntries) : [];
    const id = this.ids.make();
    const packIndex = encodePackIndex({ packs: packEntries, nextPosition: draft.count });
    const groups = [...(await draft.countGroups())];
    if (isSliceOver()) await nextSlice(this.signal);
    // A small window gets no table. Its few packs are read quickly, so their data need not be stored twice.
    const table = packEntries.length > draft.layout.maxLoosePacks ? draft.table : null;
    const packIds = packEntries.map((entry) => entry.id);
    // The draft's table has its rows in original order, so the position of an element is also its row.
    const tableSegments =
      table === null ? [] : [await this.writeSegment(table, packs, packIds, joinPositions(packs, draft.count))];
    await this.writeWindow({ id, packIndex, groups: JSON.stringify(groups), idIndexParts, tableSegments });
    const box = boxAround(packEntries);
    if (box === null) throw new Error('A window without elements cannot be written');
    return { id, count: draft.count, detailsCount: box.details, box, lowId: idRange.low, highId: idRange.high };
  }

  /** Stores one pack. @returns the encoded columns of the pack. */
  async writePack(id: string, rows: PackRows, text: Buffer): Promise<Buffer> {
    const columns = encodeColumns(rows);
    await this.#packInserter.add({ id, family: this.family, columns, ...(await this.compressText(text)) });
    return columns;
  }

  async writeWindow(window: Omit<WindowRecord, 'family'>): Promise<void> {
    await this.#windowInserter.add({ ...window, family: this.family });
  }

  /** Stores a segment of the table, see `TableDraft.encodeSegment`. @returns the ids of its parts. */
  async writeSegment(draft: TableDraft, ...args: Parameters<TableDraft['encodeSegment']>): Promise<string[]> {
    const partIds: string[] = [];
    for await (const part of draft.encodeSegment(...args)) {
      this.signal?.throwIfAborted();
      partIds.push(await this.writePart(part));
    }
    return partIds;
  }

  /** Stores one part of an index or of a segment. @returns its id. */
  async writePart(bytes: Buffer): Promise<string> {
    const id = this.ids.make();
    await this.#partInserter.add({ id, family: this.family, bytes });
    return id;
  }

  /** Stores an id index. @returns the ids of its parts. */
  async writeIdIndex(entries: Float64Array): Promise<string[]> {
    const ids: string[] = [];
    for await (const part of encodeIdIndex(entries)) ids.push(await this.writePart(part));
    return ids;
  }

  /** Waits until everything is stored. @throws the error of an insert. */
  async finish(): Promise<void> {
    await Promise.all([this.#packInserter.finish(), this.#windowInserter.finish(), this.#partInserter.finish()]);
  }
}
