import type { StoredWindow } from '../element-store.js';
import { boxAround, encodePackIndex, makePackEntry, type PackEntry } from '../packs/pack-index.js';
import { WindowDraft } from './draft.js';
import { updateTable } from './edited-table.js';
import { cellsOf, type ElementCells } from './table-draft.js';
import { parseElement } from '../read/locate.js';
import { addEntriesToPart, decodePart, makeIndexEntry, needsMoreParts, partNumberOf } from '../packs/id-index.js';
import { hashId, type IdMaker } from '../packs/ids.js';
import type { ElementLoader, LoadedWindow } from '../read/loader.js';
import type { PackLayout } from '../packs/pack-layout.js';
import type { PackRows } from '../packs/pack.js';
import { unpackElements, createPack, type PackedElement } from './packed-elements.js';
import { maxPacksWithoutIndex, type WindowWriter } from './window-writer.js';
import { forEachRange, isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';

/** The dependencies of changing a window. */
export interface EditTools {
  loader: ElementLoader;
  writer: WindowWriter;
  ids: IdMaker;
  layout: PackLayout;
  signal: AbortSignal | undefined;
}

/** A change of one existing element: a function that returns the new element, or `null` to remove the element. */
export type ElementChange = ((current: PackedElement) => PackedElement) | null;

/** A window is repacked if its packs contain less than this share of the elements that would fit into them. */
const minFilledShare = 1 / 4;
/** Windows of at most this many packs are not repacked. */
const maxPacksNotRepacked = 8;
const packsPerFetch = 128;
/** Number of elements between checks of the time. */
const elementsAtOnce = 1024;

/** Changes a window. Only the affected packs are written; the other packs are kept. */
export class WindowEdit {
  readonly #packs: PackEntry[];
  readonly #groups: Map<string | null, number>;
  readonly #addedEntries: { id: string; slot: number }[] = [];
  #nextPosition: number;
  #lowId: string;
  #highId: string;

  constructor(
    private readonly tools: EditTools,
    private readonly window: LoadedWindow,
    stored: Pick<StoredWindow, 'lowId' | 'highId'>,
  ) {
    this.#packs = [...window.packs];
    this.#groups = new Map(window.groups);
    this.#nextPosition = window.nextPosition;
    this.#lowId = stored.lowId;
    this.#highId = stored.highId;
  }

  /** Number of elements that can still be added at the end. */
  get capacity(): number {
    return Math.max(0, this.tools.layout.windowElements - this.#nextPosition);
  }

  #adjustGroupCount(group: string | null, change: 1 | -1): void {
    const count = (this.#groups.get(group) ?? 0) + change;
    if (count === 0) this.#groups.delete(group);
    else this.#groups.set(group, count);
  }

  /** Changes existing elements. @param changes the changes by slot of the pack, then by row in the pack. */
  async changeElements(changes: ReadonlyMap<number, ReadonlyMap<number, ElementChange>>): Promise<void> {
    const slots = [...changes.keys()];
    for (let start = 0; start < slots.length; start += packsPerFetch) {
      const slotBatch = slots.slice(start, start + packsPerFetch);
      const packs = await this.tools.loader.loadAndCachePacks(
        slotBatch.map((slot) => this.#packs[slot]!),
        this.tools.signal,
      );
      for (const [i, pack] of packs.entries()) {
        const slot = slotBatch[i] as number;
        const changesByRow = changes.get(slot)!;
        const elements: PackedElement[] = [];
        for (const [row, element] of unpackElements(pack).entries()) {
          const change = changesByRow.get(row);
          if (change === undefined) elements.push(element);
          else {
            this.#adjustGroupCount(element.group, -1);
            if (change === null) continue;
            const newElement = change(element);
            this.#adjustGroupCount(newElement.group, 1);
            elements.push(newElement);
          }
        }
        await this.#replacePack(slot, elements);
        if (isSliceOver()) await nextSlice(this.tools.signal);
      }
    }
  }

  async #replacePack(slot: number, elements: readonly PackedElement[]): Promise<void> {
    if (elements.length === 0) {
      // The slot stays, because the id index refers to later packs by their slots.
      this.#packs[slot] = { ...this.#packs[slot]!, count: 0, detailsCount: 0, textBytes: 0 };
      return;
    }
    const { rows, text } = createPack(elements);
    await this.#storePack(slot, rows, text);
  }

  async #storePack(slot: number, rows: PackRows, text: Buffer): Promise<void> {
    const id = this.tools.ids.make();
    this.#packs[slot] = makePackEntry(id, rows);
    this.tools.loader.cachePack(id, { columns: await this.tools.writer.writePack(id, rows, text), text });
  }

  /** Adds elements at the end and sets their positions. There must be no more elements than {@link capacity}. */
  async append(elements: readonly PackedElement[]): Promise<void> {
    const newElements: PackedElement[] = [];
    let bytes = 0;
    await forEachRange(elements.length, elementsAtOnce, (from, to) => {
      for (const element of elements.slice(from, to)) {
        const { id, group, text } = element;
        newElements.push({ ...element, position: this.#nextPosition++ });
        this.#adjustGroupCount(group, 1);
        if (id < this.#lowId) this.#lowId = id;
        if (id > this.#highId) this.#highId = id;
        bytes += text.length;
      }
    });
    const lastSlot = this.#packs.length - 1;
    const lastPack = this.#packs[lastSlot];
    const { packElements, packTextBytes } = this.tools.layout;
    if (
      lastPack !== undefined &&
      lastPack.count > 0 &&
      lastPack.count + newElements.length <= packElements &&
      lastPack.textBytes + bytes <= packTextBytes
    ) {
      const [pack] = await this.tools.loader.loadAndCachePacks([lastPack], this.tools.signal);
      await this.#replacePack(lastSlot, [...unpackElements(pack!), ...newElements]);
      for (const { id } of newElements) this.#addedEntries.push({ id, slot: lastSlot });
      return;
    }
    const draft = await draftFromElements(newElements, this.tools.layout);
    for await (const { rows, text } of draft.divideIntoPacks()) {
      const slot = this.#packs.length;
      // The draft numbers its elements from 0, in the order in which they were added.
      for (const index of rows.positions) this.#addedEntries.push({ id: newElements[index]!.id, slot });
      rows.positions = rows.positions.map((index) => newElements[index]!.position);
      await this.#storePack(slot, rows, text);
    }
  }

  /** Writes the pack index, the id index and the table. @returns the new window, or `null` if no element is left. */
  async finish(): Promise<StoredWindow | null> {
    const livePacks = this.#packs.filter(({ count }) => count > 0);
    const box = boxAround(livePacks);
    if (box === null) return null;
    const count = livePacks.reduce((sum, pack) => sum + pack.count, 0);
    if (livePacks.length > maxPacksNotRepacked && count < livePacks.length * minFilledShare * this.tools.layout.packElements)
      return this.#repack(livePacks);
    const id = this.tools.ids.make();
    const packIndex = encodePackIndex({ packs: this.#packs, nextPosition: this.#nextPosition });
    const idIndexParts = await this.#writeIdIndex(count);
    const groups = [...this.#groups];
    const tableSegments = await updateTable(this.tools, this.window.tableSegments, livePacks);
    await this.tools.writer.writeWindow({
      id,
      packIndex,
      groups: JSON.stringify(groups),
      idIndexParts,
      tableSegments,
    });
    this.tools.loader.cacheWindow({
      id,
      packs: this.#packs,
      nextPosition: this.#nextPosition,
      groups,
      idIndexParts,
      tableSegments,
    });
    return { id, count, detailsCount: box.details, box, lowId: this.#lowId, highId: this.#highId };
  }

  /** Writes the window again with full packs, because its packs contain few elements. */
  async #repack(livePacks: readonly PackEntry[]): Promise<StoredWindow> {
    await this.tools.writer.finish();
    const elements: PackedElement[] = [];
    for (let start = 0; start < livePacks.length; start += packsPerFetch) {
      const packs = await this.tools.loader.loadPacks(livePacks.slice(start, start + packsPerFetch), 'both', this.tools.signal);
      for (const pack of packs) {
        elements.push(...unpackElements(pack));
        if (isSliceOver()) await nextSlice(this.tools.signal);
      }
    }
    elements.sort((a, b) => a.position - b.position);
    return this.tools.writer.write(await draftFromElements(elements, this.tools.layout, createCellReader(this.tools.signal)));
  }

  async #writeIdIndex(count: number): Promise<string[]> {
    const { idIndexParts } = this.window;
    const { loader, writer } = this.tools;
    if (idIndexParts.length === 0) {
      if (this.#packs.length <= maxPacksWithoutIndex) return [];
      // New packs must be stored before they can be loaded.
      await writer.finish();
      return writer.writeIdIndex(await this.#makeAllEntries());
    }
    if (this.#addedEntries.length === 0) return [...idIndexParts];
    const addedEntries = this.#addedEntries;
    if (needsMoreParts(idIndexParts.length, count)) {
      const stored = await loader.loadIndexParts([...idIndexParts]);
      const entries = [...stored.values()].flatMap((part) => decodePart(part));
      await forEachRange(addedEntries.length, elementsAtOnce, (from, to) => {
        for (const { id, slot } of addedEntries.slice(from, to)) entries.push(makeIndexEntry(hashId(id), slot));
      });
      return writer.writeIdIndex(Float64Array.from(entries));
    }
    const entriesByPart = new Map<number, number[]>();
    await forEachRange(addedEntries.length, elementsAtOnce, (from, to) => {
      for (const { id, slot } of addedEntries.slice(from, to)) {
        const hash = hashId(id);
        const part = partNumberOf(hash, idIndexParts.length);
        const existing = entriesByPart.get(part);
        if (existing === undefined) entriesByPart.set(part, [makeIndexEntry(hash, slot)]);
        else existing.push(makeIndexEntry(hash, slot));
      }
    });
    const newParts = [...idIndexParts];
    const stored = await loader.loadIndexParts([...entriesByPart.keys()].map((part) => idIndexParts[part] as string));
    for (const [part, entries] of entriesByPart) {
      newParts[part] = await writer.writePart(addEntriesToPart(stored.get(idIndexParts[part] as string) as Buffer, entries));
      if (isSliceOver()) await nextSlice(this.tools.signal);
    }
    return newParts;
  }

  async #makeAllEntries(): Promise<Float64Array> {
    const slots = [...this.#packs.keys()].filter((slot) => this.#packs[slot]!.count > 0);
    const packs = await this.tools.loader.loadPacks(
      slots.map((slot) => this.#packs[slot]!),
      'columns',
      this.tools.signal,
    );
    const entries: number[] = [];
    for (const [i, { columns }] of packs.entries()) {
      const slot = slots[i] as number;
      for (let row = 0; row < (columns?.count ?? 0); row += 1) entries.push(makeIndexEntry(hashId(columns!.idAt(row)), slot));
      if (isSliceOver()) await nextSlice(this.tools.signal);
    }
    return Float64Array.from(entries);
  }
}

/** Makes a function that reads the cells of an element from its text. */
export function createCellReader(signal: AbortSignal | undefined): (element: PackedElement) => Promise<ElementCells> {
  return async ({ text, box }) => cellsOf(await parseElement(text, signal), box);
}

/** Makes a draft of elements, in their order. Without `readCells`, the draft has no table. */
export async function draftFromElements(
  elements: readonly PackedElement[],
  layout: PackLayout,
  readCells?: (element: PackedElement) => Promise<ElementCells>,
): Promise<WindowDraft> {
  const draft = new WindowDraft(layout);
  for (const element of elements) {
    const { id, text, box, appearance, group } = element;
    const { buffer, offset } = draft.reserve(text.length);
    text.copy(buffer, offset);
    draft.addWithAppearance(
      { appearance, group, cells: readCells === undefined ? null : await readCells(element) },
      id,
      box,
      text.length,
    );
    if (isSliceOver()) await nextSlice();
  }
  return draft;
}
