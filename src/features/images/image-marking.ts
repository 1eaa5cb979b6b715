import pLimit from 'p-limit';
import { idText } from '../../core/database/id-text.js';
import type { Callers } from '../../core/host/callers.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { EnteredScale } from '../../core/entered-scale.js';
import type { FileRecord, ItemRecord } from '../../core/host/records.js';
import { announceStep } from '../../core/steps.js';
import { AccessDeniedError, BadParameterError, InvalidError, MissingPartsError, TileSourceError } from '../../errors.js';
import type { Caller, HostFiles, HostLogger } from '../../host.js';
import type { BlockCache } from './block-cache.js';
import type { TileSourceRegistry } from '../../tilesource/registry/registry.js';
import type { Items } from '../items/items.js';
import { hostFileInput } from './file-input.js';
import type { FolderDependants } from './folder-dependants.model.js';
import type { FileVisibility } from './host-folder.js';
import type { ImageChanges } from './image-changes.js';
import type { Images } from './images.js';

/** Options of {@link ImageMarking}. */
export interface ImageMarkingOptions {
  images: Pick<Images, 'openSeparately' | 'closeFile'>;
  registry: TileSourceRegistry;
  records: HostRecords;
  dependants: FolderDependants;
  items: Items;
  changes: ImageChanges;
  files: HostFiles;
  blocks: BlockCache;
  callers: Pick<Callers, 'loadRequester'>;
  logger: HostLogger;
  temporaryDirectory: string;
}

/** Maximum number of files that are open at the same time to find their sources, because each open file takes memory. */
export const maxOpenedTogether = 64;

/** Turns an item into a large image, using one of its files that a source can read, and removes that large image again. */
export class ImageMarking {
  readonly #limitOpening = pLimit(maxOpenedTogether);

  constructor(private readonly options: ImageMarkingOptions) {}

  /**
   * Makes an item a large image of one of its files, if a source can read the file without conversion.
   *
   * @throws BadParameterError if the item is or is becoming a large image, or the file belongs to another item; TileSourceError if
   * no source reads the file.
   */
  async create(item: ItemRecord, file: FileRecord): Promise<ItemRecord> {
    assertCreatable(item, file);
    return this.claim(item, file, await this.findSourceForItem(item, file));
  }

  /**
   * Makes an item a large image of a file whose source is known.
   *
   * @throws BadParameterError if the item has become a large image or was removed since it was read.
   */
  async claim(item: ItemRecord, file: FileRecord, sourceName: string): Promise<ItemRecord> {
    const { records, items } = this.options;
    const claimedItem = await records.markers.claim(item, { fileId: file.doc._id, sourceName });
    items.forget(item.id);
    if (claimedItem === null) throw new BadParameterError('Item already has largeImage set.');
    return claimedItem;
  }

  /** Removes the large image of an item; the file stays. @returns false if there was none. */
  async remove(item: ItemRecord): Promise<boolean> {
    const { records, items, images, changes } = this.options;
    if (item.largeImage === null) return false;
    const wasRemoved = await records.markers.release(item);
    items.forget(item.id);
    images.closeFile(item.largeImage.fileId);
    announceStep('removal:released');
    if (wasRemoved) await changes.announce([item]);
    return wasRemoved;
  }

  /**
   * Stores the size of a pixel that a user has entered for an image; `null` removes it. Everything made from the image is renewed.
   *
   * @throws BadParameterError if the item no longer has a large image
   */
  async setScale(item: ItemRecord, scale: EnteredScale | null): Promise<ItemRecord> {
    const { records, items, changes } = this.options;
    const changedItem = await records.markers.setScale(item, scale);
    items.forget(item.id);
    if (changedItem === null) throw new BadParameterError('The large image of this item was removed.');
    await changes.announce([changedItem]);
    return changedItem;
  }

  /**
   * Closes and removes everything that was made from the previous large image of an item, after the item was given another one.
   *
   * @param previousItem the item before the change.
   */
  async discardPrevious(previousItem: ItemRecord): Promise<void> {
    this.options.images.closeFile(previousItem.largeImage?.fileId);
    await this.options.changes.announce([previousItem]);
  }

  /**
   * Finds the source that reads a file, by trying the sources.
   *
   * @param item the item of the file, if it has just been read.
   * @returns the name of the source.
   * @throws TileSourceError that says why no source can read the file.
   */
  findSource(file: FileRecord, item?: ItemRecord): Promise<string> {
    return this.#limitOpening(() => this.#findSource(file, item));
  }

