import { unionBox, type BoundingBox } from '../../../../annotation-format/bounding-box.js';
import { CentroidPropTable, centroidBytes, writePositionAndAppearance } from '../../../../annotation-format/centroids.js';
import { ElementBudget, type ElementQuery } from '../../../../annotation-format/element-query.js';
import type { AnnotationElement } from '../../../../annotation-format/schema/document.js';
import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import type { CentroidReading, ElementAppearance, ElementReading, StoredElements, StoreOptions } from '../element-store.js';
import type { ElementLoader, LoadedPack } from './loader.js';
import { parseAppearances } from './appearances.js';
import { windowPositions } from '../packs/pack-index.js';
import { diagonal, type PackColumns } from '../packs/pack.js';
import {
  columnsOf,
  packOf,
  packText,
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
/** Texts are kept in memory for this time in milliseconds while the reader consumes a chunk. */
const patienceMs = 1000;

function select(request: SelectRequest): AsyncGenerator<Selection, void, undefined> {
  return request.query.sort[0] === '_id' ? selectInOrder(request) : selectSorted(request);
}

/** Makes the first chunk at once, so that early errors occur before the answer begins. */
async function begun(chunks: AsyncGenerator<Buffer, void, undefined>): Promise<AsyncGenerator<Buffer, void, undefined>> {
  const first = await chunks.next();
  return (async function* () {
    try {
      if (first.done) return;
      yield first.value;
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
  const selections = select({ loader, stored, query, budget, texts: true, signal });
  const onBox = query.bbox ? (box: BoundingBox) => (reading.box = unionBox(reading.box, box)) : null;
  const reload = (selection: Selection) => loadTexts(loader, selection, signal);
  const chunks = await begun(textChunks(selections, onBox, query.orders ? reading.orders : null, reload));
  return Object.assign(reading, { chunks });
}

/** Yields a chunk. If the reader is slow, the texts are dropped from memory and loaded again when it continues. */
function* handOver(chunk: Buffer, { letGo }: Selection): Generator<Buffer, void, undefined> {
  const timer = letGo && setTimeout(letGo, patienceMs).unref();
  try {
    yield chunk;
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The texts of the selected elements, joined by commas, in chunks.
 *
 * @param onBox receives the box of each element, which is then also added to the text as `_bbox`; `null`: no boxes are added.
 * @param orders receives the original order of each element; `null` if it is not needed.
 * @param reload loads texts that have been dropped.
 */
async function* textChunks(
  selections: AsyncIterable<Selection>,
  onBox: ((box: BoundingBox) => void) | null,
  orders: number[] | null,
  reload: (selection: Selection) => Promise<void>,
): AsyncGenerator<Buffer, void, undefined> {
  let chunk = Buffer.allocUnsafeSlow(chunkBytes);
  let filled = 0;
  let isFirst = true;
  for await (const selection of selections) {
    const { window, packs, members, cut } = selection;
    const offsets: (Float64Array | undefined)[] = [];
    for (let i = 0; i < members.length; i += 1) {
      const member = members[i] as number;
      const index = packOf(member);
      const at = rowInPack(member);
      const pack = packs[index] as LoadedPack;
      const columns = columnsOf(pack);
      orders?.push(window * windowPositions + (columns.positions[at] as number));
      const cutText = cut?.[i];
      if (cutText === undefined && offsets[index] === undefined) {
        offsets[index] = columns.offsets();
        if (isSliceOver()) await nextSlice();
      }
      const starts = offsets[index] ?? [];
      const start = cutText === undefined ? (starts[at] as number) : 0;
      const end = cutText === undefined ? (starts[at + 1] as number) : cutText.length;
      const suffix = onBox === null ? '' : boxSuffix(columns, at, onBox);
      const needed = end - start + 1 + suffix.length;
      if (filled + needed > chunk.length) {
        if (filled > 0) yield* handOver(chunk.subarray(0, filled), selection);
        if (isSliceOver()) await nextSlice();
        // Each chunk gets a new buffer, because the socket may not have sent the previous one yet.
        chunk = Buffer.allocUnsafeSlow(Math.max(chunkBytes, needed));
        filled = 0;
      }
      if (!isFirst) {
        chunk[filled] = comma;
        filled += 1;
      }
      isFirst = false;
      if (cutText === undefined && pack.text === null) await reload({ ...selection, members: members.subarray(i) });
      const text = cutText ?? packText(pack);
      // With a box, the closing brace is left out and is part of the suffix.
      const length = suffix === '' ? end - start : end - start - 1;
      // This takes half the time of Buffer.copy, which matters only in this loop.
      chunk.set(new Uint8Array(text.buffer, text.byteOffset + start, length), filled);
      filled += length;
      if (suffix !== '') filled += chunk.write(suffix, filled, 'latin1');
    }
    // The rest of a selection is sent at once, because the next selection may take long.
    if (filled > 0) {
      yield* handOver(chunk.subarray(0, filled), selection);
      chunk = Buffer.allocUnsafeSlow(chunkBytes);
      filled = 0;
    }
  }
}

function boxSuffix(columns: PackColumns, at: number, onBox: (box: BoundingBox) => void): string {
  const box = columns.boxAt(at);
  onBox(box);
  const { lowx, lowy, lowz, highx, highy, highz, details, size } = box;
  return `,"_bbox":${JSON.stringify({ lowx, lowy, lowz, highx, highy, highz, details, size })}}`;
}

/** See ElementStore.centroids. */
export async function readCentroids(
  loader: ElementLoader,
  stored: StoredElements,
  query: ElementQuery,
  { signal }: StoreOptions = {},
): Promise<CentroidReading> {
  const budget = new ElementBudget(query);
  const props = new CentroidPropTable();
  const selections = select({ loader, stored, query, budget, texts: false, signal });
  return { chunks: await begun(centroidChunks(selections, props)), budget, props };
}

async function* centroidChunks(
  selections: AsyncIterable<Selection>,
  props: CentroidPropTable,
): AsyncGenerator<Buffer, void, undefined> {
  const most = Math.floor(chunkBytes / centroidBytes);
  const appearances = new KnownAppearances();
  for await (const { packs, members } of selections) {
    const drawn: (PackCentroids | undefined)[] = Array.from({ length: packs.length });
    for (let start = 0; start < members.length; start += most) {
      const end = Math.min(members.length, start + most);
      const chunk = Buffer.allocUnsafeSlow((end - start) * centroidBytes);
      // Its methods take a quarter of the time of those of a buffer.
      const view = new DataView(chunk.buffer);
      for (let i = start; i < end; i += 1) {
        const member = members[i] as number;
        const index = packOf(member);
        let pack = drawn[index];
        if (pack === undefined) {
          const columns = columnsOf(packs[index] as LoadedPack);
          drawn[index] = pack = new PackCentroids(columns, appearances.of(columns));
          // Decoding the columns of a pack takes time.
          if (isSliceOver()) await nextSlice();
        }
        pack.write(rowInPack(member), view, (i - start) * centroidBytes, props);
      }
      yield chunk;
      if (isSliceOver()) await nextSlice();
    }
  }
}

/** The appearances of a pack. */
interface PackAppearances {
  appearances: ElementAppearance[];
  /** Rows of `props`; -1 where an appearance has not been met yet, because rows are in the order in which they are met. */
  rows: Int32Array;
}

/** Most lists of appearances that are kept. */
const mostKnown = 1024;

/** The appearances of packs. Many packs have the same ones. */
class KnownAppearances {
  readonly #known = new Map<string, PackAppearances>();

  of(columns: PackColumns): PackAppearances {
    const text = columns.appearancesText();
    let known = this.#known.get(text);
    if (known === undefined) {
      const appearances = parseAppearances(text);
      known = { appearances, rows: new Int32Array(appearances.length).fill(-1) };
      if (this.#known.size === mostKnown) this.#known.clear();
      this.#known.set(text, known);
    }
    return known;
  }
}

/** The centroids of a pack. */
class PackCentroids {
  readonly #ids: PackColumns['ids'];
  readonly #boxes: PackColumns['boxes'];
  readonly #appearanceIndices: Float64Array;

  constructor(
    columns: PackColumns,
    private readonly appearances: PackAppearances,
  ) {
    this.#ids = columns.ids;
    this.#boxes = columns.boxes;
    this.#appearanceIndices = columns.appearanceIndices;
  }

  write(at: number, view: DataView, offset: number, props: CentroidPropTable): void {
    const { high, middle, low } = this.#ids;
    const { lowx: lows, lowy: tops, highx: highs, highy: bottoms } = this.#boxes;
    const { rows, appearances } = this.appearances;
    const appearance = this.#appearanceIndices[at] as number;
    if (rows[appearance] === -1) rows[appearance] = rowOf(appearances[appearance]!, props);
    view.setUint32(offset, high[at] as number);
    view.setUint32(offset + 4, middle[at] as number);
    view.setUint32(offset + 8, low[at] as number);
    const lowx = lows[at] as number;
    const lowy = tops[at] as number;
    const highx = highs[at] as number;
    const highy = bottoms[at] as number;
    const box = { lowx, lowy, highx, highy, size: diagonal(highx - lowx, highy - lowy) };
    writePositionAndAppearance(view, offset, box, rows[appearance] as number);
  }
}

function rowOf(appearance: ElementAppearance, props: CentroidPropTable): number {
  // Fields that are null are missing in the element.
  const given = Object.fromEntries(Object.entries(appearance).filter(([, value]) => value !== null));
  return props.indexOf(given as unknown as AnnotationElement);
}
