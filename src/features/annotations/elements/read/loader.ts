import { LRUCache } from 'lru-cache';
import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { LargeImageError } from '../../../../errors.js';
import { decompressTexts } from '../packs/codec.js';
import type { StoredElements, StoredWindow } from '../element-store.js';
import { decodePackIndex, type PackIndex, type PackEntry } from '../packs/pack-index.js';
import type { SegmentHeader } from '../packs/segment.js';
import { PackColumns } from '../packs/pack.js';
import type { PackFields, RecordFinder } from '../records.js';
import { loadPackColumns, loadJoinedColumns } from './segment-columns.js';

/** A stored window with its decoded pack index. */
export interface LoadedWindow extends PackIndex {
  id: string;
  groups: [group: string | null, count: number][];
  idIndexParts: readonly string[];
  /** See WindowRecord. */
  tableSegments: readonly (readonly string[])[];
}

/** A window and some of its packs. */
export interface PartialWindow {
  window: LoadedWindow;
  packs: readonly PackEntry[];
}

/** A pack whose columns, text or both have been loaded. */
export interface LoadedPack {
  entry: PackEntry;
  columns: PackColumns | null;
  text: Buffer | null;
  /** If this pack was joined from several packs: the entries of these packs, and the first row of each. */
  joined?: { entries: PackEntry[]; firstRows: number[] };
}

/** Memory for cached parts of id indexes in bytes. */
const maxIndexPartBytes = 16 * 1024 * 1024;
/** Memory for cached headers of table segments in bytes. */
const maxHeaderBytes = 16 * 1024 * 1024;
/** Memory for cached packs in bytes, enough for several screens of an annotation with a million shapes. */
const maxPackCacheBytes = 32 * 1024 * 1024;
/** Memory in bytes that the decoded columns take for one element, in addition to the encoded columns. */
const decodedBytesPerElement = 160;
/** Memory in bytes that a decoded entry of a pack index takes. */
const bytesPerPackEntry = 320;
const windowsPerQuery = 64;
const packsPerQuery = 128;

/**
 * Makes the error for a read whose elements a sweep has removed in the meantime, because the annotation was changed or removed.
 */
function elementsRemovedError(): LargeImageError {
  return new LargeImageError('unavailable', 'The elements were removed while they were read. Try again.');
}

/** The encoded columns and the text of a pack. Packs can share a buffer with each other, but with nothing else. */
export interface RawPack {
  columns: Buffer;
  text: Buffer;
}

/** A cached pack with columns and text. */
interface CachedPack {
  columns: PackColumns;
  text: Buffer;
  bytes: number;
}

/** Copies a pack for the cache. Without the copy, each cached pack would keep the whole message from the database in memory. */
function copyForCache(columns: Buffer, text: Buffer): CachedPack {
  const packColumns = new PackColumns(Buffer.from(columns));
  return {
    columns: packColumns,
    text: Buffer.from(text),
    bytes: columns.length + text.length + packColumns.count * decodedBytesPerElement + 128,
  };
}

/** Copies bytes to a buffer that contains nothing else. `Buffer.from` would put several small copies into a shared buffer. */
function copyBytes(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  copy.set(bytes);
  return copy;
}

/** The caches that loaders share. */
class LoaderCaches {
  readonly windows: LRUCache<string, LoadedWindow>;
  readonly indexParts = new LRUCache<string, Buffer>({
    maxSize: maxIndexPartBytes,
    sizeCalculation: ({ length }) => length + 64,
  });

  /** Packs by id. A client that views or edits an element often needs its neighbors next, and these are in the same pack. */
  readonly packs = new LRUCache<string, CachedPack>({ maxSize: maxPackCacheBytes, sizeCalculation: ({ bytes }) => bytes });

  /** Headers of table segments, by the id of the part that contains the header. */
  readonly headers = new LRUCache<string, { header: SegmentHeader; bytes: number }>({
    maxSize: maxHeaderBytes,
    sizeCalculation: ({ bytes }) => bytes,
  });

  constructor(maxPackIndexBytes: number) {
    this.windows = new LRUCache({ maxSize: Math.max(1, maxPackIndexBytes), sizeCalculation: cachedBytesOf });
  }
}

/** Loads pack indexes and packs. Pack indexes are cached, and so are the packs of small reads. */
export class ElementLoader {
  readonly #cache: LoaderCaches;

