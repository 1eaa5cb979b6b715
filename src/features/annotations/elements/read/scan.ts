import { ElementBudget, type ElementQuery } from '../../../../annotation-format/element-query.js';
import { isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';
import type {
  ElementAppearance,
  ElementText,
  PackMarks,
  PackSummary,
  ScannedElement,
  ScanOptions,
  StoredElements,
} from '../element-store.js';
import { windowPositions, type PackEntry } from '../packs/pack-index.js';
import type { ElementLoader, LoadedPack } from './loader.js';
import { parseElement } from './locate.js';
import { candidatePacks, packColumns, packOf, packText, rowInPack, selectInOrder } from './select.js';

/** See ElementStore.scan. */
export async function* scanElements(
  loader: ElementLoader,
  stored: StoredElements,
  options: ScanOptions = {},
): AsyncGenerator<ScannedElement, void, undefined> {
  for await (const { text, box, order } of elementTexts(loader, stored, options)) {
    yield { element: await parseElement(text, options.signal), box, order };
  }
}

/** See ElementStore.texts. */
export async function* elementTexts(
  loader: ElementLoader,
  stored: StoredElements,
  { conditions = [], signal }: ScanOptions = {},
): AsyncGenerator<ElementText, void, undefined> {
  const query: ElementQuery = {
    conditions,
    sort: ['_id', 1],
    offset: 0,
    limit: 0,
    maxDetails: 0,
    minElements: 0,
    asCentroids: false,
    includesBoxes: false,
    includesOrders: false,
  };
  const request = { loader, stored, query, budget: new ElementBudget(query), texts: true, signal };
  for await (const { window, packs, members } of selectInOrder(request)) {
    const offsets: (Float64Array | undefined)[] = [];
    const appearances: (ElementAppearance[] | undefined)[] = [];
    for (const member of members) {
      const index = packOf(member);
      const at = rowInPack(member);
      const pack = packs[index] as LoadedPack;
      const columns = packColumns(pack);
      if (isSliceOver()) await nextSlice(signal);
      const starts = (offsets[index] ??= columns.textOffsets());
      const appearance = (appearances[index] ??= columns.appearances())[columns.appearanceIndices[at] as number]!;
      yield {
        type: appearance.type,
        group: appearance.group,
        text: packText(pack).subarray(starts[at], starts[at + 1]),
        box: columns.boxAt(at),
        order: window * windowPositions + (columns.positions[at] as number),
      };
    }
  }
}

function summaryOf({ id, count, detailsCount, box }: PackEntry, window: number): PackSummary {
  return { id, count, detailsCount, box, window };
}

/** See ElementStore.summaries. */
export async function packSummaries(
  loader: ElementLoader,
  stored: StoredElements,
  { conditions = [], signal }: ScanOptions = {},
): Promise<PackSummary[]> {
  const windows = await loader.allWindows(stored, signal);
  return windows.flatMap((window, number) => candidatePacks(window, conditions).map((entry) => summaryOf(entry, number)));
}

/** See ElementStore.marks. */
export async function* packMarks(
  loader: ElementLoader,
  stored: StoredElements,
  options: ScanOptions & { packs?: readonly PackSummary[] } = {},
): AsyncGenerator<PackMarks, void, undefined> {
  const summaries = options.packs ?? (await packSummaries(loader, stored, options));
  let ahead: Promise<LoadedPack[]> | null = null;
  const fetchFrom = (start: number) => {
    const packs = packsOfWindow(loader, stored, summaries.slice(start, endOfWindow(summaries, start)), options.signal);
    packs.catch(() => undefined);
    return packs;
  };
  for (let start = 0; start < summaries.length;) {
    const packs = await (ahead ?? fetchFrom(start));
    const end = endOfWindow(summaries, start);
    ahead = end < summaries.length ? fetchFrom(end) : null;
    for (const [i, pack] of packs.entries()) yield marksOf(summaries[start + i] as PackSummary, pack);
    start = end;
  }
}

/** Index of the first pack of the next window. */
function endOfWindow(summaries: readonly PackSummary[], start: number): number {
  let end = start + 1;
  while (end < summaries.length && summaries[end]!.window === summaries[start]!.window) end += 1;
  return end;
}

/** The columns of packs of one window. */
async function packsOfWindow(
  loader: ElementLoader,
  stored: StoredElements,
  summaries: readonly PackSummary[],
  signal: AbortSignal | undefined,
): Promise<LoadedPack[]> {
  const [window] = await loader.windows([stored.windows[summaries[0]!.window]!], signal);
  // The number of bytes does not matter, because texts are not loaded.
  const packs = summaries.map((summary) => ({ ...summary, textBytes: 0 }));
  return loader.packsWithColumns([{ window: window!, packs }], signal);
}

function marksOf(summary: PackSummary, pack: LoadedPack): PackMarks {
  const columns = packColumns(pack);
  const { lowx, lowy, highx, highy } = columns.boxes;
  const boxes = new Float64Array(columns.count * 4);
  for (let at = 0; at < columns.count; at += 1) {
    boxes[at * 4] = lowx[at] as number;
    boxes[at * 4 + 1] = lowy[at] as number;
    boxes[at * 4 + 2] = highx[at] as number;
    boxes[at * 4 + 3] = highy[at] as number;
  }
  return {
    summary,
    boxes,
    orders: columns.positions.map((position) => summary.window * windowPositions + position),
    appearanceIndices: Uint32Array.from(columns.appearanceIndices),
    appearances: columns.appearances(),
  };
}
