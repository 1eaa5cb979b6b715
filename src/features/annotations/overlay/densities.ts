import { measureCrowding, defaultGain, type WindowCrowding } from './draw/density/density-gain.js';
import { DensityCounter } from './draw/density/density.js';
import { GroupColorCounter, type GroupColorCount } from './draw/group-colors.js';
import type { Drawer } from './drawer.js';
import type { ElementStore, PackMarks, StoredElements, StoredWindow } from '../elements/element-store.js';
import { LargeImageError } from '../../../errors.js';
import type { HostLogger } from '../../../host.js';
import {
  blockId,
  type AnnotationDensityModel,
  type BlockAddress,
  type DensityBlock,
  type DensitySummary,
} from './density.model.js';
import { WorkQueue } from '../../../core/concurrency/work-queue.js';
import { isSliceOver, nextSlice } from '../../../core/concurrency/slices.js';
import { LRUCache } from 'lru-cache';
import { limitEntries } from '../../../core/concurrency/lru-options.js';
import { awaitOrAbort } from '../../../tilesource/process/shared-work.js';

/** Densities of annotations with fewer elements than this are not stored, because counting the elements again is as quick. */
export const minStoredElements = 2048;

/** Maximum number of summaries of windows in memory. */
const maxSummaries = 10_000;

/** Memory for blocks of densities in bytes. Blocks are kept, because neighboring tiles and tiles of neighboring levels need the same blocks. */
const maxBlockBytes = 16 * 1024 * 1024;

/** Maximum time in milliseconds that a request waits for densities that are being made. */
const maxWaitMs = 30_000;

/** After this many milliseconds without writes, densities are made in advance. */
const quietMs = 1000;

/** Options of {@link AnnotationDensities}. */
export interface AnnotationDensitiesOptions {
  store: Pick<ElementStore, 'loadPackMarks' | 'idleMs'>;
  model: Pick<AnnotationDensityModel, 'findSummaries' | 'findBlocks' | 'write' | 'listFamilies' | 'keepOnly'>;
  /** Counts the elements of windows. */
  drawer: Pick<Drawer, 'countWindow'>;
  logger: HostLogger;
}

/**
 * Makes and stores the densities of elements. They are made once for each window of elements, and shared by all versions that share the
 * window.
 */
