import { mapConcurrently } from '../../../../core/concurrency/map-concurrently.js';
import { compress } from '../packs/codec.js';
import type {
  ElementRecords,
  FetchedPack,
  PartRecord,
  PackFields,
  PackRecord,
  RecordKind,
  RecordFinder,
  WindowRecord,
} from '../records.js';

/** Above this many pending bytes, records are inserted immediately. */
const maxPendingBytes = 4 * 1024 * 1024;
/** Number of packs to compress at the same time; the thread pool has four threads. */
const maxCompressing = 8;

/**
 * The records of several changes that are published together. They stay in memory, where the next change reads them, until all are
 * inserted together. If the changes are discarded before that, nothing has to be removed from the database.
 */
export class PendingRecords implements RecordFinder, Pick<ElementRecords, 'insertPacks' | 'insertWindows' | 'insertParts'> {
  readonly #packs = new Map<string, PackRecord>();
  readonly #windows = new Map<string, WindowRecord>();
  readonly #parts = new Map<string, PartRecord>();
  /** All records that were added, in order, including those already inserted. */
  readonly #written: { kind: RecordKind; id: string }[] = [];
  #pendingBytes = 0;
  /** The last insert; it never rejects. */
  #flushed: Promise<unknown> = Promise.resolve();

  constructor(private readonly records: ElementRecords) {}

  /** Number of records added so far. {@link undo} can remove all that are added after this. */
  get writtenCount(): number {
    return this.#written.length;
  }

  async #add<R extends { id: string }>(
    kind: RecordKind,
    pending: Map<string, R>,
    added: readonly R[],
    bytesOf: (record: R) => number,
  ): Promise<void> {
    for (const record of added) {
      pending.set(record.id, record);
      this.#written.push({ kind, id: record.id });
      this.#pendingBytes += bytesOf(record);
    }
    if (this.#pendingBytes > maxPendingBytes) await this.flush();
  }

  insertPacks(packs: readonly PackRecord[]): Promise<void> {
    return this.#add('pack', this.#packs, packs, ({ columns, text }) => columns.length + text.length);
  }

  insertWindows(windows: readonly WindowRecord[]): Promise<void> {
    return this.#add('window', this.#windows, windows, ({ packIndex, groups }) => packIndex.length + groups.length);
  }

  insertParts(parts: readonly PartRecord[]): Promise<void> {
    return this.#add('part', this.#parts, parts, ({ bytes }) => bytes.length);
  }

  findPacks(ids: readonly string[], fields: PackFields): Promise<Map<string, FetchedPack>> {
    return findWithPending<FetchedPack>(this.#packs, ids, (missing) => this.records.findPacks(missing, fields));
  }

  findWindows(ids: readonly string[]): Promise<Map<string, WindowRecord>> {
    return findWithPending(this.#windows, ids, (missing) => this.records.findWindows(missing));
  }

  findParts(ids: readonly string[]): Promise<Map<string, PartRecord>> {
    return findWithPending(this.#parts, ids, (missing) => this.records.findParts(missing));
  }

  /**
   * Inserts the pending records, after an insert that is still running. Changes can add records meanwhile: these stay in memory for
   * the next insert.
   *
   * @throws the error of the insert, after all parts of it have ended.
   */
  flush(): Promise<void> {
    const flushed = this.#flushed.then(() => this.#insert());
    this.#flushed = flushed.catch(() => undefined);
    return flushed;
  }

  async #insert(): Promise<void> {
    this.#pendingBytes = 0;
    const [packs, windows, parts] = [[...this.#packs.values()], [...this.#windows.values()], [...this.#parts.values()]];
    const compressed = await mapConcurrently(packs, maxCompressing, async (pack) => ({
      ...pack,
      ...(await compress(pack.text)),
    }));
    const inserts = await Promise.allSettled([
      packs.length > 0 && this.records.insertPacks(compressed),
      windows.length > 0 && this.records.insertWindows(windows),
      parts.length > 0 && this.records.insertParts(parts),
    ]);
    for (const insert of inserts) if (insert.status === 'rejected') throw insert.reason;
    for (const { id } of packs) this.#packs.delete(id);
    for (const { id } of windows) this.#windows.delete(id);
    for (const { id } of parts) this.#parts.delete(id);
  }

  /**
   * Removes all records except the first `keptCount` that were added, see {@link writtenCount}. Of a pack that takes several documents,
   * only the first is removed. The others are invisible without it, and the next sweep removes them.
   */
  async undo(keptCount = 0): Promise<void> {
    await this.#flushed;
    const idsByKind: Record<RecordKind, string[]> = { pack: [], window: [], part: [] };
    const pending = { pack: this.#packs, window: this.#windows, part: this.#parts };
    // A failed insert may have stored some of the records that are still in memory, so all are removed from the database.
    for (const { kind, id } of this.#written.splice(keptCount)) {
      pending[kind].delete(id);
      idsByKind[kind].push(id);
    }
    for (const kind of ['window', 'part', 'pack'] as const) await this.records.removeDocuments(kind, idsByKind[kind]);
  }
}

/** Looks up pending records first, then stored ones. */
async function findWithPending<R>(
  pending: ReadonlyMap<string, R>,
  ids: readonly string[],
  find: (missing: readonly string[]) => Promise<Map<string, R>>,
): Promise<Map<string, R>> {
  const inMemory = ids.flatMap((id): [string, R][] => (pending.has(id) ? [[id, pending.get(id)!]] : []));
  if (inMemory.length === ids.length) return new Map(inMemory);
  return new Map([...inMemory, ...(await find(ids.filter((id) => !pending.has(id))))]);
}
