import {
  mayMatchWithin,
  type BoxCondition,
  type ElementBudget,
  type ElementQuery,
} from '../../../../annotation-format/element-query.js';
import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { sortInSlices } from '../../../../core/concurrency/sort-in-slices.js';
import type { StoredElements, StoredWindow } from '../element-store.js';
import { windowPositions, type PackEntry } from '../packs/pack-index.js';
import type { ElementLoader, LoadedPack, LoadedWindow, PartialWindow } from './loader.js';
import type { PackColumns } from '../packs/pack.js';

/** A part of the selected elements, in the order in which they are sent. */
export interface Selection {
  /** Index of the window that contains all selected elements. If the selection is sorted by a field, the index is 0 and has no meaning. */
  windowIndex: number;
  /** The packs that contain the elements, with texts if the request needs them. */
  packs: readonly LoadedPack[];
  /** The selected elements, called members. Each member is a number: index in `packs` × {@link maxPackRows} + row in the pack. */
  members: Float64Array;
  /** The text of each member, if the texts were loaded one by one instead of for whole packs. */
  elementTexts?: readonly Buffer[];
  /**
   * Drops the texts of these packs, and of packs that were fetched ahead. Call this when the reader is slow. {@link loadTexts} loads the
   * texts again.
   */
  dropTexts?: () => void;
}

/** Maximum number of rows of a pack: a joined pack can contain all elements of a window. */
export const maxPackRows = windowPositions;

/** Returns the index of a member's pack in {@link Selection.packs}. */
export function packNumberOf(member: number): number {
  return Math.floor(member / maxPackRows);
}

/** Returns the row of a member in its pack. The operator `%` would be many times slower for numbers of this size. */
export function rowInPack(member: number): number {
  return member - Math.floor(member / maxPackRows) * maxPackRows;
}

/** Maximum bytes of uncompressed texts in a batch of windows. */
const maxBatchTextBytes = 32 * 1024 * 1024;
/**
 * If the texts of a batch have at most this many bytes, they are loaded together with the columns, although not all may be needed. Longer
 * texts are loaded only after the elements were selected: in an annotation of many windows, a small region touches a pack of every window,
 * but most of these packs have no element in the region.
 */
const maxEagerTextBytes = 4 * 1024 * 1024;

/** If all elements of a window with more members than this are selected, they are placed by their positions instead of sorted. */
const maxSortedMembers = 4096;

/** A request to select elements. */
export interface SelectRequest {
  loader: ElementLoader;
  stored: StoredElements;
  query: ElementQuery;
  budget: ElementBudget;
  /** Whether the texts of the elements are needed. */
  needsTexts: boolean;
  signal: AbortSignal | undefined;
}

/** Returns the columns of a pack. The caller must have loaded them. */
export function requireColumns(pack: LoadedPack): PackColumns {
  if (pack.columns === null) throw new Error(`The columns of pack ${pack.entry.id} were not fetched`);
  return pack.columns;
}

/** Returns the text of a pack. The caller must have loaded it. */
export function requireText(pack: LoadedPack): Buffer {
  if (pack.text === null) throw new Error(`The text of pack ${pack.entry.id} was not fetched`);
  return pack.text;
}

/** Yields the rows of the elements in a pack that satisfy the conditions. */
export function* matchingRows(columns: PackColumns, conditions: readonly BoxCondition[]): Generator<number, void, undefined> {
  if (conditions.length === 0) {
    for (let row = 0; row < columns.count; row += 1) yield row;
    return;
  }
  const { boxes, details } = columns;
  for (let row = 0; row < columns.count; row += 1) {
    let isMatch = true;
    for (const { field, operator, value } of conditions) {
      const fieldValue =
        field === 'size' ? columns.sizeAt(row) : field === 'details' ? (details[row] as number) : (boxes[field][row] as number);
      if (operator === '$gte' ? !(fieldValue >= value) : !(fieldValue < value)) {
        isMatch = false;
        break;
      }
    }
    if (isMatch) yield row;
  }
}

/** Finds the packs of a window that may contain an element which satisfies the conditions. */
export function findCandidatePacks(window: LoadedWindow, conditions: readonly BoxCondition[]): PackEntry[] {
  return window.packs.filter(({ count, box }) => count > 0 && (conditions.length === 0 || mayMatchWithin(box, conditions)));
}

interface WindowBatch {
  windows: (PartialWindow & { stored: StoredWindow })[];
  textBytes: number;
}

