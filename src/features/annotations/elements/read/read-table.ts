import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import type { StoredElements, StoredTable, StoreOptions, TableSegment, WindowPacks } from '../element-store.js';
import type { PackEntry } from '../packs/pack-index.js';
import type { SegmentHeader } from '../packs/segment.js';
import type { ElementLoader, LoadedWindow } from './loader.js';
import { loadColumns } from './segment-columns.js';

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
  for (const [number, window] of windows.entries()) {
    const live = new Map(window.packs.filter(isLive).map((pack) => [pack.id, pack]));
    for (const parts of window.table) {
      const header = await loader.tableHeader(parts);
      const ranges = liveRanges(header, live);
      for (const id of header.packs) live.delete(id);
      table.segments.push(segmentOf(loader, { window: number, parts, header, live: ranges }));
    }
    if (live.size > 0) table.loose.push(packsOf(loader, window, number, [...live.values()]));
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
  return windows.map((window, number) => packsOf(loader, window, number, window.packs.filter(isLive)));
}

function packsOf(loader: ElementLoader, { id }: LoadedWindow, window: number, packs: readonly PackEntry[]): WindowPacks {
  return { id, window, load: (signal) => loader.rawPacks(packs, signal) };
}

/** Rows of the packs that are still there. A pack that was replaced has another id. */
function liveRanges({ packs, counts }: SegmentHeader, live: ReadonlyMap<string, PackEntry>): [number, number][] {
  const ranges: [number, number][] = [];
  let from = 0;
  for (const [i, id] of packs.entries()) {
    const to = from + (counts[i] as number);
    const last = ranges.at(-1);
    if (live.has(id)) {
      if (last !== undefined && last[1] === from) last[1] = to;
      else ranges.push([from, to]);
    }
    from = to;
  }
  return ranges;
}

function segmentOf(
  loader: ElementLoader,
  { parts, ...segment }: Omit<TableSegment, 'load'> & { parts: readonly string[] },
): TableSegment {
  const { header } = segment;
  return {
    ...segment,
    load(columns, signal) {
      signal?.throwIfAborted();
      return loadColumns({ header, parts }, columns, (ids) => loader.tableParts(ids));
    },
  };
}
