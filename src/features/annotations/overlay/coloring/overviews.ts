import { LRUCache } from 'lru-cache';
import { WorkQueue } from '../../../../core/concurrency/work-queue.js';
import { SharedWork } from '../../../../tilesource/process/shared-work.js';
import type { StoredElements } from '../../elements/element-store.js';
import type { LevelCrowding } from '../draw/density/density-gain.js';
import { densityLevels } from '../draw/density/density.js';
import { newSums, type CellSums, type SumsKind, type ValuedMarks } from '../draw/density/value-sums.js';
import { pointDiameter, type GroupFilter, type GroupStyle } from '../draw/shape.js';
import type { Drawer } from '../drawer.js';

/** Memory for overviews in bytes. An overview takes 5 to 90 MB, depending on the number of elements. */
const maxBytes = 128 * 1024 * 1024;
/** Limits of the maximum number of cells at the finest level. Between these limits, the maximum is the number of elements. */
const [minCells, maxCells] = [2 ** 18, 2 ** 22];
/** Width of the margin around the box of all elements, because the discs of points extend beyond their boxes. */
const margin = pointDiameter / 2;

/** Sums of all elements at every level from `finestLevel` on. */
export interface Overview {
  finestLevel: number;
  /** The sums of each level, finest first. */
  grids: readonly CellSums[];
  /** How crowded each level is, finest first. */
  levelCrowdings: readonly LevelCrowding[];
}

/** The size of the image in base-layer pixels. */
export interface Extent {
  sizeX: number;
  sizeY: number;
}

/** Elements to add up. */
interface OverviewRequest extends GroupStyle {
  /** Identifies the overview in the cache. */
  key: string;
  stored: StoredElements;
  extent: Extent;
  kind: SumsKind;
  groups: GroupFilter;
  /** Loads the elements of a window, pack by pack. */
  loadMarks: (windowIndex: number, signal: AbortSignal) => Promise<ValuedMarks[]>;
}

/** Chooses the finest level of an overview. At finer levels, each tile has so few elements that they can be counted when the tile is drawn. */
export function finestOverviewLevel({ count, box }: StoredElements, extent: Extent): number {
  const maxCellCount = Math.min(maxCells, Math.max(minCells, count));
  const { left, top, right, bottom } = visibleAreaOf(box, extent);
  let level = 0;
  while (level < densityLevels - 1 && (Math.max(1, right - left) * Math.max(1, bottom - top)) / 4 ** level > maxCellCount)
    level += 1;
  return level;
}

function visibleAreaOf(box: StoredElements['box'], { sizeX, sizeY }: Extent) {
  return {
    left: Math.min(sizeX, Math.max(0, (box?.lowx ?? 0) - margin)),
    top: Math.min(sizeY, Math.max(0, (box?.lowy ?? 0) - margin)),
    right: Math.max(0, Math.min(sizeX, (box?.highx ?? 0) + margin)),
    bottom: Math.max(0, Math.min(sizeY, (box?.highy ?? 0) + margin)),
  };
}

/**
 * Makes overviews of colored or filtered elements, for levels at which tiles have many elements. Overviews are made in threads, and cached
 * only in memory.
 */
export class Overviews {
  readonly #overviews = new LRUCache<string, Overview>({
    maxSize: maxBytes,
    sizeCalculation: ({ grids }) => grids.reduce((sum, { sums }) => sum + sums.byteLength, 1024),
  });
  readonly #sharedWork = new SharedWork<Overview>();
  /** Makes one overview at a time, because counting occupies a processor that requests need too. */
  readonly #queue = new WorkQueue({ name: 'overviews of annotations', running: 1, waiting: 100 });

  constructor(private readonly drawer: Drawer) {}

  async get(request: OverviewRequest, signal: AbortSignal): Promise<Overview> {
    const cached = this.#overviews.get(request.key);
    if (cached !== undefined) return cached;
    const make = (sharedSignal: AbortSignal) =>
      this.#queue.run(() => this.#make(request, sharedSignal), { signal: sharedSignal });
    return this.#sharedWork.join(request.key, make, signal);
  }

  async #make(
    { key, stored, extent, kind, mode, groupColors, groups, loadMarks }: OverviewRequest,
    signal: AbortSignal,
  ): Promise<Overview> {
    const finestLevel = finestOverviewLevel(stored, extent);
    const { left, top, right, bottom } = visibleAreaOf(stored.box, extent);
    const grids: CellSums[] = [];
    for (let level = finestLevel; level < densityLevels; level += 1) {
      const side = 2 ** level;
      const [column, row] = [Math.floor(left / side), Math.floor(top / side)];
      const size = { width: Math.floor(right / side) - column + 1, height: Math.floor(bottom / side) - row + 1 };
      grids.push(newSums({ level, column, row, ...size }, { isShared: true }));
    }
    for (const windowIndex of stored.windows.keys()) {
      const packs = await loadMarks(windowIndex, signal);
      await this.drawer.addSums({ packs, kind, mode, groupColors, groups }, grids, signal);
    }
    const overview = { finestLevel, grids, levelCrowdings: await this.drawer.completeSums({ kind, grids }, signal) };
    this.#overviews.set(key, overview);
    return overview;
  }
}
