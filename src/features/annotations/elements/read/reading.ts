import { unionBox, type BoundingBox } from '../../../../annotation-format/bounding-box.js';
import { CentroidPropTable, centroidBytes } from '../../../../annotation-format/centroids.js';
import { ElementBudget, type ElementQuery } from '../../../../annotation-format/element-query.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import type { CentroidReading, ElementAppearance, ElementReading, StoredElements, StoreOptions } from '../element-store.js';
import type { ElementLoader, LoadedPack } from './loader.js';
import { parseAppearances } from './appearances.js';
import { windowPositions } from '../packs/pack-index.js';
import { diagonalLength, type PackColumns } from '../packs/pack.js';
import {
  requireColumns,
  packNumberOf,
  requireText,
  loadTexts,
  rowInPack,
  selectInOrder,
  type Selection,
  type SelectRequest,
} from './select.js';
import { selectSorted } from './select-sorted.js';

/** Approximate size of a chunk in bytes. */
const chunkBytes = 256 * 1024;
const comma = 0x2c;
/** Number of centroids that are made together. */
const centroidsAtOnce = 65_536;
/** If a reader takes longer than this for a chunk, the texts of later chunks are dropped from memory. */
const dropTextsAfterMs = 1000;

function selectElements(request: SelectRequest): AsyncGenerator<Selection, void, undefined> {
  return request.query.sort[0] === '_id' ? selectInOrder(request) : selectSorted(request);
}

/** Makes the first chunk immediately, so that early errors are thrown before the response begins. */
async function makeFirstChunk(chunks: AsyncGenerator<Buffer, void, undefined>): Promise<AsyncGenerator<Buffer, void, undefined>> {
  const firstResult = await chunks.next();
  return (async function* () {
    try {
      if (firstResult.done) return;
      yield firstResult.value;
      yield* chunks;
    } finally {
      await chunks.return(undefined);
    }
  })();
}

/** See ElementStore.read. */
export async function readElements(
  loader: ElementLoader,
  stored: StoredElements,
  query: ElementQuery,
  { signal }: StoreOptions = {},
): Promise<ElementReading> {
  const budget = new ElementBudget(query);
  const reading = { budget, box: null as BoundingBox | null, orders: [] as number[] };
  const selections = selectElements({ loader, stored, query, budget, needsTexts: true, signal });
  const onBox = query.includesBoxes ? (box: BoundingBox) => (reading.box = unionBox(reading.box, box)) : null;
  const reload = (selection: Selection) => loadTexts(loader, [selection], signal);
  const chunks = await makeFirstChunk(makeTextChunks(selections, onBox, query.includesOrders ? reading.orders : null, reload));
  return Object.assign(reading, { chunks });
}

