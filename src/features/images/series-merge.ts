import { KeyedQueues } from '../../core/concurrency/keyed-queues.js';
import { randomUUID } from 'node:crypto';
import { announceStep } from '../../core/steps.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { ItemRecord } from '../../core/host/records.js';
import { LargeImageError } from '../../errors.js';
import type { Host, HostLogger } from '../../host.js';
import type { TileSourceRegistry } from '../../tilesource/registry/registry.js';
import type { TileSourceDefinition } from '../../tilesource/tile-source.js';
import type { Items } from '../items/items.js';
import type { Settings } from '../settings/settings.js';
import type { StoredSeries, FolderDependants } from './folder-dependants.model.js';
import type { ImageMarking } from './image-marking.js';
import type { Images } from './images.js';

/** Options of {@link SeriesMerge}. */
export interface SeriesMergeParts {
  host: Pick<Host, 'files' | 'removeItem'>;
  registry: TileSourceRegistry;
  records: HostRecords;
  dependants: FolderDependants;
  items: Items;
  images: Images;
  imageMarking: ImageMarking;
  settings: Settings;
  logger: HostLogger;
}

/**
 * Merges files of one series that arrive as separate items: the files move to the oldest of these items, if the setting allows it.
 * The tile source says to which series a file belongs.
 */
export class SeriesMerge {
  /** Runs the merges of a series one at a time. Otherwise, files that arrive together would each cause all others to be moved. */
  readonly #mergesBySeries = new KeyedQueues();

  constructor(private readonly parts: SeriesMergeParts) {}

  /** Merges an item that has just become a large image of its only file with the items of the same series in its folder. */
  async mergeItem(item: ItemRecord): Promise<void> {
    const { registry, records, settings, items } = this.parts;
    const source = registry.get(item.largeImage?.sourceName ?? '');
    if (source?.seriesOf === undefined || (await settings.get('large_image.merge_dicom')) !== true) return;
    if ((await records.findFilesOfItem(item)).length !== 1) return;
    const series = await this.#readSeries(item, source);
    if (series === null) return;
    const storedMarker = item.doc.largeImage as Record<string, unknown>;
    const updatedItem = await records.markers.replace(item, { ...storedMarker, ...series, mergedInto: null });
    items.forget(item.id);
    if (updatedItem === null) return;
    announceStep('series:noted');
    await this.#mergesBySeries.run(`${updatedItem.folderId} ${series.dicomSeriesUID}`, () =>
      this.#mergeSeries(updatedItem, series),
    );
  }

  /** Merges an item whose series is noted on it, and removes the note. @returns how many items were merged. */
  async #mergeSeries(item: ItemRecord, series: StoredSeries): Promise<number> {
    const { dependants } = this.parts;
    // Each process notes the series before it searches for other items. So if two processes run at the same time, at least one of
    // them finds the other's item, and both choose the same oldest item.
    const [oldest, ...younger] = await dependants.findItemsOfSeries(item, series);
    if (oldest !== undefined) for (const youngerItem of younger) await this.#mergeInto(youngerItem, oldest);
    await dependants.removeMergeNote(item);
    this.parts.items.forget(item.id);
    return younger.length;
  }

  async #readSeries(item: ItemRecord, source: TileSourceDefinition): Promise<StoredSeries | null> {
    try {
      const seriesUids = source.seriesOf?.(await this.parts.images.use(item, (image) => image.internalMetadata()));
      return seriesUids ? { dicomSeriesUID: seriesUids.series, dicomStudyUID: seriesUids.study } : null;
    } catch (error) {
      if (error instanceof LargeImageError) return null;
      throw error;
    }
  }

  /** Moves the files of an item to `target`, and removes the emptied item. Each step can be repeated after a crash. */
  async #mergeInto(item: ItemRecord, target: ItemRecord): Promise<void> {
    const { records, logger } = this.parts;
    const storedMarker = item.doc.largeImage as Record<string, unknown>;
    if ((await records.markers.replace(item, { ...storedMarker, mergedInto: target.doc._id })) === null) return;
    announceStep('series:marked');
    await this.#moveFiles(item, target);
    logger.info({ itemId: item.id, into: target.id }, 'LargeImage:Dicom:Merged');
  }

  async #moveFiles(item: ItemRecord, target: ItemRecord): Promise<void> {
    const { host, records, items } = this.parts;
    for (const file of await records.findFilesOfItem(item)) {
      if (host.files.move === undefined) await records.moveFile(file, target);
      else await host.files.move(file.doc, target.id);
    }
    announceStep('series:moved');
    items.forget(item.id);
    await this.#changeRevision(target.id);
    const emptiedItem = await records.findItem(item.id);
    if (emptiedItem === null) return;
    await (host.removeItem === undefined ? records.deleteItem(emptiedItem) : host.removeItem(emptiedItem.doc));
  }

  /** Gives the image of an item a new state, because the item has more files now. */
  async #changeRevision(itemId: string): Promise<void> {
    const { records, items, imageMarking } = this.parts;
    const item = await records.findItem(itemId);
    if (item === null) return;
    const storedMarker = item.doc.largeImage as Record<string, unknown>;
    await records.markers.replace(item, { ...storedMarker, revision: randomUUID() });
    items.forget(itemId);
    await imageMarking.discardPrevious(item);
  }

  /** Completes the merges that killed processes have started. @returns how many items were merged. */
  async sweep(): Promise<{ mergedItems: number }> {
    const { records } = this.parts;
    let mergedItems = 0;
    for (const { item, into } of await this.parts.dependants.findMergingItems()) {
      if (into === null) {
        mergedItems += await this.#mergeSeries(item, item.doc.largeImage as StoredSeries);
        continue;
      }
      const target = await records.findItem(into);
      if (target === null) continue;
      await this.#moveFiles(item, target);
      mergedItems += 1;
    }
    return { mergedItems };
  }
}
