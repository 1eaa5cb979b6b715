import { mostElements, ElementBudget } from '../../../../annotation-format/element-query.js';
import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import { sortInSlices } from '../../../../core/concurrency/sort-in-slices.js';
import { windowPositions, type PackEntry } from '../packs/pack-index.js';
import type { ElementLoader, LoadedPack } from './loader.js';
import { parsedElement } from './locate.js';
import type { PackColumns } from '../packs/pack.js';
import {
  candidatePacks,
  columnsOf,
  matchingRows,
  packOf,
  packText,
  perPack,
  rowInPack,
  type Selection,
  type SelectRequest,
} from './select.js';

/** Largest size of the uncompressed texts of a part of the answer, in bytes. The packs are read once for each part. */
const partTextBytes = 64 * 1024 * 1024;
/** Number of packs in one fetch. */
const packsPerFetch = 256;

type SortValue = number | string | boolean | null;

/** All matching elements before sorting. */
interface Matches {
  packs: LoadedPack[];
  /** As {@link Selection.members}. */
  members: Float64Array;
  values: SortValue[];
  /** Original order. */
  orders: Float64Array;
}

const boxFields = ['lowx', 'highx', 'lowy', 'highy', 'lowz', 'highz'] as const;

/** Returns the value by which an element is sorted. */
type ValueOf = (pack: LoadedPack, columns: PackColumns, at: number) => SortValue | Promise<SortValue>;

function valueOf(field: string): { value: ValueOf; needsText: boolean } {
  const [root = '', ...path] = field.split('.');
  const name = path.join('.');
  if (root === 'bbox' && name === 'size') return { value: (_, columns, at) => columns.sizeAt(at), needsText: false };
  if (root === 'bbox' && name === 'details')
    return { value: (_, columns, at) => columns.details[at] as number, needsText: false };
  const box = root === 'bbox' ? boxFields.find((known) => known === name) : undefined;
  if (box !== undefined) return { value: (_, columns, at) => columns.boxes[box][at] as number, needsText: false };
  if (root === 'element' && name === 'id') return { value: (_, columns, at) => columns.idAt(at), needsText: false };
  if (root === 'element' && path.length > 0)
    return { value: (pack, columns, at) => memberOf(pack, columns, at, path), needsText: true };
  // No other field is stored, so all elements are equal.
  return { value: () => null, needsText: false };
}

async function memberOf(pack: LoadedPack, columns: PackColumns, at: number, path: readonly string[]): Promise<SortValue> {
  const start = columns.lengths.subarray(0, at).reduce((sum, length) => sum + length, 0);
  let value: unknown = await parsedElement(packText(pack).subarray(start, start + (columns.lengths[at] as number)));
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return null;
    value = (value as Record<string, unknown>)[key];
  }
  if (typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean') return value;
  return value === undefined || value === null ? null : JSON.stringify(value);
}

/** Position of a type in the sort order of the database: missing values, numbers, texts, booleans. */
function rank(value: SortValue): number {
  if (value === null) return 0;
  return typeof value === 'number' ? 1 : typeof value === 'string' ? 2 : 3;
}

function compare(a: SortValue, b: SortValue): number {
  const byKind = rank(a) - rank(b);
  if (byKind !== 0 || a === null || b === null) return byKind;
  return a < b ? -1 : a > b ? 1 : 0;
}

async function findMatches({ loader, stored, query, signal }: SelectRequest): Promise<Matches> {
  const { value, needsText } = valueOf(query.sort[0]);
  const windows = await loader.allWindows(stored, signal);
  const candidates = windows.map((window) => candidatePacks(window, query.conditions));
  const most = candidates.flat().reduce((sum, { count }) => sum + count, 0);
  const matches: Matches = { packs: [], members: new Float64Array(most), values: [], orders: new Float64Array(most) };
  for (const [number, window] of windows.entries()) {
    const wanted = candidates[number] as PackEntry[];
    // Texts of a whole window would take too much memory.
    const atOnce = needsText ? packsPerFetch : Math.max(1, wanted.length);
    for (let start = 0; start < wanted.length; start += atOnce) {
      const packs = wanted.slice(start, start + atOnce);
      for (const pack of await (needsText
        ? loader.packs(packs, 'both', signal)
        : loader.columnsOf([{ window, packs }], signal))) {
        const columns = columnsOf(pack);
        const index = matches.packs.length;
        const before = matches.values.length;
        for (const at of matchingRows(columns, query.conditions)) {
          const match = matches.values.length;
          matches.members[match] = index * perPack + at;
          matches.orders[match] = number * windowPositions + (columns.positions[at] as number);
          const sorted = value(pack, columns, at);
          matches.values.push(sorted instanceof Promise ? await sorted : sorted);
          if (needsText && isSliceOver()) await nextSlice(signal);
        }
        if (matches.values.length > before) matches.packs.push({ ...pack, text: null });
        if (isSliceOver()) await nextSlice(signal);
      }
    }
  }
  return matches;
}

