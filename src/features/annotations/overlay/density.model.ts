import type { CountedBlock, CountedWindow } from './draw/density/count-window.js';
import type { DensityClass } from './draw/density/density.js';
import type { GroupColor } from './draw/group-colors.js';
import { createIndexes } from '../../../core/database/indexes.js';
import type { OwnCollections } from '../../../core/database/own-collections.js';
import { step } from '../../../core/steps.js';

/** Densities of one window of elements, without the tiles. */
export interface DensityHead extends Omit<CountedWindow, 'blocks'> {
  /** Id of the window. */
  window: string;
  /** Family of the stored elements, as the element store names it. */
  family: string;
}

/** Tiles of one window. */
export interface DensityBlock extends CountedBlock {
  window: string;
}

interface StoredHead {
  _id: string;
  family: string;
  made: Date;
  levels: [finest: number, coarsest: number] | null;
  /** JSON text: names of groups are what clients choose. */
  classes: string;
  /** JSON text, as `classes`. */
  groups: string;
  /** Sum and sum of squares of each level, finest first. */
  crowds: [sum: number, squares: number][];
}

interface StoredBlock {
  _id: string;
  family: string;
  /** Lengths of the tiles in `data`, in bytes. */
  lengths: number[];
  data: { buffer: Uint8Array } | Uint8Array;
}

/** Documents written or asked for at a time. */
const batch = 100;

/** Bytes of documents written at a time. */
const batchBytes = 4 * 1024 * 1024;

/** Address of a block in the ids of documents. */
export interface BlockAddress {
  window: string;
  level: number;
  column: number;
  row: number;
}

export function blockId({ window, level, column, row }: BlockAddress): string {
  return `${window}/${level}/${column}/${row}`;
}

/**
 * Densities of stored elements, window by window. A window never changes, so neither do its densities: writing them twice writes
 * the same. The head is written last; without it a window has no densities.
 */
export class AnnotationDensityModel {
  constructor(private readonly own: OwnCollections) {}

  get #documents() {
    return this.own.collection<StoredHead | StoredBlock>('annotation_density');
  }

  async createIndexes(): Promise<void> {
    // The mark first: the families of the plugin are read from the index alone.
    await createIndexes(this.#documents, [{ key: { plugin: 1, family: 1 } }]);
  }

  /** Heads of these windows; those that are not there are absent. */
  async heads(windows: readonly string[]): Promise<DensityHead[]> {
    const heads: DensityHead[] = [];
    for (let start = 0; start < windows.length; start += batch) {
      const ids = windows.slice(start, start + batch);
      const found = (await this.#documents.find({ _id: { $in: ids }, groups: { $exists: true } }).toArray()) as StoredHead[];
      for (const { _id, family, levels, classes, groups, crowds } of found) {
        const parsed = JSON.parse(classes) as [string | null | 0, ...DensityClass['color']][];
        heads.push({
          window: _id,
          family,
          groups: JSON.parse(groups) as GroupColor[],
          crowds: crowds.map(([sum, squares], i) => ({ level: (levels?.[0] ?? 0) + i, sum, squares })),
          levels: levels === null ? null : { finest: levels[0], coarsest: levels[1] },
          classes: parsed.map(([group, ...color]) => ({
            group: group === mixedGroups ? undefined : group,
            color,
          })),
        });
      }
    }
    return heads;
  }

  /** The blocks at these places; those that are not there are absent. */
  async blocks(addresses: readonly BlockAddress[]): Promise<DensityBlock[]> {
    const byId = new Map(addresses.map((address) => [blockId(address), address]));
    const ids = [...byId.keys()];
    const blocks: DensityBlock[] = [];
    for (let start = 0; start < ids.length; start += batch) {
      const found = (await this.#documents.find({ _id: { $in: ids.slice(start, start + batch) } }).toArray()) as StoredBlock[];
      for (const { _id, lengths, data } of found) {
        // A copy, which may be kept: what comes is part of a message of many blocks.
        const bytes = Uint8Array.from(data instanceof Uint8Array ? data : data.buffer);
        let end = 0;
        const tiles = lengths.map((length) => bytes.subarray(end, (end += length)));
        blocks.push({ ...(byId.get(_id) as BlockAddress), tiles });
      }
    }
    return blocks;
  }

  /** Writes the densities of a window: its blocks, then its head. */
  async write(head: DensityHead, blocks: readonly CountedBlock[]): Promise<void> {
    let pending: StoredBlock[] = [];
    let bytes = 0;
    const flush = async () => {
      await this.#replace(pending);
      pending = [];
      bytes = 0;
    };
    for (const block of blocks) {
      const data = Buffer.concat(block.tiles);
      const id = blockId({ ...block, window: head.window });
      pending.push({ _id: id, family: head.family, lengths: block.tiles.map((tile) => tile.length), data });
      bytes += data.length;
      if (pending.length >= batch || bytes >= batchBytes) await flush();
    }
    await flush();
    step('density:blocks-stored');
    const classes = head.classes.map(({ group, color }) => [group === undefined ? mixedGroups : group, ...color]);
    const crowds = head.crowds.map(({ sum, squares }): [number, number] => [sum, squares]);
    const levels: StoredHead['levels'] = head.levels === null ? null : [head.levels.finest, head.levels.coarsest];
    await this.#replace([
      {
        _id: head.window,
        family: head.family,
        made: new Date(),
        levels,
        classes: JSON.stringify(classes),
        groups: JSON.stringify(head.groups),
        crowds,
      },
    ]);
  }

  async #replace(documents: readonly (StoredHead | StoredBlock)[]): Promise<void> {
    if (documents.length === 0) return;
    await this.#documents.bulkWrite(
      documents.map((document) => ({ replaceOne: { filter: { _id: document._id }, replacement: document, upsert: true } })),
      { ordered: false },
    );
  }

  /** Families that have densities. */
  async families(): Promise<string[]> {
    return (await this.#documents.distinct('family')) as string[];
  }

  /**
   * Removes the densities of a family's windows other than these. @returns the number of documents removed.
   *
   * @param windowsNow is asked when the documents have been listed: what is made meanwhile stays.
   */
  async keepOnly(family: string, windowsNow: () => Promise<ReadonlySet<string>>): Promise<number> {
    const listed = await this.#documents.find({ family }, { projection: { _id: 1 } }).toArray();
    const windows = await windowsNow();
    const gone = listed.map(({ _id }) => String(_id)).filter((id) => !windows.has(id.split('/', 1)[0] as string));
    // Heads first: without its head a window has no densities, with half of them it would have wrong ones.
    gone.sort((a, b) => Number(a.includes('/')) - Number(b.includes('/')));
    for (let start = 0; start < gone.length; start += batch) {
      await this.#documents.deleteMany({ _id: { $in: gone.slice(start, start + batch) } });
    }
    return gone.length;
  }
}

/** Stands for `undefined` in JSON text, where groups are text or null. */
const mixedGroups = 0;
