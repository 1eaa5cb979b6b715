import type { CountedBlock, CountedWindow } from './draw/density/count-window.js';
import type { DensityClass } from './draw/density/density.js';
import type { GroupColorCount } from './draw/group-colors.js';
import { createIndexes } from '../../../core/database/indexes.js';
import type { OwnCollections } from '../../../core/database/own-collections.js';
import { announceStep } from '../../../core/steps.js';

/** Describes the densities of a window. Their tiles are stored in blocks. */
export interface DensitySummary extends Omit<CountedWindow, 'blocks'> {
  /** Id of the window. */
  window: string;
  /** Family of the stored elements, see `StoredElements.family`. */
  family: string;
}

/** A block of tiles of a window's densities. */
export interface DensityBlock extends CountedBlock {
  /** Id of the window. */
  window: string;
}

interface StoredSummary {
  _id: string;
  family: string;
  made: Date;
  levels: [finest: number, coarsest: number] | null;
  /** JSON text, because clients choose the names of groups. */
  classes: string;
  /** JSON text, for the same reason. */
  groups: string;
  /** How crowded each level is, finest first, see `LevelCrowding`. */
  crowds: [sum: number, squares: number][];
}

interface StoredBlock {
  _id: string;
  family: string;
  /** Lengths of the tiles in `data`, in bytes. */
  lengths: number[];
  data: { buffer: Uint8Array } | Uint8Array;
}

/** Number of documents in one write or query. */
const documentsPerBatch = 100;

/** Number of bytes after which the documents of a write are sent. */
const batchBytes = 4 * 1024 * 1024;

/** Address of a block. The id of the block's document is made from the address. */
export interface BlockAddress {
  /** Id of the window. */
  window: string;
  level: number;
  column: number;
  row: number;
}

export function blockId({ window, level, column, row }: BlockAddress): string {
  return `${window}/${level}/${column}/${row}`;
}

/**
 * Stored densities of elements, window by window. A window and its densities never change, so writing densities twice does no harm. The
 * summary of a window is written last. Without its summary, a window counts as having no densities.
 */
export class AnnotationDensityModel {
  constructor(private readonly collections: OwnCollections) {}