/** Indices of the first `wanted` matches in the order of the answer. Equal values keep their original order. */
async function sortedIndices(
  { values, orders }: Matches,
  direction: 1 | -1,
  wanted: number,
  signal: AbortSignal | undefined,
): Promise<Uint32Array> {
  const byOrder = (a: number, b: number) => (orders[a] as number) - (orders[b] as number);
  let indices = Uint32Array.from({ length: values.length }, (_, index) => index);
  if (!values.every((value) => typeof value === 'number')) {
    const byValue = (a: number, b: number) =>
      direction * compare(values[a] as SortValue, values[b] as SortValue) || byOrder(a, b);
    return (await sortInSlices(indices, byValue, signal)).subarray(0, wanted);
  }
  const numbers = Float64Array.from(values);
  if (wanted < numbers.length) {
    // Sorting plain numbers is many times faster than sorting with a comparison. The sorted numbers give the last value that is
    // needed.
    const sorted = await sortInSlices(numbers.slice(), undefined, signal);
    const last = (direction === 1 ? sorted[wanted - 1] : sorted[sorted.length - wanted]) as number;
    indices = indices.filter((index) => direction * ((numbers[index] as number) - last) <= 0);
  }
  const byNumber = (a: number, b: number) => direction * ((numbers[a] as number) - (numbers[b] as number)) || byOrder(a, b);
  return (await sortInSlices(indices, byNumber, signal)).subarray(0, wanted);
}

/** Indices of the matches that the query selects, sorted. */
async function chosen(matches: Matches, request: SelectRequest): Promise<Uint32Array> {
  const { query, signal } = request;
  const total = matches.values.length;
  const most = Math.min(total, query.offset + mostElements(query));
  const { detailsCount, count } = request.stored;
  // If the query limits details, few elements are usually enough. This many are tried first.
  const typical = Math.ceil((1.5 * query.maxDetails * count) / Math.max(1, detailsCount)) + query.minElements + 1000;
  let wanted = query.maxDetails > 0 ? Math.min(most, query.offset + typical) : most;
  for (;;) {
    const indices = (await sortedIndices(matches, query.sort[1], wanted, signal)).subarray(query.offset);
    const trial = new ElementBudget(query);
    let taken = 0;
    for (; taken < indices.length && trial.isOpen; taken += 1) {
      trial.take(detailsOf(matches, indices[taken] as number));
      if (isSliceOver()) await nextSlice(signal);
    }
    if (!trial.isOpen || wanted === most) return indices.subarray(0, taken);
    wanted = Math.min(most, wanted * 4);
  }
}

function detailsOf({ packs, members }: Matches, index: number): number {
  const member = members[index] as number;
  return columnsOf(packs[packOf(member)] as LoadedPack).details[rowInPack(member)] as number;
}

/** Selects elements in the order of a field. */
export async function* selectSorted(request: SelectRequest): AsyncGenerator<Selection, void, undefined> {
  const { loader, budget, texts, signal } = request;
  const matches = await findMatches(request);
  const indices = await chosen(matches, request);
  let start = 0;
  while (start < indices.length) {
    let [end, bytes] = [start, 0];
    const members: number[] = [];
    while (end < indices.length && (bytes < partTextBytes || !texts)) {
      const index = indices[end] as number;
      const member = matches.members[index] as number;
      members.push(member);
      bytes += columnsOf(matches.packs[packOf(member)] as LoadedPack).lengths[rowInPack(member)] as number;
      budget.take(detailsOf(matches, index));
      end += 1;
      if (isSliceOver()) await nextSlice(signal);
    }
    const part = { window: 0, packs: matches.packs, members: Float64Array.from(members) };
    yield texts ? await cutOut(loader, part, signal) : part;
    start = end;
  }
}

/** Adds the texts of the elements to a selection. Only these texts are kept, not those of whole packs. */
async function cutOut(loader: ElementLoader, selection: Selection, signal?: AbortSignal): Promise<Selection> {
  const { packs, members } = selection;
  const cut: Buffer[] = Array.from({ length: members.length });
  const wanted = new Map<number, number[]>();
  for (let i = 0; i < members.length; i += 1) {
    const index = packOf(members[i] as number);
    const inPack = wanted.get(index);
    if (inPack === undefined) wanted.set(index, [i]);
    else inPack.push(i);
  }
  const indices = [...wanted.keys()];
  for (let start = 0; start < indices.length; start += packsPerFetch) {
    const group = indices.slice(start, start + packsPerFetch);
    const entries = group.map((index) => (packs[index] as LoadedPack).entry);
    for (const [at, pack] of (await loader.packs(entries, 'text', signal)).entries()) {
      const index = group[at] as number;
      const offsets = columnsOf(packs[index] as LoadedPack).offsets();
      const text = packText(pack);
      for (const i of wanted.get(index) ?? []) {
        const row = rowInPack(members[i] as number);
        const piece = text.subarray(offsets[row] as number, offsets[row + 1] as number);
        // The text is copied, because a part of a pack's buffer would keep all of it in memory.
        cut[i] = Buffer.from(piece);
      }
    }
  }
  return { ...selection, cut };
}