export class AnnotationDensities {
  readonly #summaries = new LRUCache<string, DensitySummary>(limitEntries(maxSummaries));
  /** Blocks by id. `null` means that the window has no block of this id. */
  readonly #blocks = new LRUCache<string, { block: DensityBlock | null; bytes: number }>({
    maxSize: maxBlockBytes,
    sizeCalculation: ({ bytes }) => bytes + 256,
  });
  /** Counts of annotations whose densities are not stored, by the content id of their elements. */
  readonly #unstoredCounts = new LRUCache<string, { windowCrowdings: WindowCrowding[]; groups: GroupColorCount[] }>(
    limitEntries(maxSummaries),
  );
  /** The summaries that are being made, by the id of the window. */
  readonly #runningByWindow = new Map<string, Promise<DensitySummary>>();
  /** Counts one window at a time, because counting occupies a processor that requests need too. */
  readonly #queue = new WorkQueue({ name: 'densities', running: 1 });
  /** The elements of each family whose densities are made when nothing has been written for a while. */
  readonly #plannedByFamily = new Map<string, StoredElements>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(private readonly options: AnnotationDensitiesOptions) {}

  /**
   * Plans to make missing densities in the background, when nothing has been written to any annotation for a while. After many
   * consecutive writes, only the densities of the last version are made.
   */
  plan(stored: StoredElements): void {
    if (stored.count < minStoredElements || this.#isClosed) return;
    this.#plannedByFamily.set(stored.family, stored);
    this.#schedule();
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      void this.#makePlanned();
    }, quietMs).unref();
  }

  /** Makes the planned densities one window at a time, so that a request or a write waits for at most one window. */
  async #makePlanned(): Promise<void> {
    for (const [family, stored] of this.#plannedByFamily) {
      try {
        await this.#readSummaries(stored);
        for (const window of stored.windows) {
          if (this.#isClosed) return;
          if (this.#summaries.has(window.id)) continue;
          if (this.options.store.idleMs < quietMs) return this.#schedule();
          await this.#makeSummary(stored, window);
        }
      } catch (err) {
        if (!this.#isClosed) this.options.logger.warn({ err, family }, 'Annotation:Density:Failed');
      }
      // The entry stays if the annotation was written again while this loop waited.
      if (this.#plannedByFamily.get(family) === stored) this.#plannedByFamily.delete(family);
    }
  }

  /**
   * Loads the summaries of all windows, in the order of the windows. Missing summaries are made.
   *
   * @throws LargeImageError `unavailable` if making them takes longer than a request should wait. The work then continues.
   */
  async loadSummaries(stored: StoredElements, options: { signal?: AbortSignal | undefined } = {}): Promise<DensitySummary[]> {
    const summaries = this.#readOrMakeSummaries(stored);
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_resolve, reject) => {
      const message = 'The overlay of this annotation is being prepared. Try again in a moment.';
      timer = setTimeout(() => reject(new LargeImageError('unavailable', message)), maxWaitMs);
    });
    try {
      return await awaitOrAbort(Promise.race([summaries, timeout]), options.signal);
    } finally {
      clearTimeout(timer);
    }
  }

  async #readSummaries(stored: StoredElements): Promise<void> {
    const missingIds = stored.windows.map(({ id }) => id).filter((id) => !this.#summaries.has(id));
    if (missingIds.length > 0)
      for (const summary of await this.options.model.findSummaries(missingIds)) this.#summaries.set(summary.window, summary);
  }

  async #readOrMakeSummaries(stored: StoredElements): Promise<DensitySummary[]> {
    await this.#readSummaries(stored);
    return Promise.all(stored.windows.map(async (window) => this.#summaries.get(window.id) ?? this.#makeSummary(stored, window)));
  }

  #makeSummary(stored: StoredElements, window: StoredWindow): Promise<DensitySummary> {
    let summary = this.#runningByWindow.get(window.id);
    if (summary === undefined) {
      summary = this.#queue.run(() => this.#countAndStore(stored, window)).finally(() => this.#runningByWindow.delete(window.id));
      this.#runningByWindow.set(window.id, summary);
    }
    return summary;
  }

  async #countAndStore(stored: StoredElements, window: StoredWindow): Promise<DensitySummary> {
    const { store, model, drawer } = this.options;
    // The window is read like the elements of an annotation that has only this window.
    const elementsOfWindow: StoredElements = {
      ...stored,
      count: window.count,
      detailsCount: window.detailsCount,
      box: window.box,
      windows: [window],
    };
    const packs: PackMarks[] = [];
    for await (const marks of store.loadPackMarks(elementsOfWindow)) {
      packs.push(marks);
      if (isSliceOver()) await nextSlice();
    }
    if (this.#isClosed) throw new LargeImageError('unavailable', 'The installation is closing.');
    const { blocks, ...summaryFields } = await drawer.countWindow(packs);
    const summary: DensitySummary = { window: window.id, family: stored.family, ...summaryFields };
    await model.write(summary, blocks);
    this.#summaries.set(window.id, summary);
    return summary;
  }

  /** Chooses the default factor for densities of a level; see {@link defaultGain}. */
  async chooseGain(stored: StoredElements, level: number, options: { signal?: AbortSignal | undefined } = {}): Promise<number> {
    if (stored.count >= minStoredElements) {
      const summaries = await this.loadSummaries(stored, options);
      return defaultGain(
        stored.windows.map(({ box }, i) => ({ box, levelCrowdings: summaries[i]?.levelCrowdings ?? [] })),
        level,
      );
    }
    return defaultGain((await this.#countUnstored(stored, options)).windowCrowdings, level);
  }

  /** Counts the elements of each group and color. @throws the same errors as {@link loadSummaries}. */
  async countGroups(stored: StoredElements, options: { signal?: AbortSignal | undefined } = {}): Promise<GroupColorCount[]> {
    if (stored.count < minStoredElements) return (await this.#countUnstored(stored, options)).groups;
    const counter = new GroupColorCounter();
    for (const { groups } of await this.loadSummaries(stored, options)) counter.addAll(groups);
    return counter.counts;
  }

  async #countUnstored(stored: StoredElements, { signal }: { signal?: AbortSignal | undefined }) {
    const cached = this.#unstoredCounts.get(stored.content);
    if (cached !== undefined) return cached;
    const densityCounter = new DensityCounter();
    const colorCounter = new GroupColorCounter();
    for await (const marks of this.options.store.loadPackMarks(stored, { ...(signal && { signal }) })) {
      densityCounter.add(marks);
      colorCounter.add(marks);
    }
    const levelCrowdings = Array.from(densityCounter.pyramid(), (level) => measureCrowding(level, densityCounter.classes));
    const windowCrowdings = stored.box === null ? [] : [{ box: stored.box, levelCrowdings }];
    const counts = { windowCrowdings, groups: colorCounter.counts };
    this.#unstoredCounts.set(stored.content, counts);
    return counts;
  }

  /** Loads the blocks at these addresses. Addresses without a block are left out. The densities of the windows must have been made. */
  async loadBlocks(addresses: readonly BlockAddress[]): Promise<DensityBlock[]> {
    const blocksById = new Map(addresses.map((address) => [blockId(address), this.#blocks.get(blockId(address))?.block]));
    const missingAddresses = addresses.filter((address) => blocksById.get(blockId(address)) === undefined);
    if (missingAddresses.length > 0) {
      const foundBlocks = await this.options.model.findBlocks(missingAddresses);
      const storedBlocks = new Map(foundBlocks.map((block) => [blockId(block), block]));
      for (const id of missingAddresses.map(blockId)) {
        const block = storedBlocks.get(id) ?? null;
        blocksById.set(id, block);
        this.#blocks.set(id, { block, bytes: block?.tiles.reduce((sum, tile) => sum + tile.length, 0) ?? 0 });
      }
    }
    return [...blocksById.values()].filter((block) => block !== null && block !== undefined);
  }

  /**
   * Removes the densities of windows to which no annotation refers. Must be called after the sweep of the element store.
   *
   * @param elementsOf yields the stored elements of all annotations and previous versions of a family.
   * @param families the families to sweep. Default: all.
   * @returns the number of removed documents.
   */
  async sweep(elementsOf: (family: string) => AsyncIterable<StoredElements>, families?: Iterable<string>): Promise<number> {
    let removedCount = 0;
    for (const family of families ?? (await this.options.model.listFamilies())) {
      removedCount += await this.options.model.keepOnly(family, async () => {
        const windowIds = new Set<string>();
        for await (const { windows } of elementsOf(family)) for (const { id } of windows) windowIds.add(id);
        return windowIds;
      });
    }
    if (removedCount > 0) {
      this.#summaries.clear();
      this.#blocks.clear();
    }
    return removedCount;
  }

  /** Waits for the summary that is being made, and cancels planned work. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await Promise.allSettled(this.#runningByWindow.values());
  }
}
