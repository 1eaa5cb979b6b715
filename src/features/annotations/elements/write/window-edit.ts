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
import { itemsOf, packOfItems, type PackItem } from './pack-items.js';
import { packsWithoutIndex, type WindowWriter } from './window-writer.js';
import { forEachRange, isSliceOver, nextSlice } from '../../../../core/concurrency/slices.js';

/** The dependencies of changing a window. */
export interface EditTools {
  loader: ElementLoader;
  writer: WindowWriter;
  ids: IdMaker;
  layout: PackLayout;
  signal: AbortSignal | undefined;
}

/** A change of one existing element: its new value, or `null` to remove it. */
export type ItemChange = ((old: PackItem) => PackItem) | null;

/** A window of more than {@link minRepackedPacks} packs is repacked if it has less than this share of the elements that fit into them. */
const minFilledShare = 1 / 4;
const minRepackedPacks = 8;
const packsPerFetch = 128;
/** Number of elements between checks of the time. */
const elementsAtOnce = 1024;

/** A window that is being changed: only the affected packs are written, the others stay unchanged. */
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

  #addToGroup(group: string | null, change: 1 | -1): void {
    const count = (this.#groups.get(group) ?? 0) + change;
    if (count === 0) this.#groups.delete(group);
    else this.#groups.set(group, count);
  }

  /** Changes elements of packs. @param changes by slot of the pack, then by row in the pack. */
  async change(changes: ReadonlyMap<number, ReadonlyMap<number, ItemChange>>): Promise<void> {
    const slots = [...changes.keys()];
    for (let start = 0; start < slots.length; start += packsPerFetch) {
      const group = slots.slice(start, start + packsPerFetch);
      const packs = await this.tools.loader.loadAndCachePacks(
        group.map((slot) => this.#packs[slot]!),
        this.tools.signal,
      );
      for (const [i, pack] of packs.entries()) {
        const slot = group[i] as number;
        const changesByRow = changes.get(slot)!;
        const items: PackItem[] = [];
        for (const [at, item] of itemsOf(pack).entries()) {
          const edit = changesByRow.get(at);
          if (edit === undefined) items.push(item);
          else {
            this.#addToGroup(item.group, -1);
            if (edit === null) continue;
            const changed = edit(item);
            this.#addToGroup(changed.group, 1);
            items.push(changed);
          }
        }
        await this.#replacePack(slot, items);
        if (isSliceOver()) await nextSlice(this.tools.signal);
      }
    }
  }

  async #replacePack(slot: number, items: readonly PackItem[]): Promise<void> {
    if (items.length === 0) {
      // The slot stays, because the id index refers to the packs after it.
      this.#packs[slot] = { ...this.#packs[slot]!, count: 0, detailsCount: 0, textBytes: 0 };
      return;
    }
    const { rows, text } = packOfItems(items);
    await this.#storePack(slot, rows, text);
  }

  async #storePack(slot: number, rows: PackRows, text: Buffer): Promise<void> {
    const id = this.tools.ids.make();
    this.#packs[slot] = makePackEntry(id, rows);
    this.tools.loader.cachePack(id, { columns: await this.tools.writer.writePack(id, rows, text), text });
  }

  /** Adds elements at the end and sets their positions. There must be {@link capacity}. */
  async append(items: readonly PackItem[]): Promise<void> {
    const positioned: PackItem[] = [];
    let bytes = 0;
    await forEachRange(items.length, elementsAtOnce, (from, to) => {
      for (const item of items.slice(from, to)) {
        const { id, group, text } = item;
        positioned.push({ ...item, position: this.#nextPosition++ });
        this.#addToGroup(group, 1);
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
      lastPack.count + positioned.length <= packElements &&
      lastPack.textBytes + bytes <= packTextBytes
    ) {
      const [pack] = await this.tools.loader.loadAndCachePacks([lastPack], this.tools.signal);
      await this.#replacePack(lastSlot, [...itemsOf(pack!), ...positioned]);
      for (const { id } of positioned) this.#addedEntries.push({ id, slot: lastSlot });
      return;
    }
    const draft = await draftFromItems(positioned, this.tools.layout);
    for await (const { rows, text } of draft.packs()) {
      const slot = this.#packs.length;
      // The draft numbers its elements from 0, in the order in which they were added.
      for (const at of rows.positions) this.#addedEntries.push({ id: positioned[at]!.id, slot });
      rows.positions = rows.positions.map((at) => positioned[at]!.position);
      await this.#storePack(slot, rows, text);
    }
  }

  /** Writes pack index and id index. @returns the new window; `null` if no element is left. */
  async finish(): Promise<StoredWindow | null> {
    const live = this.#packs.filter(({ count }) => count > 0);
    const box = boxAround(live);
    if (box === null) return null;
    const count = live.reduce((sum, pack) => sum + pack.count, 0);
    if (live.length > minRepackedPacks && count < live.length * minFilledShare * this.tools.layout.packElements)
      return this.#repack(live);
    const id = this.tools.ids.make();
    const packIndex = encodePackIndex({ packs: this.#packs, nextPosition: this.#nextPosition });
    const idIndexParts = await this.#writeIndex(count);
    const groups = [...this.#groups];
    const tableSegments = await updateTable(this.tools, this.window.tableSegments, live);
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

  /** Merges packs that have become sparse. */
  async #repack(live: readonly PackEntry[]): Promise<StoredWindow> {
    await this.tools.writer.finish();
    const items: PackItem[] = [];
    for (let start = 0; start < live.length; start += packsPerFetch) {
      const packs = await this.tools.loader.loadPacks(live.slice(start, start + packsPerFetch), 'both', this.tools.signal);
      for (const pack of packs) {
        items.push(...itemsOf(pack));
        if (isSliceOver()) await nextSlice(this.tools.signal);
      }
    }
    items.sort((a, b) => a.position - b.position);
    return this.tools.writer.write(await draftFromItems(items, this.tools.layout, cellsOfItem(this.tools.signal)));
  }

  async #writeIndex(count: number): Promise<string[]> {
    const { idIndexParts } = this.window;
    const { loader, writer } = this.tools;
    if (idIndexParts.length === 0) {
      if (this.#packs.length <= packsWithoutIndex) return [];
      // Some of the packs are new, and must be stored before they can be loaded.
      await writer.finish();
      return writer.writeIndex(await this.#allEntries());
    }
    if (this.#addedEntries.length === 0) return [...idIndexParts];
    const added = this.#addedEntries;
    if (needsMoreParts(idIndexParts.length, count)) {
      const stored = await loader.loadIndexParts([...idIndexParts]);
      const entries = [...stored.values()].flatMap((part) => decodePart(part));
      await forEachRange(added.length, elementsAtOnce, (from, to) => {
        for (const { id, slot } of added.slice(from, to)) entries.push(makeIndexEntry(hashId(id), slot));
      });
      return writer.writeIndex(Float64Array.from(entries));
    }
    const byPart = new Map<number, number[]>();
    await forEachRange(added.length, elementsAtOnce, (from, to) => {
      for (const { id, slot } of added.slice(from, to)) {
        const hash = hashId(id);
        const part = partNumberOf(hash, idIndexParts.length);
        const existing = byPart.get(part);
        if (existing === undefined) byPart.set(part, [makeIndexEntry(hash, slot)]);
        else existing.push(makeIndexEntry(hash, slot));
      }
    });
    const newIndex = [...idIndexParts];
    const stored = await loader.loadIndexParts([...byPart.keys()].map((part) => idIndexParts[part] as string));
    for (const [part, entries] of byPart) {
      newIndex[part] = await writer.writePart(addEntriesToPart(stored.get(idIndexParts[part] as string) as Buffer, entries));
      if (isSliceOver()) await nextSlice(this.tools.signal);
    }
    return newIndex;
  }

  async #allEntries(): Promise<Float64Array> {
    const slots = [...this.#packs.keys()].filter((slot) => this.#packs[slot]!.count > 0);
    const packs = await this.tools.loader.loadPacks(
      slots.map((slot) => this.#packs[slot]!),
      'columns',
      this.tools.signal,
    );
    const entries: number[] = [];
    for (const [i, { columns }] of packs.entries()) {
      const slot = slots[i] as number;
      for (let at = 0; at < (columns?.count ?? 0); at += 1) entries.push(makeIndexEntry(hashId(columns!.idAt(at)), slot));
      if (isSliceOver()) await nextSlice(this.tools.signal);
    }
    return Float64Array.from(entries);
  }
}

/** Reads the cells of items from their texts. */
export function cellsOfItem(signal: AbortSignal | undefined): (item: PackItem) => Promise<ElementCells> {
  return async ({ text, box }) => cellsOf(await parseElement(text, signal), box);
}

/** A draft of items in their order. Without `cellsIn` it has no table. */
export async function draftFromItems(
  items: readonly PackItem[],
  layout: PackLayout,
  cellsIn?: (item: PackItem) => Promise<ElementCells>,
): Promise<WindowDraft> {
  const draft = new WindowDraft(layout);
  for (const item of items) {
    const { id, text, box, appearance, group } = item;
    const { buffer, at } = draft.reserve(text.length);
    text.copy(buffer, at);
    draft.addWithAppearance(
      { appearance, group, cells: cellsIn === undefined ? null : await cellsIn(item) },
      id,
      box,
      text.length,
    );
    if (isSliceOver()) await nextSlice();
  }
  return draft;
}
