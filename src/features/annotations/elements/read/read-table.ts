import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import type { StoredElements, StoredTable, StoreOptions, TableSegment, WindowPacks } from '../element-store.js';
import type { PackEntry } from '../packs/pack-index.js';
import type { ElementLoader, LoadedWindow } from './loader.js';
import { loadColumns, rowRangesOf } from './segment-columns.js';

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
  const windows = await loader.allWindows(stored, signal);
  const headers = await loader.tableHeaders(windows.flatMap((window) => window.table));
  for (const [number, window] of windows.entries()) {
    const entries = new Map(window.packs.filter(isLive).map((pack) => [pack.id, pack]));
    const live = new Map(entries);
    for (const parts of window.table) {
      const header = headers.get(parts[0]!)!;
      // A pack that was replaced has another id.
      const ranges = rowRangesOf(header, live);
      for (const id of header.packs) live.delete(id);
      table.segments.push(segmentOf(loader, { window: number, parts, header, liveRanges: ranges }, entries));
    }
    if (live.size > 0) table.loose.push(windowPacks(loader, window, number, [...live.values()]));
    if (isSliceOver()) await nextSlice(signal);
  }
  return table;
}

/** See ElementStore.packs. */
export async function packsOfWindows(
  loader: ElementLoader,
  stored: StoredElements,
  { signal }: StoreOptions = {},
): Promise<WindowPacks[]> {
  const windows = await loader.allWindows(stored, signal);
  return windows.map((window, number) => windowPacks(loader, window, number, window.packs.filter(isLive)));
}

function windowPacks(loader: ElementLoader, { id }: LoadedWindow, window: number, packs: readonly PackEntry[]): WindowPacks {
  return { id, window, load: (signal) => loader.rawPacks(packs, signal) };
}

function segmentOf(
  loader: ElementLoader,
  { parts, ...segment }: Omit<TableSegment, 'load' | 'loadPacks'> & { parts: readonly string[] },
  entries: ReadonlyMap<string, PackEntry>,
): TableSegment {
  const { header } = segment;
  return {
    ...segment,
    load(columns, signal) {
      signal?.throwIfAborted();
      return loadColumns({ header, parts }, columns, (ids) => loader.tableParts(ids));
    },
    loadPacks(packs, signal) {
      return loader.rawPacks(
        packs.map((at) => entries.get(header.packs[at]!)!),
        signal,
      );
    },
  };
}
