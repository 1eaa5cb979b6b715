import { forEachRange, isSliceOver, nextSlice, createSetInSlices } from '../../../../core/concurrency/slices.js';
import { isLongText, parseJsonText } from '../../../../core/json.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import type { StoredElements } from '../element-store.js';
import { findSlots, partNumberOf } from '../packs/id-index.js';
import { hashId } from '../packs/ids.js';
import type { ElementLoader, LoadedPack, LoadedWindow } from './loader.js';
import { requireColumns, requireText } from './select.js';

/** Position of an element in the store. */
export interface Location {
  /** Index of the window in {@link StoredElements.windows}. */
  windowIndex: number;
  /** Index of the pack in the window's pack index. */
  slot: number;
  /** Row of the element in the pack. */
  row: number;
}

/** Number of packs in one fetch. */
const packsPerFetch = 128;
/** If at most this many packs of a window must be searched for ids, they are loaded with their texts and cached. This is the default limit. */
const defaultMaxPacksWithTexts = 8;
/** Number of ids between checks of the time. */
const idsAtOnce = 1024;

/** Finds the ids that each pack of a window may contain. @returns the ids by the slot of the pack. */
async function findCandidateIds(
  loader: ElementLoader,
  window: LoadedWindow,
  ids: readonly string[],
): Promise<Map<number, string[]>> {
  const idsBySlot = new Map<number, string[]>();
  const addCandidate = (slot: number, id: string) => {
    const slotCandidates = idsBySlot.get(slot);
    if (slotCandidates === undefined) idsBySlot.set(slot, [id]);
    else slotCandidates.push(id);
  };
  const partCount = window.idIndexParts.length;
  if (partCount === 0) {
    for (const slot of window.packs.keys()) for (const id of ids) addCandidate(slot, id);
    return idsBySlot;
  }
  const neededParts = new Set<string>();
  await forEachRange(ids.length, idsAtOnce, (from, to) => {
    for (const id of ids.slice(from, to)) neededParts.add(window.idIndexParts[partNumberOf(hashId(id), partCount)] as string);
  });
  const partsById = await loader.loadIndexParts([...neededParts]);
  await forEachRange(ids.length, idsAtOnce, (from, to) => {
    for (const id of ids.slice(from, to)) {
      const hash = hashId(id);
      const part = partsById.get(window.idIndexParts[partNumberOf(hash, partCount)] as string) as Buffer;
      for (const slot of findSlots(part, hash)) addCandidate(slot, id);
    }
  });
  return idsBySlot;
}

/**
 * Finds the positions of elements by id. Unknown ids are missing in the result.
 *
 * @param maxPacksWithTexts see {@link defaultMaxPacksWithTexts}.
 */
export async function locateElements(
  loader: ElementLoader,
  stored: StoredElements,
  ids: Iterable<string>,
  signal?: AbortSignal,
  maxPacksWithTexts = defaultMaxPacksWithTexts,
): Promise<Map<string, Location>> {
  const locations = new Map<string, Location>();
  const distinctIds = [...(await createSetInSlices(ids, signal))];
  // One query loads the pack indexes of all windows that may contain an id.
  const windowIndices: number[] = [];
  for (const [windowIndex, { lowId, highId }] of stored.windows.entries()) {
    if (distinctIds.some((id) => id >= lowId && id <= highId)) windowIndices.push(windowIndex);
    if (isSliceOver()) await nextSlice(signal);
  }
  const windows = await loader.loadWindows(
    windowIndices.map((windowIndex) => stored.windows[windowIndex]!),
    signal,
  );
  await Promise.all(
    windows.map(async (window, i) => {
      const windowIndex = windowIndices[i] as number;
      const { lowId, highId } = stored.windows[windowIndex]!;
      const idsInRange: string[] = [];
      await forEachRange(distinctIds.length, idsAtOnce, (from, to) => {
        for (const id of distinctIds.slice(from, to)) if (id >= lowId && id <= highId) idsInRange.push(id);
      });
      const idsBySlot = await findCandidateIds(loader, window, idsInRange);
      const liveSlots = [...idsBySlot.keys()].filter((slot) => (window.packs[slot]?.count ?? 0) > 0);
      for (let start = 0; start < liveSlots.length; start += packsPerFetch) {
        const slots = liveSlots.slice(start, start + packsPerFetch);
        const entries = slots.map((slot) => window.packs[slot]!);
        // If the packs are few, their texts are loaded too, because the elements are usually read or edited next.
        const packs =
          liveSlots.length <= maxPacksWithTexts
            ? loader.loadAndCachePacks(entries, signal)
            : loader.loadPacks(entries, 'columns', signal);
        for (const [batchIndex, pack] of (await packs).entries()) {
          const slot = slots[batchIndex] as number;
          const candidateIds = new Set(idsBySlot.get(slot));
          const columns = requireColumns(pack);
          for (let row = 0; row < columns.count; row += 1) {
            const id = columns.idAt(row);
            if (candidateIds.has(id)) locations.set(id, { windowIndex, slot, row });
          }
          if (isSliceOver()) await nextSlice(signal);
        }
      }
    }),
  );
  return locations;
}

/** See ElementStore.find. */
export async function findElements(
  loader: ElementLoader,
  stored: StoredElements,
  ids: Iterable<string>,
  signal?: AbortSignal,
): Promise<Map<string, AnnotationElement>> {
  const locations = await locateElements(loader, stored, ids, signal);
  const windows = await loader.loadAllWindows(stored, signal);
  const rowsByPack = new Map<string, { location: Location; rows: number[] }>();
  for (const location of locations.values()) {
    const key = `${location.windowIndex}/${location.slot}`;
    const existing = rowsByPack.get(key);
    if (existing === undefined) rowsByPack.set(key, { location, rows: [location.row] });
    else existing.rows.push(location.row);
  }
  const elements = new Map<string, AnnotationElement>();
  const packsWithRows = [...rowsByPack.values()];
  for (let start = 0; start < packsWithRows.length; start += packsPerFetch) {
    const batch = packsWithRows.slice(start, start + packsPerFetch);
    const entries = batch.map(({ location }) => windows[location.windowIndex]!.packs[location.slot]!);
    for (const [i, pack] of (await loader.loadAndCachePacks(entries, signal)).entries()) {
      for (const row of batch[i]!.rows) elements.set(requireColumns(pack).idAt(row), await parseElementAt(pack, row, signal));
      if (isSliceOver()) await nextSlice(signal);
    }
  }
  return elements;
}

/** Parses the element in a row of a pack. */
async function parseElementAt(pack: LoadedPack, row: number, signal: AbortSignal | undefined): Promise<AnnotationElement> {
  const offsets = requireColumns(pack).textOffsets();
  return parseElement(requireText(pack).subarray(offsets[row], offsets[row + 1]), signal);
}

/** Parses the stored text of an element. */
export async function parseElement(text: Buffer, signal?: AbortSignal): Promise<AnnotationElement> {
  const json = text.toString('utf8');
  // Stored elements have been checked, so the cast is safe.
  return (
    isLongText(text.length) ? await parseJsonText(json, { signal, maxContainers: Infinity }) : JSON.parse(json)
  ) as AnnotationElement;
}
