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
import { findCandidatePacks, requireColumns, packNumberOf, requireText, rowInPack, selectInOrder } from './select.js';

/** See ElementStore.scan. */
export async function* scanElements(
  loader: ElementLoader,
  stored: StoredElements,
  options: ScanOptions = {},
): AsyncGenerator<ScannedElement, void, undefined> {
  for await (const { text, box, order } of scanElementTexts(loader, stored, options)) {
    yield { element: await parseElement(text, options.signal), box, order };
  }
}

/** See ElementStore.scanTexts. */
export async function* scanElementTexts(
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
  const request = { loader, stored, query, budget: new ElementBudget(query), needsTexts: true, signal };
  for await (const { windowIndex, packs, members } of selectInOrder(request)) {
    const offsets: (Float64Array | undefined)[] = [];
    const appearances: (ElementAppearance[] | undefined)[] = [];
    for (const member of members) {
      const packNumber = packNumberOf(member);
      const row = rowInPack(member);
      const pack = packs[packNumber] as LoadedPack;
      const columns = requireColumns(pack);
      if (isSliceOver()) await nextSlice(signal);
      const starts = (offsets[packNumber] ??= columns.textOffsets());
      const appearance = (appearances[packNumber] ??= columns.appearances())[columns.appearanceIndices[row] as number]!;
      yield {
        type: appearance.type,
        group: appearance.group,
        text: requireText(pack).subarray(starts[row], starts[row + 1]),
        box: columns.boxAt(row),
        order: windowIndex * windowPositions + (columns.positions[row] as number),
      };
    }
  }
}

function summaryOf({ id, count, detailsCount, box }: PackEntry, windowIndex: number): PackSummary {
  return { id, count, detailsCount, box, windowIndex };
}

/** See ElementStore.listPackSummaries. */
export async function listPackSummaries(
  loader: ElementLoader,
  stored: StoredElements,
  { conditions = [], signal }: ScanOptions = {},
): Promise<PackSummary[]> {
  const windows = await loader.loadAllWindows(stored, signal);
  return windows.flatMap((window, windowIndex) =>
    findCandidatePacks(window, conditions).map((entry) => summaryOf(entry, windowIndex)),
  );
}

/** See ElementStore.loadPackMarks. */
export async function* loadPackMarks(
  loader: ElementLoader,
  stored: StoredElements,
  options: ScanOptions & { packs?: readonly PackSummary[] } = {},
): AsyncGenerator<PackMarks, void, undefined> {
  const summaries = options.packs ?? (await listPackSummaries(loader, stored, options));
  let nextPacks: Promise<LoadedPack[]> | null = null;
  const startLoading = (start: number) => {
    const packs = loadPacksOfWindow(loader, stored, summaries.slice(start, endOfWindow(summaries, start)), options.signal);
    packs.catch(() => undefined);
    return packs;
  };
  for (let start = 0; start < summaries.length;) {
    const packs = await (nextPacks ?? startLoading(start));
    const end = endOfWindow(summaries, start);
    nextPacks = end < summaries.length ? startLoading(end) : null;
    for (const [i, pack] of packs.entries()) yield marksOf(summaries[start + i] as PackSummary, pack);
    start = end;
  }
}

/** Finds the index of the first pack of the next window. */
function endOfWindow(summaries: readonly PackSummary[], start: number): number {
  let end = start + 1;
  while (end < summaries.length && summaries[end]!.windowIndex === summaries[start]!.windowIndex) end += 1;
  return end;
}

/** Loads packs of one window, without their texts. */
async function loadPacksOfWindow(
  loader: ElementLoader,
  stored: StoredElements,
  summaries: readonly PackSummary[],
  signal: AbortSignal | undefined,
): Promise<LoadedPack[]> {
  const [window] = await loader.loadWindows([stored.windows[summaries[0]!.windowIndex]!], signal);
  // `textBytes` does not matter, because texts are not loaded.
  const packs = summaries.map((summary) => ({ ...summary, textBytes: 0 }));
  return loader.loadPacksWithColumns([{ window: window!, packs }], signal);
}

function marksOf(summary: PackSummary, pack: LoadedPack): PackMarks {
  const columns = requireColumns(pack);
  const { lowx, lowy, highx, highy } = columns.boxes;
  const boxes = new Float64Array(columns.count * 4);
  for (let row = 0; row < columns.count; row += 1) {
    boxes[row * 4] = lowx[row] as number;
    boxes[row * 4 + 1] = lowy[row] as number;
    boxes[row * 4 + 2] = highx[row] as number;
    boxes[row * 4 + 3] = highy[row] as number;
  }
  return {
    summary,
    boxes,
    orders: columns.positions.map((position) => summary.windowIndex * windowPositions + position),
    appearanceIndices: Uint32Array.from(columns.appearanceIndices),
    appearances: columns.appearances(),
  };
}
