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
/** Number of packs to compress at the same time. By default, Node's thread pool has four threads, so four more packs wait for a thread. */
const maxCompressing = 8;

/**
 * The records of several changes that are published together. The records stay in memory, where the next change reads them, until all are
 * inserted together. If the changes are discarded before the insert, nothing has to be removed from the database.
 */
export class PendingRecords implements RecordFinder, Pick<ElementRecords, 'insertPacks' | 'insertWindows' | 'insertParts'> {
  readonly #packs = new Map<string, PackRecord>();
  readonly #windows = new Map<string, WindowRecord>();
  readonly #parts = new Map<string, PartRecord>();
  /** All records in the order in which they were added, including records that are already inserted. */
  readonly #addedRecords: { kind: RecordKind; id: string }[] = [];
  #pendingBytes = 0;
  /** Resolves when the last insert has ended. Never rejects. */
  #lastFlush: Promise<unknown> = Promise.resolve();

  constructor(private readonly records: ElementRecords) {}

  /** Number of records that were added so far. With this number, {@link undo} removes all records that are added later. */
  get addedCount(): number {
    return this.#addedRecords.length;
  }

  async #add<R extends { id: string }>(
    kind: RecordKind,
    pending: Map<string, R>,
    newRecords: readonly R[],
    bytesOf: (record: R) => number,
  ): Promise<void> {
    for (const record of newRecords) {
      pending.set(record.id, record);
      this.#addedRecords.push({ kind, id: record.id });
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
    return findWithPending<FetchedPack>(this.#packs, ids, (missingIds) => this.records.findPacks(missingIds, fields));
  }

  findWindows(ids: readonly string[]): Promise<Map<string, WindowRecord>> {
    return findWithPending(this.#windows, ids, (missingIds) => this.records.findWindows(missingIds));
  }

  findParts(ids: readonly string[]): Promise<Map<string, PartRecord>> {
    return findWithPending(this.#parts, ids, (missingIds) => this.records.findParts(missingIds));
  }

  /**
   * Inserts the pending records. If an insert is still running, it is awaited first. Records that are added during the insert stay in
   * memory until the next insert.
   *
   * @throws the error of the insert, but only after all its writes have ended.
   */
  flush(): Promise<void> {
    const flush = this.#lastFlush.then(() => this.#insert());
    this.#lastFlush = flush.catch(() => undefined);
    return flush;
  }

  async #insert(): Promise<void> {
    this.#pendingBytes = 0;
    const [packs, windows, parts] = [[...this.#packs.values()], [...this.#windows.values()], [...this.#parts.values()]];
    const compressedPacks = await mapConcurrently(packs, maxCompressing, async (pack) => ({
      ...pack,
      ...(await compress(pack.text)),
    }));
    const inserts = await Promise.allSettled([
      packs.length > 0 && this.records.insertPacks(compressedPacks),
      windows.length > 0 && this.records.insertWindows(windows),
      parts.length > 0 && this.records.insertParts(parts),
    ]);
    for (const insert of inserts) if (insert.status === 'rejected') throw insert.reason;
    for (const { id } of packs) this.#packs.delete(id);
    for (const { id } of windows) this.#windows.delete(id);
    for (const { id } of parts) this.#parts.delete(id);
  }

  /**
   * Removes all records except the first `keptCount` that were added, see {@link addedCount}. If a pack takes several documents, only the
   * first document is removed. The other documents are not used without the first, and the next sweep removes them.
   */
  async undo(keptCount = 0): Promise<void> {
    await this.#lastFlush;
    const idsByKind: Record<RecordKind, string[]> = { pack: [], window: [], part: [] };
    const pendingByKind = { pack: this.#packs, window: this.#windows, part: this.#parts };
    // A failed insert may have stored some of the records that are still in memory, so all are removed from the database.
    for (const { kind, id } of this.#addedRecords.splice(keptCount)) {
      pendingByKind[kind].delete(id);
      idsByKind[kind].push(id);
    }
    for (const kind of ['window', 'part', 'pack'] as const) await this.records.removeDocuments(kind, idsByKind[kind]);
  }
}

/** Looks up records in memory first, and then in the database. */
async function findWithPending<R>(
  pending: ReadonlyMap<string, R>,
  ids: readonly string[],
  find: (missingIds: readonly string[]) => Promise<Map<string, R>>,
): Promise<Map<string, R>> {
  const pendingEntries = ids.flatMap((id): [string, R][] => (pending.has(id) ? [[id, pending.get(id)!]] : []));
  if (pendingEntries.length === ids.length) return new Map(pendingEntries);
  return new Map([...pendingEntries, ...(await find(ids.filter((id) => !pending.has(id))))]);
}