  /** @param cache memory for pack indexes in bytes, or the caches of another loader. */
  constructor(
    private readonly records: RecordFinder,
    cache: number | LoaderCaches,
  ) {
    this.#cache = typeof cache === 'number' ? new LoaderCaches(cache) : cache;
  }

  /** Creates a loader for other records that shares the caches of this loader. */
  withRecords(records: RecordFinder): ElementLoader {
    return new ElementLoader(records, this.#cache);
  }

  /** Loads the pack indexes of windows, in the order of `stored`. @throws LargeImageError if a window was removed. */
  async loadWindows(stored: readonly StoredWindow[], signal?: AbortSignal): Promise<LoadedWindow[]> {
    const windowsById = new Map<string, LoadedWindow>();
    const missingIds: string[] = [];
    for (const { id } of stored) {
      const cached = this.#cache.windows.get(id);
      if (cached === undefined) missingIds.push(id);
      else windowsById.set(id, cached);
    }
    for (let start = 0; start < missingIds.length; start += windowsPerQuery) {
      signal?.throwIfAborted();
      const records = await this.records.findWindows(missingIds.slice(start, start + windowsPerQuery));
      for (const [id, record] of records) {
        // The cast is safe: WindowWriter writes pairs of a group and its count.
        const groups = JSON.parse(record.groups) as [string | null, number][];
        const window = {
          id,
          groups,
          idIndexParts: record.idIndexParts,
          tableSegments: record.tableSegments,
          ...decodePackIndex(record.packIndex),
        };
        this.#cache.windows.set(id, window);
        windowsById.set(id, window);
      }
    }
    return stored.map(({ id }) => {
      const window = windowsById.get(id);
      if (window === undefined) throw elementsRemovedError();
      return window;
    });
  }

  /** Caches the pack index of a window that has just been written. */
  cacheWindow(window: LoadedWindow): void {
    this.#cache.windows.set(window.id, window);
  }

  /** Caches a pack that has just been written, for the next edit of its elements. */
  cachePack(id: string, { columns, text }: { columns: Buffer; text: Buffer }): void {
    this.#cache.packs.set(id, copyForCache(columns, text));
  }

  /**
   * Loads a few packs with columns and texts, in the order of the entries, and caches them.
   *
   * @throws LargeImageError if a pack was removed.
   */
  async loadAndCachePacks(entries: readonly PackEntry[], signal?: AbortSignal): Promise<LoadedPack[]> {
    const packsById = new Map<string, CachedPack>();
    const missingEntries: PackEntry[] = [];
    for (const entry of entries) {
      const cached = this.#cache.packs.get(entry.id);
      if (cached === undefined) missingEntries.push(entry);
      else packsById.set(entry.id, cached);
    }
    for (let start = 0; start < missingEntries.length; start += packsPerQuery) {
      const batch = missingEntries.slice(start, start + packsPerQuery);
      for (const { entry, pack, text } of await this.#fetchPacks(batch, 'both', signal)) {
        const copy = copyForCache(pack.columns, text!);
        this.#cache.packs.set(entry.id, copy);
        packsById.set(entry.id, copy);
      }
    }
    return entries.map((entry) => {
      const { columns, text } = packsById.get(entry.id)!;
      return { entry, columns, text };
    });
  }

  /** Loads the pack indexes of all windows of an annotation. */
  async loadAllWindows(stored: StoredElements, signal?: AbortSignal): Promise<LoadedWindow[]> {
    return this.loadWindows(stored.windows, signal);
  }

  /** Loads parts of id indexes. @returns the parts by id. @throws LargeImageError if a part was removed. */
  async loadIndexParts(ids: readonly string[]): Promise<Map<string, Buffer>> {
    const parts = new Map<string, Buffer>();
    const missingIds = ids.filter((id) => {
      const cached = this.#cache.indexParts.get(id);
      if (cached !== undefined) parts.set(id, cached);
      return cached === undefined;
    });
    if (missingIds.length === 0) return parts;
    for (const [id, { bytes }] of await this.records.findParts(missingIds)) {
      this.#cache.indexParts.set(id, bytes);
      parts.set(id, bytes);
    }
    if (parts.size < new Set(ids).size) throw elementsRemovedError();
    return parts;
  }

  /**
   * Loads and caches headers of segments.
   *
   * @param segments the ids of the parts of each segment.
   * @returns the headers by the id of a segment's first part.
   */
  async loadTableHeaders(segments: readonly (readonly string[])[]): Promise<Map<string, SegmentHeader>> {
    const headers = new Map<string, SegmentHeader>();
    const missingIds: string[] = [];
    for (const [id] of segments as readonly (readonly [string])[]) {
      const cached = this.#cache.headers.get(id);
      if (cached === undefined) missingIds.push(id);
      else headers.set(id, cached.header);
    }
    for (const [i, text] of (await this.loadTableParts(missingIds)).entries()) {
      // The cast is safe: TableDraft writes the header of a segment into its first part.
      const header = JSON.parse(text.toString('utf8')) as SegmentHeader;
      this.#cache.headers.set(missingIds[i]!, { header, bytes: text.length * 2 + 256 });
      headers.set(missingIds[i]!, header);
      if (isSliceOver()) await nextSlice();
    }
    return headers;
  }

  /** Loads and caches the header of one segment. @param partIds ids of the parts of the segment. */
  async loadTableHeader(partIds: readonly string[]): Promise<SegmentHeader> {
    return (await this.loadTableHeaders([partIds])).get(partIds[0]!)!;
  }

  /** Loads columns and texts of packs, decompressed but not decoded. They are not cached, so their buffers can be transferred to a thread. */
  async loadRawPacks(entries: readonly PackEntry[], signal?: AbortSignal): Promise<RawPack[]> {
    const packs: RawPack[] = [];
    for (let start = 0; start < entries.length; start += packsPerQuery) {
      for (const { pack, text } of await this.#fetchPacks(entries.slice(start, start + packsPerQuery), 'both', signal)) {
        // Bytes from the database share a buffer with other packs of their message, and short texts share Node's common buffer.
        const isShared = pack.codec === 'none' || text!.buffer.byteLength <= Buffer.poolSize;
        packs.push({ columns: copyBytes(pack.columns), text: isShared ? copyBytes(text!) : text! });
      }
    }
    return packs;
  }

  /** Loads packs with columns and texts in batches, and yields them one by one. */
  async *loadPacksInBatches(
    entries: readonly PackEntry[],
    signal?: AbortSignal,
  ): AsyncGenerator<{ columns: PackColumns; text: Buffer }> {
    for (let start = 0; start < entries.length; start += packsPerQuery) {
      for (const { columns, text } of await this.loadRawPacks(entries.slice(start, start + packsPerQuery), signal)) {
        yield { columns: new PackColumns(columns), text };
      }
    }
  }

  /** Loads parts of tables, in the order of the ids, without caching them. @throws LargeImageError if a part was removed. */
  async loadTableParts(ids: readonly string[]): Promise<Buffer[]> {
    const partsById = await this.records.findParts(ids);
    return ids.map((id) => {
      const part = partsById.get(id);
      if (part === undefined) throw elementsRemovedError();
      return part.bytes;
    });
  }

  /** Loads packs without caching them, in the order of the entries. @throws LargeImageError if a pack was removed. */
  async loadPacks(entries: readonly PackEntry[], fields: PackFields, signal?: AbortSignal): Promise<LoadedPack[]> {
    const batches: Promise<LoadedPack[]>[] = [];
    // Packs that have arrived are decompressed while others are fetched.
    for (let start = 0; start < entries.length; start += packsPerQuery) {
      batches.push(this.#loadPackBatch(entries.slice(start, start + packsPerQuery), fields, signal));
    }
    return (await Promise.all(batches)).flat();
  }

  /**
   * Loads packs with their columns, window by window. If most packs of a segment of the table are needed, their columns are read
   * from the segment, which needs a fraction of the documents.
   */
  async loadPacksWithColumns(partialWindows: readonly PartialWindow[], signal?: AbortSignal): Promise<LoadedPack[]> {
    const columnsFromTable = new Map<string, PackColumns>();
    for (const partialWindow of partialWindows) await this.#addColumnsFromTable(partialWindow, columnsFromTable, signal);
    const entries = partialWindows.flatMap(({ packs }) => packs);
    const otherEntries = entries.filter(({ id }) => !columnsFromTable.has(id));
    const otherPacks = await this.loadPacks(otherEntries, 'columns', signal);
    const otherColumns = new Map(otherPacks.map((pack) => [pack.entry.id, pack.columns]));
    return entries.map((entry) => {
      return { entry, columns: columnsFromTable.get(entry.id) ?? otherColumns.get(entry.id) ?? null, text: null };
    });
  }

  /**
   * Like {@link loadPacksWithColumns}, but returns a list for each window. In this list, all packs whose columns come from one segment
   * are joined to one pack, because hundreds of small packs take longer to process.
   */
  async loadPacksWithJoinedColumns(partialWindows: readonly PartialWindow[], signal?: AbortSignal): Promise<LoadedPack[][]> {
    const packsByWindow: LoadedPack[][] = [];
    for (const { window, packs } of partialWindows) {
      const joinedPacks: LoadedPack[] = [];
      const entriesById = new Map(packs.map((entry) => [entry.id, entry]));
      for (const { partIds, header } of await this.#findSegmentsToRead({ window, packs }, entriesById)) {
        const columns = await loadJoinedColumns({ header, partIds }, entriesById, (ids) => this.loadTableParts(ids), signal);
        if (columns === null) continue;
        const [entries, firstRows]: [PackEntry[], number[]] = [[], []];
        let [count, detailsCount] = [0, 0];
        for (const id of header.packs) {
          const entry = entriesById.get(id);
          if (entry === undefined) continue;
          entries.push(entry);
          firstRows.push(count);
          count += entry.count;
          detailsCount += entry.detailsCount;
          entriesById.delete(id);
        }
        joinedPacks.push({
          entry: { ...packs[0]!, count, detailsCount },
          columns,
          text: null,
          joined: { entries, firstRows },
        });
      }
      packsByWindow.push([...joinedPacks, ...(await this.loadPacks([...entriesById.values()], 'columns', signal))]);
    }
    return packsByWindow;
  }

  /** Finds the segments of a window's table that are faster to read than the packs themselves. */
  async #findSegmentsToRead({ window, packs }: PartialWindow, entriesById: ReadonlyMap<string, PackEntry>) {
    // If fewer than half of the window's packs are needed, this is probably true of each segment too, so headers are not read.
    if (packs.length * 2 < window.packs.length) return [];
    const headers = await this.loadTableHeaders(window.tableSegments);
    return window.tableSegments.flatMap((partIds) => {
      const header = headers.get(partIds[0]!)!;
      // A segment is read as a whole, so reading it pays only if at least half of its packs are needed.
      const neededCount = header.packs.filter((id) => entriesById.has(id)).length;
      return neededCount * 2 < header.packs.length ? [] : [{ partIds, header }];
    });
  }

  /** Reads the columns of packs from the segments of the window's table, and adds them to `columns` by the id of the pack. */
  async #addColumnsFromTable(
    { window, packs }: PartialWindow,
    columns: Map<string, PackColumns>,
    signal?: AbortSignal,
  ): Promise<void> {
    const entriesById = new Map(packs.map((entry) => [entry.id, entry]));
    for (const segment of await this.#findSegmentsToRead({ window, packs }, entriesById)) {
      signal?.throwIfAborted();
      const columnsById = await loadPackColumns(segment, (ids) => this.loadTableParts(ids), signal);
      for (const [id, packColumns] of columnsById ?? []) if (entriesById.has(id)) columns.set(id, packColumns);
    }
  }

