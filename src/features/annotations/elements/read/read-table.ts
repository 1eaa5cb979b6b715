import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import type { StoredElements, StoredTable, StoreOptions, TableSegment, WindowPacks } from '../element-store.js';
import type { PackEntry } from '../packs/pack-index.js';
import type { ElementLoader, LoadedWindow } from './loader.js';
import { loadColumnBytes, rowRangesOf } from './segment-columns.js';

function isLive({ count }: PackEntry): boolean {
  return count > 0;
}

/** See ElementStore.table. */
export async function readTable(
  loader: ElementLoader,
  stored: StoredElements,
  { signal }: StoreOptions = {},
): Promise<StoredTable> {
  const table: StoredTable = { segments: [], loose: [] };
  const windows = await loader.loadAllWindows(stored, signal);
  const headers = await loader.loadTableHeaders(windows.flatMap((window) => window.tableSegments));
  for (const [windowIndex, window] of windows.entries()) {
    const entriesById = new Map(window.packs.filter(isLive).map((pack) => [pack.id, pack]));
    const livePacks = new Map(entriesById);
    for (const parts of window.tableSegments) {
      const header = headers.get(parts[0]!)!;
      // A pack that was replaced has another id.
      const liveRanges = rowRangesOf(header, livePacks);
      for (const id of header.packs) livePacks.delete(id);
      table.segments.push(createSegment(loader, { window: windowIndex, parts, header, liveRanges }, entriesById));
    }
    if (livePacks.size > 0) table.loose.push(createWindowPacks(loader, window, windowIndex, [...livePacks.values()]));
    if (isSliceOver()) await nextSlice(signal);
  }
  return table;
}

/** See ElementStore.packs. */
export async function listWindowPacks(
  loader: ElementLoader,
  stored: StoredElements,
  { signal }: StoreOptions = {},
): Promise<WindowPacks[]> {
  const windows = await loader.loadAllWindows(stored, signal);
  return windows.map((window, windowIndex) => createWindowPacks(loader, window, windowIndex, window.packs.filter(isLive)));
}

function createWindowPacks(
  loader: ElementLoader,
  { id }: LoadedWindow,
  window: number,
  packs: readonly PackEntry[],
): WindowPacks {
  return { id, window, load: (signal) => loader.loadRawPacks(packs, signal) };
}

function createSegment(
  loader: ElementLoader,
  { parts, ...segment }: Omit<TableSegment, 'load' | 'loadPacks'> & { parts: readonly string[] },
  entries: ReadonlyMap<string, PackEntry>,
): TableSegment {
  const { header } = segment;
  return {
    ...segment,
    load(columns, signal) {
      signal?.throwIfAborted();
      return loadColumnBytes({ header, parts }, columns, (ids) => loader.loadTableParts(ids));
    },
    loadPacks(packs, signal) {
      return loader.loadRawPacks(
        packs.map((packNumber) => entries.get(header.packs[packNumber]!)!),
        signal,
      );
    },
  };
}