/**
 * Divides the windows, with their candidate packs, into batches whose packs are fetched together.
 *
 * @param skipped counts the elements before the offset. Windows that lie before the offset are left out, and their elements are added here.
 */
async function* makeWindowBatches(
  { loader, stored, query, signal }: SelectRequest,
  skipped: { count: number },
): AsyncGenerator<WindowBatch> {
  const { conditions, sort } = query;
  const orderedWindows = sort[1] === 1 ? stored.windows : stored.windows.toReversed();
  const windows: StoredWindow[] = [];
  for (const window of orderedWindows) {
    if (conditions.length > 0) {
      if (mayMatchWithin(window.box, conditions)) windows.push(window);
    } else if (windows.length === 0 && skipped.count + window.count <= query.offset) skipped.count += window.count;
    else windows.push(window);
  }
  let batch: WindowBatch = { windows: [], textBytes: 0 };
  // Pack indexes are loaded in groups. They are small, but there may be many.
  const windowsPerLoad = 64;
  for (let start = 0; start < windows.length; start += windowsPerLoad) {
    const windowGroup = windows.slice(start, start + windowsPerLoad);
    const loadedWindows = await loader.loadWindows(windowGroup, signal);
    for (const [i, window] of loadedWindows.entries()) {
      const candidates = findCandidatePacks(window, conditions);
      const textBytes = candidates.reduce((sum, entry) => sum + entry.textBytes, 0);
      if (batch.windows.length > 0 && batch.textBytes + textBytes > maxBatchTextBytes) {
        yield batch;
        batch = { windows: [], textBytes: 0 };
      }
      batch.windows.push({ stored: windowGroup[i] as StoredWindow, window, packs: candidates });
      batch.textBytes += textBytes;
    }
  }
  if (batch.windows.length > 0) yield batch;
}

/** Selects elements in their original order, or in the reverse order. */
export async function* selectInOrder(request: SelectRequest): AsyncGenerator<Selection, void, undefined> {
  const { loader, query, budget, needsTexts, signal } = request;
  const skipped = { count: 0 };
  const isUnrestricted = query.conditions.length === 0 && query.limit === 0 && query.maxDetails === 0;
  // The next batch is fetched while the current batch is sent.
  let nextBatch: Promise<{ batch: WindowBatch; packs: LoadedPack[][] } | null> | null = null;
  const batches = makeWindowBatches(request, skipped);
  const fetchNext = async () => {
    const result = await batches.next();
    if (result.done) return null;
    const batch = result.value;
    const loadsTextsNow = needsTexts && (isUnrestricted || batch.textBytes <= maxEagerTextBytes);
    // The packs of a small part of the image are cached, because neighboring parts are usually read next.
    const isSmallRegion = loadsTextsNow && query.conditions.length > 0 && batch.textBytes <= maxEagerTextBytes;
    const load = async () => {
      const entries = batch.windows.flatMap(({ packs }) => packs);
      if (isSmallRegion) return loader.loadAndCachePacks(entries, signal);
      return loadsTextsNow ? loader.loadPacks(entries, 'both', signal) : loader.loadPacksWithColumns(batch.windows, signal);
    };
    if (!needsTexts) return { batch, packs: await loader.loadPacksWithJoinedColumns(batch.windows, signal) };
    const loadedPacks = await load();
    return { batch, packs: batch.windows.map(({ packs }) => loadedPacks.splice(0, packs.length)) };
  };
  try {
    nextBatch = fetchNext();
    for (;;) {
      const current = await nextBatch;
      nextBatch = null;
      if (current === null || !budget.allowsMore) return;
      // Restricted requests may need no further batch, so only unrestricted requests fetch the next batch now.
      if (isUnrestricted) {
        nextBatch = fetchNext();
        nextBatch.catch(() => undefined);
      }
      const selections: Selection[] = [];
      for (const [i, { stored }] of current.batch.windows.entries()) {
        const packs = current.packs[i] as LoadedPack[];
        const members = await selectMembers(packs, query, budget, skipped, signal);
        if (isSliceOver()) await nextSlice(signal);
        if (members.length > 0) selections.push({ windowIndex: request.stored.windows.indexOf(stored), packs, members });
        if (!budget.allowsMore) break;
      }
      if (needsTexts) await loadTexts(loader, selections, signal);
      const dropTexts = () => {
        dropPackTexts(current.packs.flat());
        nextBatch?.then((next) => dropPackTexts(next?.packs.flat() ?? [])).catch(() => undefined);
      };
      for (const selection of selections) yield { ...selection, dropTexts };
      if (!budget.allowsMore) return;
      nextBatch ??= fetchNext();
    }
  } finally {
    nextBatch?.catch(() => undefined);
    await batches.return(undefined);
  }
}