  async #loadPackBatch(entries: readonly PackEntry[], fields: PackFields, signal?: AbortSignal): Promise<LoadedPack[]> {
    const fetchedPacks = await this.#fetchPacks(entries, fields, signal);
    return fetchedPacks.map(({ entry, pack, text }) => {
      return { entry, columns: fields === 'text' ? null : new PackColumns(pack.columns), text };
    });
  }

  async #fetchPacks(entries: readonly PackEntry[], fields: PackFields, signal?: AbortSignal) {
    signal?.throwIfAborted();
    const packsById = await this.records.findPacks(
      entries.map(({ id }) => id),
      fields,
    );
    signal?.throwIfAborted();
    const packs = entries.map((entry) => {
      const pack = packsById.get(entry.id);
      if (pack === undefined) throw elementsRemovedError();
      return { entry, pack, textBytes: entry.textBytes };
    });
    const texts = fields === 'columns' ? [] : await decompressTexts(packs);
    return packs.map(({ entry, pack }, i) => ({ entry, pack, text: texts[i] ?? null }));
  }
}

function cachedBytesOf({ packs, groups, tableSegments }: LoadedWindow): number {
  const tableBytes = tableSegments.reduce((sum, partIds) => sum + partIds.length * 40, 0);
  const groupBytes = groups.reduce((sum, [group]) => sum + 32 + 2 * (group ?? '').length, 0);
  return 1 + packs.length * bytesPerPackEntry + groupBytes + tableBytes;
}