/** Yields a chunk. If the reader is slow, the texts are dropped from memory and loaded again when the reader continues. */
function* yieldChunk(chunk: Buffer, { dropTexts }: Selection): Generator<Buffer, void, undefined> {
  const timer = dropTexts && setTimeout(dropTexts, dropTextsAfterMs).unref();
  try {
    yield chunk;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Joins the texts of the selected elements by commas, and yields them in chunks.
 *
 * @param onBox receives the box of each element, which is then also added to the text as `_bbox`. `null` if no boxes are needed.
 * @param orders receives the original order of each element. `null` if orders are not needed.
 * @param reload loads texts again that have been dropped.
 */
async function* makeTextChunks(
  selections: AsyncIterable<Selection>,
  onBox: ((box: BoundingBox) => void) | null,
  orders: number[] | null,
  reload: (selection: Selection) => Promise<void>,
): AsyncGenerator<Buffer, void, undefined> {
  let chunk = Buffer.allocUnsafeSlow(chunkBytes);
  let filledBytes = 0;
  let isFirst = true;
  for await (const selection of selections) {
    const { windowIndex, packs, members, elementTexts } = selection;
    const offsets: (Float64Array | undefined)[] = [];
    for (let i = 0; i < members.length; i += 1) {
      const member = members[i] as number;
      const packNumber = packNumberOf(member);
      const row = rowInPack(member);
      const pack = packs[packNumber] as LoadedPack;
      const columns = requireColumns(pack);
      orders?.push(windowIndex * windowPositions + (columns.positions[row] as number));
      const elementText = elementTexts?.[i];
      if (elementText === undefined && offsets[packNumber] === undefined) {
        offsets[packNumber] = columns.textOffsets();
        if (isSliceOver()) await nextSlice();
      }
      const starts = offsets[packNumber] ?? [];
      const start = elementText === undefined ? (starts[row] as number) : 0;
      const end = elementText === undefined ? (starts[row + 1] as number) : elementText.length;
      const suffix = onBox === null ? '' : makeBoxSuffix(columns, row, onBox);
      const neededBytes = end - start + 1 + suffix.length;
      if (filledBytes + neededBytes > chunk.length) {
        if (filledBytes > 0) yield* yieldChunk(chunk.subarray(0, filledBytes), selection);
        if (isSliceOver()) await nextSlice();
        // Each chunk gets a new buffer, because the socket may not have sent the previous chunk yet.
        chunk = Buffer.allocUnsafeSlow(Math.max(chunkBytes, neededBytes));
        filledBytes = 0;
      }
      if (!isFirst) {
        chunk[filledBytes] = comma;
        filledBytes += 1;
      }
      isFirst = false;
      if (elementText === undefined && pack.text === null) await reload({ ...selection, members: members.subarray(i) });
      const text = elementText ?? requireText(pack);
      // With a box, the closing brace is left out and is part of the suffix.
      const length = suffix === '' ? end - start : end - start - 1;
      // This takes half the time of Buffer.copy, which matters only in this loop.
      chunk.set(new Uint8Array(text.buffer, text.byteOffset + start, length), filledBytes);
      filledBytes += length;
      if (suffix !== '') filledBytes += chunk.write(suffix, filledBytes, 'latin1');
    }
    // The rest of a selection is sent immediately, because the next selection may take long.
    if (filledBytes > 0) {
      yield* yieldChunk(chunk.subarray(0, filledBytes), selection);
      chunk = Buffer.allocUnsafeSlow(chunkBytes);
      filledBytes = 0;
    }
  }
}

function makeBoxSuffix(columns: PackColumns, row: number, onBox: (box: BoundingBox) => void): string {
  const box = columns.boxAt(row);
  onBox(box);
  const { lowx, lowy, lowz, highx, highy, highz, details, size } = box;
  return `,"_bbox":${JSON.stringify({ lowx, lowy, lowz, highx, highy, highz, details, size })}}`;
}

/** See ElementStore.readCentroids. */
export async function readCentroids(
  loader: ElementLoader,
  stored: StoredElements,
  query: ElementQuery,
  { signal }: StoreOptions = {},
): Promise<CentroidReading> {
  const budget = new ElementBudget(query);
  const props = new CentroidPropTable();
  const selections = selectElements({ loader, stored, query, budget, needsTexts: false, signal });
  return { chunks: await makeFirstChunk(makeCentroidChunks(selections, props)), budget, props };
}

async function* makeCentroidChunks(
  selections: AsyncIterable<Selection>,
  props: CentroidPropTable,
): AsyncGenerator<Buffer, void, undefined> {
  const knownAppearances = new KnownAppearances();
  for await (const { packs, members } of selections) {
    const appearances: (PackAppearances | undefined)[] = Array.from({ length: packs.length });
    for (let start = 0; start < members.length; start += centroidsAtOnce) {
      const memberBatch = members.subarray(start, start + centroidsAtOnce);
      // Appearances get their rows in `props` in the order in which they first occur in the response.
      for (let i = 0; i < memberBatch.length; i += 1) {
        const member = memberBatch[i] as number;
        const packNumber = packNumberOf(member);
        let packAppearances = appearances[packNumber];
        if (packAppearances === undefined) {
          appearances[packNumber] = packAppearances = knownAppearances.findOrAdd(requireColumns(packs[packNumber] as LoadedPack));
          if (isSliceOver()) await nextSlice();
        }
        if (packAppearances.missingRowCount === 0) continue;
        const appearanceIndex = requireColumns(packs[packNumber] as LoadedPack).appearanceIndices[rowInPack(member)] as number;
        if (packAppearances.propRows[appearanceIndex] !== -1) continue;
        packAppearances.propRows[appearanceIndex] = findOrAddPropRow(packAppearances.appearances[appearanceIndex]!, props);
        packAppearances.missingRowCount -= 1;
      }
      if (isSliceOver()) await nextSlice();
      const records = Buffer.allocUnsafeSlow(memberBatch.length * centroidBytes);
      await writeCentroids(records, memberBatch, packs, appearances);
      for (let offset = 0; offset < records.length; offset += chunkBytes) yield records.subarray(offset, offset + chunkBytes);
    }
  }
}

/**
 * Writes records pack by pack. In the order of the members, the reads would jump between the columns of all packs, which takes several
 * times as long.
 */
async function writeCentroids(
  records: Buffer,
  members: Float64Array,
  packs: readonly LoadedPack[],
  appearances: readonly (PackAppearances | undefined)[],
): Promise<void> {
  // This array changes its meaning twice. First it has the number of members of each pack, then the index at which they begin in
  // `memberIndicesByPack`, and finally the index at which they end.
  const ends = new Uint32Array(packs.length);
  for (let i = 0; i < members.length; i += 1) ends[packNumberOf(members[i] as number)]! += 1;
  let sum = 0;
  for (let packNumber = 0; packNumber < ends.length; packNumber += 1) {
    const count = ends[packNumber] as number;
    ends[packNumber] = sum;
    sum += count;
  }
  const memberIndicesByPack = new Uint32Array(members.length);
  for (let i = 0; i < members.length; i += 1) memberIndicesByPack[ends[packNumberOf(members[i] as number)]!++] = i;
  // The methods of a DataView take a quarter of the time of a Buffer's methods.
  const view = new DataView(records.buffer);
  let start = 0;
  for (let packNumber = 0; packNumber < ends.length; packNumber += 1) {
    const end = ends[packNumber] as number;
    if (end === start) continue;
    const columns = requireColumns(packs[packNumber] as LoadedPack);
    writePackCentroids(view, columns, appearances[packNumber]!.propRows, {
      members,
      memberIndices: memberIndicesByPack.subarray(start, end),
    });
    start = end;
    // The loop may pause here, because decoding the columns of a pack takes time.
    if (isSliceOver()) await nextSlice();
  }
}

/**
 * Writes the records of members of one pack. It goes through the rows in order and makes no objects, which takes a tenth of the time.
 *
 * @param selection `memberIndices`: indices of this pack's members in `members`. The record of a member has the same index.
 */
function writePackCentroids(
  view: DataView,
  { count, ids: { high, middle, low }, boxes: { lowx, lowy, highx, highy }, appearanceIndices }: PackColumns,
  propRows: Int32Array,
  { members, memberIndices }: { members: Float64Array; memberIndices: Uint32Array },
): void {
  const memberIndexByRow = new Int32Array(count).fill(-1);
  for (let i = 0; i < memberIndices.length; i += 1) {
    const memberIndex = memberIndices[i] as number;
    memberIndexByRow[rowInPack(members[memberIndex] as number)] = memberIndex;
  }
  for (let row = 0; row < count; row += 1) {
    const memberIndex = memberIndexByRow[row] as number;
    if (memberIndex === -1) continue;
    const offset = memberIndex * centroidBytes;
    view.setUint32(offset, high[row] as number);
    view.setUint32(offset + 4, middle[row] as number);
    view.setUint32(offset + 8, low[row] as number);
    const left = lowx[row] as number;
    const top = lowy[row] as number;
    const right = highx[row] as number;
    const bottom = highy[row] as number;
    // Halves are added, so that the sum of two large numbers does not overflow.
    view.setFloat32(offset + 12, left / 2 + right / 2, true);
    view.setFloat32(offset + 16, top / 2 + bottom / 2, true);
    view.setFloat32(offset + 20, diagonalLength(right - left, bottom - top), true);
    view.setInt32(offset + 24, propRows[appearanceIndices[row] as number] as number, true);
  }
}

/** The appearances of a pack, and their rows in the table `props`. */
interface PackAppearances {
  appearances: ElementAppearance[];
  /** The row of each appearance in `props`. -1 until an element with this appearance is sent. */
  propRows: Int32Array;
  /** Number of appearances that have no row yet. */
  missingRowCount: number;
}

/** Maximum number of parsed lists of appearances to keep. */
const maxKnownLists = 1024;

/** Parses each list of appearances only once, because many packs have the same list. */
class KnownAppearances {
  readonly #byText = new Map<string, PackAppearances>();

  findOrAdd(columns: PackColumns): PackAppearances {
    const text = columns.appearancesJson();
    let existing = this.#byText.get(text);
    if (existing === undefined) {
      const appearances = parseAppearances(text);
      existing = { appearances, propRows: new Int32Array(appearances.length).fill(-1), missingRowCount: appearances.length };
      if (this.#byText.size === maxKnownLists) this.#byText.clear();
      this.#byText.set(text, existing);
    }
    return existing;
  }
}

function findOrAddPropRow(appearance: ElementAppearance, props: CentroidPropTable): number {
  // Elements lack the fields that are `null` in their appearance.
  const presentFields = Object.fromEntries(Object.entries(appearance).filter(([, value]) => value !== null));
  return props.findOrAdd(presentFields as unknown as AnnotationElement);
}
