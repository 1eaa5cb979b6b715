import { maxElements, ElementBudget } from '../../../../annotation-format/element-query.js';
import { mapAhead } from '../../../../core/concurrency/map-ahead.js';
import { forEachRange, isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { sortInSlices } from '../../../../core/concurrency/sort-in-slices.js';
import { windowPositions, type PackEntry } from '../packs/pack-index.js';
import type { ElementLoader, LoadedPack } from './loader.js';
import { parseElement } from './locate.js';
import type { PackColumns } from '../packs/pack.js';
import {
  findCandidatePacks,
  requireColumns,
  matchingRows,
  packNumberOf,
  requireText,
  maxPackRows,
  rowInPack,
  type Selection,
  type SelectRequest,
} from './select.js';

/** Maximum bytes of uncompressed texts in one selection. Packs are read again for each selection that needs them. */
const maxSelectionTextBytes = 64 * 1024 * 1024;
const packsPerFetch = 256;
/** Number of fetches at the same time. While the packs of one fetch are processed, the next packs are loaded. */
const fetchesAtOnce = 3;
/** Number of values that are processed without a pause. */
const valuesAtOnce = 65_536;

type SortValue = number | string | boolean | null;

/** All matching elements before sorting. */
interface Matches {
  packs: LoadedPack[];
  /** The matching elements, encoded like {@link Selection.members}. */
  members: Float64Array;
  sortValues: SortValue[] | Float64Array;
  /** Positions of the matching elements in the original order. */
  orders: Float64Array;
  /** Number of matches. The arrays may be longer. */
  count: number;
}

const boxFields = ['lowx', 'highx', 'lowy', 'highy', 'lowz', 'highz'] as const;

/** Returns the value by which an element is sorted. */
type GetSortValue = (pack: LoadedPack, columns: PackColumns, row: number) => SortValue | Promise<SortValue>;
/** Returns the value by which an element is sorted, if it is a number in a column. */
type GetSortNumber = (columns: PackColumns, row: number) => number;

interface SortField {
  /** Used instead of {@link getValue} if it is not `null`, because it is faster. */
  getNumber: GetSortNumber | null;
  getValue: GetSortValue;
  needsText: boolean;
}

function createNumberGetter(name: string): GetSortNumber | null {
  if (name === 'size') return (columns, row) => columns.sizeAt(row);
  if (name === 'details') return (columns, row) => columns.details[row] as number;
  const boxField = boxFields.find((field) => field === name);
  return boxField === undefined ? null : (columns, row) => columns.boxes[boxField][row] as number;
}

function sortFieldOf(field: string): SortField {
  const [root = '', ...path] = field.split('.');
  const name = path.join('.');
  // For a field that elements do not have, all elements count as equal.
  const unknownField: SortField = { getNumber: null, getValue: () => null, needsText: false };
  if (root === 'bbox') return { ...unknownField, getNumber: createNumberGetter(name) };
  if (root === 'element' && name === 'id') return { ...unknownField, getValue: (_, columns, row) => columns.idAt(row) };
  if (root !== 'element' || path.length === 0) return unknownField;
  return { ...unknownField, getValue: (pack, columns, row) => valueAtPath(pack, columns, row, path), needsText: true };
}

async function valueAtPath(pack: LoadedPack, columns: PackColumns, row: number, path: readonly string[]): Promise<SortValue> {
  const start = columns.textLengths.subarray(0, row).reduce((sum, length) => sum + length, 0);
  let value: unknown = await parseElement(requireText(pack).subarray(start, start + (columns.textLengths[row] as number)));
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return null;
    value = (value as Record<string, unknown>)[key];
  }
  if (typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean') return value;
  return value === undefined || value === null ? null : JSON.stringify(value);
}

/** Returns the rank of a value's type in the sort order of the database: missing values, numbers, texts, booleans. */
function typeRank(value: SortValue): number {
  if (value === null) return 0;
  return typeof value === 'number' ? 1 : typeof value === 'string' ? 2 : 3;
}

function compareValues(a: SortValue, b: SortValue): number {
  const typeDifference = typeRank(a) - typeRank(b);
  if (typeDifference !== 0 || a === null || b === null) return typeDifference;
  return a < b ? -1 : a > b ? 1 : 0;
}

async function findMatches({ loader, stored, query, signal }: SelectRequest): Promise<Matches> {
  const { getNumber, getValue, needsText } = sortFieldOf(query.sort[0]);
  const windows = await loader.loadAllWindows(stored, signal);
  const candidates = windows.map((window) => findCandidatePacks(window, query.conditions));
  const total = candidates.flat().reduce((sum, { count }) => sum + count, 0);
  const numbers = getNumber === null ? null : new Float64Array(total);
  const matches: Matches = {
    packs: [],
    members: new Float64Array(total),
    sortValues: numbers ?? [],
    orders: new Float64Array(total),
    count: 0,
  };
  const addMatches = async (windowIndex: number, pack: LoadedPack) => {
    const columns = requireColumns(pack);
    const packNumber = matches.packs.length;
    const countBefore = matches.count;
    for (const row of matchingRows(columns, query.conditions)) {
      const matchIndex = matches.count;
      matches.members[matchIndex] = packNumber * maxPackRows + row;
      matches.orders[matchIndex] = windowIndex * windowPositions + (columns.positions[row] as number);
      if (numbers !== null) numbers[matchIndex] = getNumber!(columns, row);
      else {
        const sortValue = getValue(pack, columns, row);
        (matches.sortValues as SortValue[])[matchIndex] = sortValue instanceof Promise ? await sortValue : sortValue;
      }
      matches.count += 1;
      if (needsText && isSliceOver()) await nextSlice(signal);
    }
    if (matches.count > countBefore) matches.packs.push({ ...pack, text: null });
  };
  const packBatches = windows.flatMap((window, windowIndex) => {
    const packEntries = candidates[windowIndex] as PackEntry[];
    // Texts of a whole window would take too much memory.
    const packsAtOnce = needsText ? packsPerFetch : Math.max(1, packEntries.length);
    return splitIntoBatches(packEntries, packsAtOnce).map((packs) => ({ window, windowIndex, packs }));
  });
  const load = async ({ window, windowIndex, packs }: (typeof packBatches)[number]) => {
    const loadedPacks = needsText
      ? await loader.loadPacks(packs, 'both', signal)
      : (await loader.loadPacksWithJoinedColumns([{ window, packs }], signal))[0]!;
    return { windowIndex, loadedPacks };
  };
  for await (const { windowIndex, loadedPacks } of mapAhead(packBatches, fetchesAtOnce, load)) {
    for (const pack of loadedPacks) {
      await addMatches(windowIndex, pack);
      if (isSliceOver()) await nextSlice(signal);
    }
  }
  return matches;
}

/** Sorts the matches. Matches with equal values keep their original order. @returns the indices of the first `limit` matches. */
async function sortMatches(
  { sortValues, orders, count }: Matches,
  direction: 1 | -1,
  limit: number,
  signal: AbortSignal | undefined,
): Promise<Uint32Array> {
  const byOrder = (a: number, b: number) => (orders[a] as number) - (orders[b] as number);
  if (!(sortValues instanceof Float64Array)) {
    const indices = Uint32Array.from({ length: count }, (_, index) => index);
    const byValue = (a: number, b: number) =>
      direction * compareValues(sortValues[a] as SortValue, sortValues[b] as SortValue) || byOrder(a, b);
    return (await sortInSlices(indices, byValue, signal)).subarray(0, limit);
  }
  const numbers = sortValues.subarray(0, count);
  const byNumber = (a: number, b: number) => direction * ((numbers[a] as number) - (numbers[b] as number)) || byOrder(a, b);
  const indices = await findFirstCandidates(numbers, direction, limit, signal);
  return (await sortInSlices(indices, byNumber, signal)).subarray(0, limit);
}

/** Number of bins in which numbers are counted, see {@link findFirstCandidates}. */
const binCount = 65_536;

/**
 * Finds the numbers that would come first if all numbers were sorted in this direction: at least `limit` numbers, and usually few more.
 * Numbers are counted in bins, because sorting all of them would take many times as long.
 *
 * @returns the indices of these numbers, in no particular order.
 */
async function findFirstCandidates(
  numbers: Float64Array,
  direction: 1 | -1,
  limit: number,
  signal: AbortSignal | undefined,
): Promise<Uint32Array> {
  const { length } = numbers;
  let [low, high] = [Infinity, -Infinity];
  await forEachRange(
    length,
    valuesAtOnce,
    (from, to) => {
      for (let i = from; i < to; i += 1) {
        const number = numbers[i] as number;
        if (number < low) low = number;
        if (number > high) high = number;
      }
    },
    signal,
  );
  const scale = binCount / (high - low);
  const canBin = limit < length && Number.isFinite(scale) && scale > 0;
  if (!canBin) return Uint32Array.from({ length }, (_, index) => index);
  const origin = direction === 1 ? low : high;
  const binOf = (number: number) => Math.min(binCount - 1, Math.floor(direction * (number - origin) * scale));
  const counts = new Uint32Array(binCount);
  const countInBins = (start: number, end: number) => {
    for (let i = start; i < end; i += 1) counts[binOf(numbers[i] as number)]! += 1;
  };
  await forEachRange(length, valuesAtOnce, countInBins, signal);
  let [lastBin, foundCount] = [0, counts[0] as number];
  while (foundCount < limit) foundCount += counts[(lastBin += 1)] as number;
  const indices = new Uint32Array(foundCount);
  let nextIndex = 0;
  const collect = (start: number, end: number) => {
    for (let i = start; i < end; i += 1) if (binOf(numbers[i] as number) <= lastBin) indices[nextIndex++] = i;
  };
  await forEachRange(length, valuesAtOnce, collect, signal);
  return indices;
}

/** Finds the matches that the query selects. @returns their indices in the requested order. */
async function selectIndices(matches: Matches, request: SelectRequest): Promise<Uint32Array> {
  const { query, signal } = request;
  const total = matches.count;
  const maxIndices = Math.min(total, query.offset + maxElements(query));
  const { detailsCount, count } = request.stored;
  // If the query limits details, about this many elements are usually enough, so only these are sorted at first.
  const typicalCount = Math.ceil((1.5 * query.maxDetails * count) / Math.max(1, detailsCount)) + query.minElements + 1000;
  let limit = query.maxDetails > 0 ? Math.min(maxIndices, query.offset + typicalCount) : maxIndices;
  for (;;) {
    const indices = (await sortMatches(matches, query.sort[1], limit, signal)).subarray(query.offset);
    const trialBudget = new ElementBudget(query);
    let selectedCount = 0;
    for (; selectedCount < indices.length && trialBudget.allowsMore; selectedCount += 1) {
      trialBudget.countSent(detailsOf(matches, indices[selectedCount] as number));
      if (isSliceOver()) await nextSlice(signal);
    }
    if (!trialBudget.allowsMore || limit === maxIndices) return indices.subarray(0, selectedCount);
    limit = Math.min(maxIndices, limit * 4);
  }
}

function detailsOf({ packs, members }: Matches, index: number): number {
  const member = members[index] as number;
  return requireColumns(packs[packNumberOf(member)] as LoadedPack).details[rowInPack(member)] as number;
}

/** Selects elements in the order of a field. */
export async function* selectSorted(request: SelectRequest): AsyncGenerator<Selection, void, undefined> {
  const { loader, budget, needsTexts, signal } = request;
  const matches = await findMatches(request);
  const indices = await selectIndices(matches, request);
  let start = 0;
  while (start < indices.length) {
    let [end, bytes] = [start, 0];
    const members: number[] = [];
    while (end < indices.length && (bytes < maxSelectionTextBytes || !needsTexts)) {
      const index = indices[end] as number;
      const member = matches.members[index] as number;
      members.push(member);
      bytes += requireColumns(matches.packs[packNumberOf(member)] as LoadedPack).textLengths[rowInPack(member)] as number;
      budget.countSent(detailsOf(matches, index));
      end += 1;
      if (isSliceOver()) await nextSlice(signal);
    }
    const selection = { windowIndex: 0, packs: matches.packs, members: Float64Array.from(members) };
    yield needsTexts ? await addElementTexts(loader, selection, signal) : selection;
    start = end;
  }
}

/** Adds the texts of the elements to a selection, without keeping the texts of whole packs in memory. */
async function addElementTexts(loader: ElementLoader, selection: Selection, signal?: AbortSignal): Promise<Selection> {
  const { packs, members } = selection;
  const elementTexts: Buffer[] = Array.from({ length: members.length });
  const startsByPackNumber: (Float64Array | undefined)[] = [];
  const rangesByPack = new Map<PackEntry, { memberIndex: number; start: number; end: number }[]>();
  for (let memberIndex = 0; memberIndex < members.length; memberIndex += 1) {
    const member = members[memberIndex] as number;
    const pack = packs[packNumberOf(member)] as LoadedPack;
    const starts = (startsByPackNumber[packNumberOf(member)] ??= requireColumns(pack).textOffsets());
    const row = rowInPack(member);
    const { entry, firstRow } = storedPackOf(pack, row);
    const packStart = starts[firstRow] as number;
    const range = {
      memberIndex,
      start: (starts[row] as number) - packStart,
      end: (starts[row + 1] as number) - packStart,
    };
    const rangesOfPack = rangesByPack.get(entry);
    if (rangesOfPack === undefined) rangesByPack.set(entry, [range]);
    else rangesOfPack.push(range);
    if (isSliceOver()) await nextSlice(signal);
  }
  const load = (entries: PackEntry[]) => loader.loadPacks(entries, 'text', signal);
  for await (const loadedPacks of mapAhead(splitIntoBatches([...rangesByPack.keys()], packsPerFetch), fetchesAtOnce, load)) {
    for (const pack of loadedPacks) {
      const text = requireText(pack);
      // Texts are copied, because a part of a pack's buffer would keep the whole buffer in memory.
      for (const { memberIndex, start, end } of rangesByPack.get(pack.entry)!)
        elementTexts[memberIndex] = Buffer.from(text.subarray(start, end));
      if (isSliceOver()) await nextSlice(signal);
    }
  }
  return { ...selection, elementTexts };
}

/** Finds the stored pack of a row of a loaded pack, which may be joined. `firstRow` is the stored pack's first row in the loaded pack. */
function storedPackOf({ entry, joined }: LoadedPack, row: number): { entry: PackEntry; firstRow: number } {
  if (joined === undefined) return { entry, firstRow: 0 };
  let [low, high] = [0, joined.firstRows.length];
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if ((joined.firstRows[middle] as number) <= row) low = middle;
    else high = middle;
  }
  return { entry: joined.entries[low] as PackEntry, firstRow: joined.firstRows[low] as number };
}

/** Splits a list into consecutive batches of at most `maxLength` entries. */
function splitIntoBatches<T>(list: readonly T[], maxLength: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / maxLength) }, (_, i) => list.slice(i * maxLength, (i + 1) * maxLength));
}
