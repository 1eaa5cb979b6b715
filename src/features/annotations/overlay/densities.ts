import { crowdOf, defaultGain, type CrowdedWindow } from './draw/density/density-gain.js';
import { DensityCounter } from './draw/density/density.js';
import { GroupColorCounter, type GroupColor } from './draw/group-colors.js';
import type { Drawer } from './drawer.js';
import type { ElementStore, PackMarks, StoredElements, StoredWindow } from '../elements/contract.js';
import { LargeImageError } from '../../../errors.js';
import type { HostLogger } from '../../../host.js';
import { blockId, type AnnotationDensityModel, type BlockAddress, type DensityBlock, type DensityHead } from './density.model.js';
import { WorkQueue } from '../../../core/concurrency/work-queue.js';
import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import { LRUCache } from 'lru-cache';
import { atMost } from '../../../core/concurrency/at-most.js';
import { orAborted } from '../../../tilesource/process/shared-work.js';

/** Annotations with fewer elements have no densities in the database: counting them anew is as quick. */
export const countedAlways = 2048;

/** Heads of windows kept in memory. */
const maxHeads = 10_000;

/** Memory for blocks of densities, bytes: tiles beside one another, and above one another, share them. */
const maxBlockBytes = 16 * 1024 * 1024;

/** How long a request waits for densities that are being made, in milliseconds. */
const patienceMs = 30_000;

/** How long nothing is written before densities are made without being asked for, in milliseconds. */
const quietMs = 1000;

/** What {@link AnnotationDensities} works with. */
export interface AnnotationDensitiesOptions {
  store: Pick<ElementStore, 'marks' | 'idleMs'>;
  model: Pick<AnnotationDensityModel, 'heads' | 'blocks' | 'write' | 'families' | 'keepOnly'>;
  /** Counts windows. */
  drawer: Pick<Drawer, 'countWindow'>;
  logger: HostLogger;
}

