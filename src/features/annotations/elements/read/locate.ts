import { forEachRange, isSliceOver, nextSlice, createSetInSlices } from '../../../../core/concurrency/slices.js';
import { isLongText, parseJsonText } from '../../../../core/json.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import type { StoredElements } from '../element-store.js';
import { findSlots, partNumberOf } from '../packs/id-index.js';
import { hashOfId } from '../packs/ids.js';
import type { ElementLoader, LoadedPack, LoadedWindow } from './loader.js';
import { packColumns, packText } from './select.js';

/** Position of an element in the store. */
export interface Location {
  /** Number of the window. */
  window: number;
  /** Index of the pack in the window's pack index. */
  pack: number;
  /** Row of the element in the pack. */
  at: number;
}

/** Number of packs in one fetch. */
const packsPerFetch = 128;
/** Default: if at most this many packs must be searched for ids, they are loaded with their texts and cached. */
const defaultMaxPacksWithTexts = 8;
/** Number of ids between checks of the time. */
const idsAtOnce = 1024;

/** The ids that each pack of a window may contain, by the index of the pack. */
async function candidateIdsBySlot(
  loader: ElementLoader,
  window: LoadedWindow,
  ids: readonly string[],
): Promise<Map<number, string[]>> {
  const candidates = new Map<number, string[]>();
  const addCandidate = (slot: number, id: string) => {
    const slotCandidates = candidates.get(slot);
    if (slotCandidates === undefined) candidates.set(slot, [id]);
    else slotCandidates.push(id);
  };
  const parts = window.index.length;
  if (parts === 0) {
    for (const slot of window.packs.keys()) for (const id of ids) addCandidate(slot, id);
    return candidates;
  }
  const needed = new Set<string>();
  await forEachRange(ids.length, idsAtOnce, (from, to) => {
    for (const id of ids.slice(from, to)) needed.add(window.index[partNumberOf(hashOfId(id), parts)] as string);
  });
  const stored = await loader.indexParts([...needed]);
  await forEachRange(ids.length, idsAtOnce, (from, to) => {
    for (const id of ids.slice(from, to)) {
      const hash = hashOfId(id);
      const part = stored.get(window.index[partNumberOf(hash, parts)] as string) as Buffer;
      for (const slot of findSlots(part, hash)) addCandidate(slot, id);
    }
  });
  return candidates;
}

/** Finds the positions of elements by id. Unknown ids are missing in the result. @param maxPacksWithTexts as {@link defaultMaxPacksWithTexts}. */
export async function locate(
  loader: ElementLoader,
  stored: StoredElements,
  ids: Iterable<string>,
  signal?: AbortSignal,
  maxPacksWithTexts = defaultMaxPacksWithTexts,
): Promise<Map<string, Location>> {
  const found = new Map<string, Location>();
  const distinctIds = [...(await createSetInSlices(ids, signal))];
  // One query loads the pack indexes of all windows that may contain an id.
  const windowNumbers: number[] = [];
  for (const [number, { lowId, highId }] of stored.windows.entries()) {
    if (distinctIds.some((id) => id >= lowId && id <= highId)) windowNumbers.push(number);
    if (isSliceOver()) await nextSlice(signal);
  }
  const windows = await loader.windows(
    windowNumbers.map((number) => stored.windows[number]!),
    signal,
  );
  await Promise.all(
    windows.map(async (window, i) => {
      const number = windowNumbers[i] as number;
      const { lowId, highId } = stored.windows[number]!;
      const inRange: string[] = [];
      await forEachRange(distinctIds.length, idsAtOnce, (from, to) => {
        for (const id of distinctIds.slice(from, to)) if (id >= lowId && id <= highId) inRange.push(id);
      });
      const candidates = await candidateIdsBySlot(loader, window, inRange);
      const liveSlots = [...candidates.keys()].filter((slot) => (window.packs[slot]?.count ?? 0) > 0);
      for (let start = 0; start < liveSlots.length; start += packsPerFetch) {
        const group = liveSlots.slice(start, start + packsPerFetch);
        const entries = group.map((slot) => window.packs[slot]!);
        // A few packs are loaded with their texts, because the elements are usually read or edited next.
        const packs =
          liveSlots.length <= maxPacksWithTexts ? loader.cachedPacks(entries, signal) : loader.packs(entries, 'columns', signal);
        for (const [at, pack] of (await packs).entries()) {
          const slot = group[at] as number;
          const candidateIds = new Set(candidates.get(slot));
          const columns = packColumns(pack);
          for (let row = 0; row < columns.count; row += 1) {
            const id = columns.idAt(row);
            if (candidateIds.has(id)) found.set(id, { window: number, pack: slot, at: row });
          }
          if (isSliceOver()) await nextSlice(signal);
        }
      }
    }),
  );
  return found;
}

/** Elements by id, parsed; see ElementStore.find. */
export async function findElements(
  loader: ElementLoader,
  stored: StoredElements,
  ids: Iterable<string>,
  signal?: AbortSignal,
): Promise<Map<string, AnnotationElement>> {
  const locations = await locate(loader, stored, ids, signal);
  const windows = await loader.allWindows(stored, signal);
  const byPack = new Map<string, { location: Location; rows: number[] }>();
  for (const location of locations.values()) {
    const key = `${location.window}/${location.pack}`;
    const existing = byPack.get(key);
    if (existing === undefined) byPack.set(key, { location, rows: [location.at] });
    else existing.rows.push(location.at);
  }
  const elements = new Map<string, AnnotationElement>();
  const groups = [...byPack.values()];
  for (let start = 0; start < groups.length; start += packsPerFetch) {
    const group = groups.slice(start, start + packsPerFetch);
    const entries = group.map(({ location }) => windows[location.window]!.packs[location.pack]!);
    for (const [at, pack] of (await loader.cachedPacks(entries, signal)).entries()) {
      for (const row of group[at]!.rows) elements.set(packColumns(pack).idAt(row), await parseElementAt(pack, row, signal));
      if (isSliceOver()) await nextSlice(signal);
    }
  }
  return elements;
}

/** One element of a pack, parsed. */
async function parseElementAt(pack: LoadedPack, row: number, signal: AbortSignal | undefined): Promise<AnnotationElement> {
  const offsets = packColumns(pack).textOffsets();
  return parseElement(packText(pack).subarray(offsets[row], offsets[row + 1]), signal);
}

/** Parses the text of an element as it is stored. */
export async function parseElement(text: Buffer, signal?: AbortSignal): Promise<AnnotationElement> {
  const json = text.toString('utf8');
  // Stored elements have been checked, so the cast is safe.
  return (
    isLongText(text.length) ? await parseJsonText(json, { signal, maxContainers: Infinity }) : JSON.parse(json)
  ) as AnnotationElement;
}