  get #documents() {
    return this.collections.collection<StoredSummary | StoredBlock>('annotation_density');
  }

  async createIndexes(): Promise<void> {
    // Queries always have a condition on `plugin`. With this field first, the families can be read from the index alone.
    await createIndexes(this.#documents, [{ key: { plugin: 1, family: 1 } }]);
  }

  /** Finds the summaries of windows. Windows without a summary are left out. */
  async findSummaries(windowIds: readonly string[]): Promise<DensitySummary[]> {
    const summaries: DensitySummary[] = [];
    for (let start = 0; start < windowIds.length; start += documentsPerBatch) {
      const ids = windowIds.slice(start, start + documentsPerBatch);
      const documents = (await this.#documents
        .find({ _id: { $in: ids }, groups: { $exists: true } })
        .toArray()) as StoredSummary[];
      for (const { _id, family, levels, classes, groups, crowds } of documents) {
        const classEntries = JSON.parse(classes) as [string | null | 0, ...DensityClass['color']][];
        summaries.push({
          window: _id,
          family,
          groups: JSON.parse(groups) as GroupColorCount[],
          levelCrowdings: crowds.map(([sum, squares], i) => ({ level: (levels?.[0] ?? 0) + i, sum, squares })),
          levels: levels === null ? null : { finest: levels[0], coarsest: levels[1] },
          classes: classEntries.map(([group, ...color]) => ({
            group: group === mixedGroupsCode ? undefined : group,
            color,
          })),
        });
      }
    }
    return summaries;
  }

  /** Finds the blocks at these addresses. Addresses without a block are left out. */
  async findBlocks(addresses: readonly BlockAddress[]): Promise<DensityBlock[]> {
    const addressesById = new Map(addresses.map((address) => [blockId(address), address]));
    const ids = [...addressesById.keys()];
    const blocks: DensityBlock[] = [];
    for (let start = 0; start < ids.length; start += documentsPerBatch) {
      const documents = (await this.#documents
        .find({ _id: { $in: ids.slice(start, start + documentsPerBatch) } })
        .toArray()) as StoredBlock[];
      for (const { _id, lengths, data } of documents) {
        // The bytes are copied, because they share a buffer with many other blocks, which a cached block would keep in memory.
        const bytes = Uint8Array.from(data instanceof Uint8Array ? data : data.buffer);
        let end = 0;
        const tiles = lengths.map((length) => bytes.subarray(end, (end += length)));
        blocks.push({ ...(addressesById.get(_id) as BlockAddress), tiles });
      }
    }
    return blocks;
  }

  /** Writes the densities of a window: its blocks, then its summary. */
  async write(summary: DensitySummary, blocks: readonly CountedBlock[]): Promise<void> {
    let pendingBlocks: StoredBlock[] = [];
    let pendingBytes = 0;
    const flush = async () => {
      await this.#replace(pendingBlocks);
      pendingBlocks = [];
      pendingBytes = 0;
    };
    for (const block of blocks) {
      const data = Buffer.concat(block.tiles);
      const id = blockId({ ...block, window: summary.window });
      pendingBlocks.push({ _id: id, family: summary.family, lengths: block.tiles.map((tile) => tile.length), data });
      pendingBytes += data.length;
      if (pendingBlocks.length >= documentsPerBatch || pendingBytes >= batchBytes) await flush();
    }
    await flush();
    announceStep('density:blocks-stored');
    const classes = summary.classes.map(({ group, color }) => [group === undefined ? mixedGroupsCode : group, ...color]);
    const crowds = summary.levelCrowdings.map(({ sum, squares }): [number, number] => [sum, squares]);
    const levels: StoredSummary['levels'] = summary.levels === null ? null : [summary.levels.finest, summary.levels.coarsest];
    await this.#replace([
      {
        _id: summary.window,
        family: summary.family,
        made: new Date(),
        levels,
        classes: JSON.stringify(classes),
        groups: JSON.stringify(summary.groups),
        crowds,
      },
    ]);
  }

  async #replace(documents: readonly (StoredSummary | StoredBlock)[]): Promise<void> {
    if (documents.length === 0) return;
    await this.#documents.bulkWrite(
      documents.map((document) => ({ replaceOne: { filter: { _id: document._id }, replacement: document, upsert: true } })),
      { ordered: false },
    );
  }

  /** Lists the families that have densities. */
  async listFamilies(): Promise<string[]> {
    return (await this.#documents.distinct('family')) as string[];
  }

  /**
   * Removes the densities of a family, except the densities of some windows.
   *
   * @param findKeptWindows finds the ids of the windows to keep. It is called after the documents are listed, so that newer densities stay.
   * @returns the number of removed documents.
   */
  async keepOnly(family: string, findKeptWindows: () => Promise<ReadonlySet<string>>): Promise<number> {
    const documents = await this.#documents.find({ family }, { projection: { _id: 1 } }).toArray();
    const keptWindowIds = await findKeptWindows();
    const unreferencedIds = documents
      .map(({ _id }) => String(_id))
      .filter((id) => !keptWindowIds.has(id.split('/', 1)[0] as string));
    // Summaries are removed first. A window without its summary counts as having no densities. With its summary but without some blocks, it
    // would be drawn wrong.
    unreferencedIds.sort((a, b) => Number(a.includes('/')) - Number(b.includes('/')));
    for (let start = 0; start < unreferencedIds.length; start += documentsPerBatch) {
      await this.#documents.deleteMany({ _id: { $in: unreferencedIds.slice(start, start + documentsPerBatch) } });
    }
    return unreferencedIds.length;
  }
}

/** Represents the group `undefined` (several groups) in JSON. All other groups are texts or `null`. */
const mixedGroupsCode = 0;