/** Densities of stored elements: made once for each window of elements, kept in the database, shared by all versions that share the window. */
export class AnnotationDensities {
  readonly #heads = new LRUCache<string, DensityHead>(atMost(maxHeads));
  /** `null`: there is none at this place. */
  readonly #blocks = new LRUCache<string, { block: DensityBlock | null; bytes: number }>({
    maxSize: maxBlockBytes,
    sizeCalculation: ({ bytes }) => bytes + 256,
  });
  /** Of annotations whose densities are not kept in the database, by content. */
  readonly #small = new LRUCache<string, { crowded: CrowdedWindow[]; groups: GroupColor[] }>(atMost(maxHeads));
  readonly #underWay = new Map<string, Promise<DensityHead>>();
  /** Counting keeps a processor busy; one window at a time leaves room for requests. */
  readonly #making = new WorkQueue({ name: 'densities', running: 1 });
  /** What is to be made when nothing has been written for a while, by family. */
  readonly #planned = new Map<string, StoredElements>();
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(private readonly options: AnnotationDensitiesOptions) {}

  /**
   * Makes what is missing, without anybody waiting for it, when nothing has been written to any annotation for a while: of many
   * writes that follow one another, only after the last.
   */
  prepare(stored: StoredElements): void {
    if (stored.count < countedAlways || this.#closed) return;
    this.#planned.set(stored.family, stored);
    this.#schedule();
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#makePlanned();
    }, quietMs).unref();
  }

  /** One window after the other, so that a request has to wait for one of them at most, and so does a write. */
  async #makePlanned(): Promise<void> {
    for (const [family, stored] of this.#planned) {
      try {
        await this.#readHeads(stored);
        for (const window of stored.windows) {
          if (this.#closed) return;
          if (this.#heads.has(window.id)) continue;
          if (this.options.store.idleMs < quietMs) return this.#schedule();
          await this.#made(stored, window);
        }
      } catch (err) {
        if (!this.#closed) this.options.logger.warn({ err, family }, 'Annotation:Density:Failed');
      }
      // Unless it was written again meanwhile.
      if (this.#planned.get(family) === stored) this.#planned.delete(family);
    }
  }

  /**
   * Heads of all windows, in their order; made where they are missing.
   *
   * @throws LargeImageError `unavailable` when that takes longer than a request should wait; it goes on meanwhile.
   */
  async heads(stored: StoredElements, options: { signal?: AbortSignal | undefined } = {}): Promise<DensityHead[]> {
    const heads = this.#allHeads(stored);
    let timer: NodeJS.Timeout | undefined;
    const impatience = new Promise<never>((_resolve, reject) => {
      const message = 'The overlay of this annotation is being prepared. Ask again in a moment.';
      timer = setTimeout(() => reject(new LargeImageError('unavailable', message)), patienceMs);
    });
    try {
      return await orAborted(Promise.race([heads, impatience]), options.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  async #readHeads(stored: StoredElements): Promise<void> {
    const unknown = stored.windows.map(({ id }) => id).filter((id) => !this.#heads.has(id));
    if (unknown.length > 0) for (const head of await this.options.model.heads(unknown)) this.#heads.set(head.window, head);
  }

  async #allHeads(stored: StoredElements): Promise<DensityHead[]> {
    await this.#readHeads(stored);
    return Promise.all(stored.windows.map(async (window) => this.#heads.get(window.id) ?? this.#made(stored, window)));
  }

  #made(stored: StoredElements, window: StoredWindow): Promise<DensityHead> {
    let making = this.#underWay.get(window.id);
    if (making === undefined) {
      making = this.#making.run(() => this.#make(stored, window)).finally(() => this.#underWay.delete(window.id));
      this.#underWay.set(window.id, making);
    }
    return making;
  }

  async #make(stored: StoredElements, window: StoredWindow): Promise<DensityHead> {
    const { store, model, drawer } = this.options;
    // The window by itself: a value that the store knows how to read as it knows the whole.
    const alone: StoredElements = {
      ...stored,
      count: window.count,
      detailsCount: window.detailsCount,
      box: window.box,
      windows: [window],
    };
    const packs: PackMarks[] = [];
    for await (const marks of store.marks(alone)) {
      packs.push(marks);
      if (isSliceOver()) await nextSlice();
    }
    if (this.#closed) throw new LargeImageError('unavailable', 'The installation is closing.');
    const { blocks, ...counted } = await drawer.countWindow(packs);
    const head: DensityHead = { window: window.id, family: stored.family, ...counted };
    await model.write(head, blocks);
    this.#heads.set(window.id, head);
    return head;
  }

  /** The gain at which a level looks right; see {@link defaultGain}. */
  async gain(stored: StoredElements, level: number, options: { signal?: AbortSignal | undefined } = {}): Promise<number> {
    if (stored.count >= countedAlways) {
      const heads = await this.heads(stored, options);
      return defaultGain(
        stored.windows.map(({ box }, i) => ({ box, crowds: heads[i]?.crowds ?? [] })),
        level,
      );
    }
    return defaultGain((await this.#countSmall(stored, options)).crowded, level);
  }

  /** How many elements each group has in which color. @throws as {@link heads}. */
  async groups(stored: StoredElements, options: { signal?: AbortSignal | undefined } = {}): Promise<GroupColor[]> {
    if (stored.count < countedAlways) return (await this.#countSmall(stored, options)).groups;
    const counter = new GroupColorCounter();
    for (const { groups } of await this.heads(stored, options)) counter.addAll(groups);
    return counter.counted;
  }

  async #countSmall(stored: StoredElements, { signal }: { signal?: AbortSignal | undefined }) {
    const known = this.#small.get(stored.content);
    if (known !== undefined) return known;
    const counter = new DensityCounter();
    const colors = new GroupColorCounter();
    for await (const marks of this.options.store.marks(stored, { ...(signal && { signal }) })) {
      counter.add(marks);
      colors.add(marks);
    }
    const crowds = Array.from(counter.pyramid(), (counted) => crowdOf(counted, counter.classes));
    const counted = { crowded: stored.box === null ? [] : [{ box: stored.box, crowds }], groups: colors.counted };
    this.#small.set(stored.content, counted);
    return counted;
  }

  /** The blocks of these windows, whose densities have been made, that are there. */
  async blocks(addresses: readonly BlockAddress[]): Promise<DensityBlock[]> {
    const blocks = new Map(addresses.map((address) => [blockId(address), this.#blocks.get(blockId(address))?.block]));
    const missing = addresses.filter((address) => blocks.get(blockId(address)) === undefined);
    if (missing.length > 0) {
      const found = new Map((await this.options.model.blocks(missing)).map((block) => [blockId(block), block]));
      for (const id of missing.map(blockId)) {
        const block = found.get(id) ?? null;
        blocks.set(id, block);
        this.#blocks.set(id, { block, bytes: block?.tiles.reduce((sum, tile) => sum + tile.length, 0) ?? 0 });
      }
    }
    return [...blocks.values()].filter((block) => block !== null && block !== undefined);
  }

  /**
   * Removes densities of windows that no head refers to any more; to be called after the element store has swept.
   *
   * @param heads the stored elements of all heads of a family.
   * @param families only these. Default: all.
   */
  async sweep(heads: (family: string) => AsyncIterable<StoredElements>, families?: Iterable<string>): Promise<number> {
    let removed = 0;
    for (const family of families ?? (await this.options.model.families())) {
      removed += await this.options.model.keepOnly(family, async () => {
        const windows = new Set<string>();
        for await (const { windows: listed } of heads(family)) for (const { id } of listed) windows.add(id);
        return windows;
      });
    }
    if (removed > 0) {
      this.#heads.clear();
      this.#blocks.clear();
    }
    return removed;
  }

  /** Ends what is under way. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await Promise.allSettled(this.#underWay.values());
  }
}
