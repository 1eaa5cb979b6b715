import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import type { PackLayout } from '../packs/pack-layout.js';
import type { PackEntry } from '../packs/pack-index.js';
import type { ElementLoader } from '../read/loader.js';
import { draftTableOfPacks } from '../read/pack-table.js';
import type { WindowWriter } from './window-writer.js';

/**
 * Updates the table of a window whose packs have changed. Stored packs never change, so a segment stays valid for those of its packs
 * that still exist, and most edits write no segment. When many packs are in no segment, a new segment is written for them.
 *
 * @param previousSegments the segments before the change. Each segment is a list of the ids of its parts.
 * @param livePacks the packs after the change.
 * @returns the segments after the change.
 */
export async function updateTable(
  {
    loader,
    writer,
    layout,
    signal,
  }: { loader: ElementLoader; writer: WindowWriter; layout: PackLayout; signal: AbortSignal | undefined },
  previousSegments: readonly (readonly string[])[],
  livePacks: readonly PackEntry[],
): Promise<string[][]> {
  const liveIds = new Set(livePacks.map(({ id }) => id));
  const coveredIds = new Set<string>();
  const segments: string[][] = [];
  for (const segment of previousSegments) {
    const packs = (await loader.loadTableHeader(segment)).packs.filter((id) => liveIds.has(id));
    if (packs.length === 0) continue;
    for (const id of packs) coveredIds.add(id);
    segments.push([...segment]);
    if (isSliceOver()) await nextSlice(signal);
  }
  const loosePacks = livePacks.filter(({ id }) => !coveredIds.has(id));
  if (loosePacks.length <= layout.maxLoosePacks) return segments;
  // Packs of the current edit may not be stored yet, and must be before they are loaded below.
  await writer.finish();
  const isFull = segments.length >= layout.maxSegments;
  const packs = isFull ? livePacks : loosePacks;
  const draft = await draftTableOfPacks(loader.loadPacksInBatches(packs, signal), async () => {
    if (isSliceOver()) await nextSlice(signal);
  });
  const segment = await writer.writeSegment(
    draft.table,
    draft.packColumns,
    packs.map(({ id }) => id),
  );
  return isFull ? [segment] : [...segments, segment];
}