  async #findSource(file: FileRecord, item: ItemRecord | undefined): Promise<string> {
    const { images, logger } = this.options;
    const openedImage = await images.openSeparately(file, {
      icc: false,
      visibility: this.#visibilityFor(file),
      ...(item && { item }),
    });
    // Closing a source may take long, so it is not awaited.
    openedImage.close().catch((err: unknown) => {
      logger.warn({ err, fileId: file.id, sourceName: openedImage.sourceName }, 'TileSource:Close:Failed');
    });
    return openedImage.sourceName;
  }

  /**
   * Like {@link ImageMarking.findSource}, for a file of an item. If files that belong to the image are missing, the item is stored
   * as waiting for them.
   *
   * @throws TileSourceError that says why no source can read the file.
   */
  async findSourceForItem(item: ItemRecord, file: FileRecord): Promise<string> {
    const { dependants } = this.options;
    const { markers } = this.options.records;
    try {
      const sourceName = await this.findSource(file, item);
      await dependants.setWaiting(item, null);
      return sourceName;
    } catch (error) {
      this.options.items.forget(item.id);
      if (error instanceof MissingPartsError) await dependants.setWaiting(item, { file, missing: error.missing });
      else if (item.missingFiles?.fileId === file.id) await dependants.setWaiting(item, null);
      if (error instanceof TileSourceError) await markers.storeRefusal(item, error.reason);
      throw error;
    }
  }

  /** Whether a file is an image that no source opens, only because it is too large. */
  async needsConversion(file: FileRecord): Promise<boolean> {
    const { registry, temporaryDirectory } = this.options;
    return registry.isOnlyTooLarge(await hostFileInput(file, this.options), temporaryDirectory);
  }

  /** Checks that a file can become a large image, if necessary after a conversion. @throws TileSourceError if not. */
  async requireImage(file: FileRecord): Promise<void> {
    try {
      await this.findSource(file);
    } catch (error) {
      if (!(error instanceof TileSourceError) || !(await this.needsConversion(file))) throw error;
    }
  }

  /**
   * Chooses the file from which a large image is made: the requested one, or the item's only one.
   *
   * @throws BadParameterError, InvalidError
   */
  async chooseFile(item: ItemRecord, fileId: string | undefined): Promise<FileRecord> {
    const { records } = this.options;
    if (fileId === undefined) {
      const files = await records.findFilesOfItem(item);
      if (files.length !== 1) throw new BadParameterError('Missing "fileId" parameter.');
      return files[0]!;
    }
    const file = await records.findFile(fileId);
    if (file === null) throw new InvalidError(`No such file: ${fileId}`, 'id');
    return file;
  }

  /**
   * Chooses the file to convert to a copy: the requested file, the file from which the item's large image was made, or its only file.
   *
   * @throws BadParameterError, InvalidError
   */
  async chooseFileToConvert(item: ItemRecord, fileId: string | undefined): Promise<FileRecord> {
    const originalFileId = item.largeImage?.originalId ?? item.largeImage?.fileId;
    const file = await this.chooseFile(item, fileId ?? originalFileId);
    if (file.itemId !== item.id) throw new BadParameterError('The provided file must be in the provided item.');
    return file;
  }

  /**
   * Determines which other items and folders a file can refer to: those that its uploader can read. All others count as missing.
   * Otherwise, users could find out whether a hidden file exists, because their own file becomes an image only if it does. If the
   * uploader is unknown, the file can refer only to public items, but to all folders.
   */
  #visibilityFor(file: FileRecord): FileVisibility {
    const { items, callers } = this.options;
    const creatorId = idText(file.doc.creatorId);
    const findUploader = async (): Promise<Caller | null> => {
      try {
        return creatorId === '' ? null : await callers.loadRequester({ id: creatorId, admin: false });
      } catch (error) {
        if (error instanceof AccessDeniedError) return null;
        throw error;
      }
    };
    // The uploader is looked up only when needed, because few images refer to other files.
    let uploaderPromise: ReturnType<typeof findUploader> | null = null;
    const getUploader = () => (uploaderPromise ??= findUploader());
    return {
      isItemVisible: async (id) => (await items.filterReadableItems([id], await getUploader())).has(id),
      async filterFolders(ids) {
        const caller = await getUploader();
        return caller === null ? new Set(ids) : items.filterReadableFolders(ids, caller);
      },
    };
  }
}

/** @throws BadParameterError if the item is or is becoming a large image, or the file belongs to another item. */
export function assertCreatable(item: ItemRecord, file: FileRecord): void {
  if (item.largeImage?.fileId !== undefined) throw new BadParameterError('Item already has largeImage set.');
  if (file.itemId !== item.id) throw new BadParameterError('The provided file must be in the provided item.');
  if (item.largeImage !== null) throw new BadParameterError('Item is scheduled to generate a largeImage.');
}