/** Selects the matching members of a window's packs, in order. Members before the offset are skipped, and the budget limits their number. */
async function selectMembers(
  packs: readonly LoadedPack[],
  query: ElementQuery,
  budget: ElementBudget,
  skipped: { count: number },
  signal: AbortSignal | undefined,
): Promise<Float64Array> {
  const count = packs.reduce((sum, { entry }) => sum + entry.count, 0);
  const isLargeAndUnfiltered = query.conditions.length === 0 && count > maxSortedMembers;
  const sortedMembers = isLargeAndUnfiltered
    ? await placeAllMembers(packs, signal)
    : await sortMatchingMembers(packs, query.conditions, { capacity: count, signal });
  if (query.sort[1] === -1) sortedMembers.reverse();
  const from = Math.min(sortedMembers.length, query.offset - skipped.count);
  skipped.count += from;
  let to = from;
  if (isLargeAndUnfiltered && from === 0 && !budget.isLimited) {
    const details = packs.reduce((sum, { entry }) => sum + entry.detailsCount, 0);
    budget.countSent(details, count);
    return sortedMembers;
  }
  while (to < sortedMembers.length && budget.allowsMore) {
    const member = sortedMembers[to] as number;
    budget.countSent(requireColumns(packs[packNumberOf(member)] as LoadedPack).details[rowInPack(member)] as number);
    to += 1;
  }
  return sortedMembers.subarray(from, to);
}

/** Returns all members in order. Each position of a window is used at most once, so members are placed by their positions instead of sorted. */
async function placeAllMembers(packs: readonly LoadedPack[], signal: AbortSignal | undefined): Promise<Float64Array> {
  const membersByPosition = new Float64Array(windowPositions).fill(-1);
  for (const [packNumber, pack] of packs.entries()) {
    const { positions, count } = requireColumns(pack);
    for (let row = 0; row < count; row += 1) membersByPosition[positions[row] as number] = packNumber * maxPackRows + row;
    if (isSliceOver()) await nextSlice(signal);
  }
  let count = 0;
  for (let position = 0; position < windowPositions; position += 1) {
    const member = membersByPosition[position] as number;
    if (member >= 0) membersByPosition[count++] = member;
  }
  return membersByPosition.subarray(0, count);
}

/** Returns the matching members in order. */
async function sortMatchingMembers(
  packs: readonly LoadedPack[],
  conditions: readonly BoxCondition[],
  { capacity, signal }: { capacity: number; signal: AbortSignal | undefined },
): Promise<Float64Array> {
  const keys = new Float64Array(capacity);
  const keysPerPosition = maxPackRows * windowPositions;
  let count = 0;
  for (const [packNumber, pack] of packs.entries()) {
    const columns = requireColumns(pack);
    for (const row of matchingRows(columns, conditions)) {
      // A key has 48 bits: 16 for the position in the window, and 32 for the member (16 for the pack, 16 for the row).
      keys[count] = (columns.positions[row] as number) * keysPerPosition + packNumber * maxPackRows + row;
      count += 1;
    }
    if (isSliceOver()) await nextSlice(signal);
  }
  const sortedKeys = await sortInSlices(keys.subarray(0, count), undefined, signal);
  for (let i = 0; i < count; i += 1) {
    const key = sortedKeys[i] as number;
    // Only the member remains of each key.
    sortedKeys[i] = key - Math.floor(key / keysPerPosition) * keysPerPosition;
  }
  return sortedKeys;
}

function dropPackTexts(packs: readonly LoadedPack[]): void {
  for (const pack of packs) pack.text = null;
}

/** Loads the missing texts of packs that contain selected elements. */
export async function loadTexts(loader: ElementLoader, selections: readonly Selection[], signal?: AbortSignal): Promise<void> {
  const packsWithoutText = new Set<LoadedPack>();
  for (const { packs, members } of selections) {
    if (packs.every(({ text }) => text !== null)) continue;
    for (const member of members) {
      const pack = packs[packNumberOf(member)] as LoadedPack;
      if (pack.text === null) packsWithoutText.add(pack);
    }
  }
  const missingPacks = [...packsWithoutText];
  const packsWithText = await loader.loadPacks(
    missingPacks.map(({ entry }) => entry),
    'text',
    signal,
  );
  for (const [i, pack] of missingPacks.entries()) pack.text = (packsWithText[i] as LoadedPack).text;
}
