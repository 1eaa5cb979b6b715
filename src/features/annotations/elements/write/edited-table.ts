import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import type { PackLayout } from '../packs/pack-layout.js';
import type { PackEntry } from '../packs/pack-index.js';
import type { ElementLoader } from '../read/loader.js';
import { draftTableOfPacks } from '../read/pack-table.js';
import type { WindowWriter } from './window-writer.js';

/**
 * The segments of a window whose packs have changed. Stored packs never change, so a segment stays valid for those of its packs
 * that still exist, and most edits write no segment. When many packs are in no segment, one is written for them.
 *
 * @param previous the segments before the change: ids of the parts of each.
 * @param live the current packs.
 */
export async function updateTable(
  {
    loader,
    writer,
    layout,
    signal,
  }: { loader: ElementLoader; writer: WindowWriter; layout: PackLayout; signal: AbortSignal | undefined },
  previous: readonly (readonly string[])[],
  live: readonly PackEntry[],
): Promise<string[][]> {
  const present = new Set(live.map(({ id }) => id));
  const covered = new Set<string>();
  const segments: string[][] = [];
  for (const segment of previous) {
    const packs = (await loader.loadTableHeader(segment)).packs.filter((id) => present.has(id));
    if (packs.length === 0) continue;
    for (const id of packs) covered.add(id);
    segments.push([...segment]);
    if (isSliceOver()) await nextSlice(signal);
  }
  const loose = live.filter(({ id }) => !covered.has(id));
  if (loose.length <= layout.maxLoosePacks) return segments;
  // The packs may be among those that are just being written.
  await writer.finish();
  const isFull = segments.length >= layout.maxSegments;
  const packs = isFull ? live : loose;
  const draft = await draftTableOfPacks(loader.loadPacksInGroups(packs, signal), async () => {
    if (isSliceOver()) await nextSlice(signal);
  });
  const segment = await writer.writeSegment(
    draft.table,
    draft.packColumns,
    packs.map(({ id }) => id),
  );
  return isFull ? [segment] : [...segments, segment];
}
