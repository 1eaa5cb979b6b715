import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import type { StoredElements, StoredTable, StoreOptions, TableSegment, WindowPacks } from '../element-store.js';
import type { PackEntry } from '../packs/pack-index.js';
import type { ElementLoader, LoadedWindow } from './loader.js';
import { loadColumnBytes, rowRangesOf } from './segment-columns.js';

function isLive({ count }: PackEntry): boolean {
  return count > 0;
}

/** See ElementStore.readTable. */
export async function readTable(
  loader: ElementLoader,
  stored: StoredElements,
  { signal }: StoreOptions = {},
): Promise<StoredTable> {
  const table: StoredTable = { segments: [], loosePacks: [] };
  const windows = await loader.loadAllWindows(stored, signal);
  const headers = await loader.loadTableHeaders(windows.flatMap((window) => window.tableSegments));
  for (const [windowIndex, window] of windows.entries()) {
    const entriesById = new Map(window.packs.filter(isLive).map((pack) => [pack.id, pack]));
    const remainingPacks = new Map(entriesById);
    for (const partIds of window.tableSegments) {
      const header = headers.get(partIds[0]!)!;
      // The rows of a pack are live until the pack is removed, or replaced by a pack with another id.
      const liveRanges = rowRangesOf(header, remainingPacks);
      for (const id of header.packs) remainingPacks.delete(id);
      table.segments.push(createSegment(loader, { windowIndex, partIds, header, liveRanges }, entriesById));
    }
    if (remainingPacks.size > 0)
      table.loosePacks.push(createWindowPacks(loader, window, windowIndex, [...remainingPacks.values()]));
    if (isSliceOver()) await nextSlice(signal);
  }
  return table;
}

/** See ElementStore.listPacks. */
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
  windowIndex: number,
  packs: readonly PackEntry[],
): WindowPacks {
  return { id, windowIndex, load: (signal) => loader.loadRawPacks(packs, signal) };
}

function createSegment(
  loader: ElementLoader,
  { partIds, ...segment }: Omit<TableSegment, 'loadColumns' | 'loadPacks'> & { partIds: readonly string[] },
  entriesById: ReadonlyMap<string, PackEntry>,
): TableSegment {
  const { header } = segment;
  return {
    ...segment,
    loadColumns(columns, signal) {
      signal?.throwIfAborted();
      return loadColumnBytes({ header, partIds }, columns, (ids) => loader.loadTableParts(ids));
    },
    loadPacks(packIndices, signal) {
      return loader.loadRawPacks(
        packIndices.map((packIndex) => entriesById.get(header.packs[packIndex]!)!),
        signal,
      );
    },
  };
}
