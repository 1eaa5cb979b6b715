import { randomUUID } from 'node:crypto';
import { batches } from '../../core/database/id-batches.js';
import { idText } from '../../core/database/id-text.js';
import { onItemsRemoved } from '../../core/host/host-events.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { FileRecord, ItemRecord } from '../../core/host/records.js';
import type { OnClose } from '../../core/undo.js';
import { LargeImageError, MissingPartsError } from '../../errors.js';
import type { HostEventPayloads, HostEvents, HostLogger, StoredDocument } from '../../host.js';
import type { TileSourceRegistry } from '../../tilesource/registry/registry.js';
import type { Items } from '../items/items.js';
import type { Settings } from '../settings/settings.js';
import type { SeriesMerge } from './series-merge.js';
import type { FolderDependants } from './folder-dependants.model.js';
import { FolderImageUpdater } from './folder-image-updater.js';
import type { ImageChanges } from './image-changes.js';
import type { ImageMarking } from './image-marking.js';
import type { Images } from './images.js';

/** Options of {@link HostFollower}. */
interface HostFollowerParts {
  images: Pick<Images, 'closeFile'>;
  imageMarking: ImageMarking;
  records: HostRecords;
  dependants: FolderDependants;
  items: Items;
  changes: ImageChanges;
  registry: TileSourceRegistry;
  settings: Settings;
  logger: HostLogger;
  seriesMerge: SeriesMerge;
}

/**
 * Maximum number of main files of an item that are tried after one of its files has changed. The format of a main file also reads the
 * other files of the item.
 */
const maxMainFiles = 4;

/** Keeps large images in step with the host's items and files. */
export class HostFollower {
  readonly #folderImageUpdater: FolderImageUpdater;

  constructor(private readonly parts: HostFollowerParts) {
    const images = {
      changeRevision: (item: ItemRecord) => this.#changeRevision(item),
      retry: (item: ItemRecord) => this.#retry(item),
    };
    this.#folderImageUpdater = new FolderImageUpdater({ ...parts, images });
  }

  /** Starts to follow the host's events about items and files. @param onClose registers the steps that stop following. */
  follow(events: HostEvents, onClose: OnClose): void {
    onClose(onItemsRemoved(events, (items) => this.#handleItemsRemoved(items)));
    onClose(events.on('item.hidden', ({ items }) => this.#handleItemsHidden(items)));
    onClose(events.on('item.shown', ({ items }) => this.#handleItemsShown(items)));
    onClose(events.on('item.copied', ({ item, fileIds }) => this.#handleItemCopied(item, fileIds)));
    onClose(events.on('file.saved', ({ file, created }) => this.#handleFileSaved(file, created)));
    onClose(events.on('files.added', ({ added }) => this.#handleFilesAdded(added)));
    onClose(events.on('file.removed', ({ file }) => this.#handleFilesRemoved([file])));
    onClose(events.on('files.removed', ({ files }) => this.#handleFilesRemoved(files)));
  }

  /** Handles a saved file, which may make its item a large image or change the item's existing large image. */
  async #handleFileSaved(doc: Record<string, unknown> & { _id: unknown }, created: boolean): Promise<void> {
    const { records, items } = this.parts;
    const file = records.fileOf(doc);
    if (!created) this.parts.images.closeFile(file.id);
    if (file.itemId === null) return;
    items.forget(file.itemId);
    const item = await records.findItem(file.itemId);
    if (item === null) return;
    if (item.largeImage === null) await this.#tryToMakeImage(item, file);
    else if (item.largeImage.fileId !== file.id) await this.#updateAfterCompanionChange(item);
    else if (!created) await this.#redetectSource(item, file);
    await this.#folderImageUpdater.handleChange(item, file);
  }

  /** Makes items that were created together large images. Each step runs for all items at once, so that database commands are grouped. */
  async #handleFilesAdded(addedFiles: HostEventPayloads['files.added']['added']): Promise<void> {
    const { records, imageMarking, seriesMerge } = this.parts;
    const pairs = addedFiles.map(({ file, item }) => ({ file: records.fileOf(file), item: records.itemOf(item) }));
    const sourceNameByFileId = new Map<string, string>();
    const steps: ((pair: (typeof pairs)[number]) => Promise<unknown>)[] = [
      async ({ file, item }) => {
        if (!(await this.#mayBecomeImage(file))) return;
        await this.#catchRefusal(item, file, async () =>
          sourceNameByFileId.set(file.id, await imageMarking.findSourceForItem(item, file)),
        );
      },
      async ({ file, item }) => {
        const sourceName = sourceNameByFileId.get(file.id);
        if (sourceName === undefined) return;
        await this.#catchRefusal(item, file, async () => seriesMerge.mergeItem(await imageMarking.claim(item, file, sourceName)));
      },
      ({ file, item }) => this.#folderImageUpdater.handleChange(item, file),
    ];
    const failures: unknown[] = [];
    for (const step of steps) {
      const results = await Promise.allSettled(pairs.map(step));
      for (const result of results) if (result.status === 'rejected') failures.push(result.reason);
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Makes an item a large image of the first file that a source reads. Main files are tried first. */
  async #tryToMakeImage(item: ItemRecord, file: FileRecord): Promise<void> {
    const { imageMarking, seriesMerge } = this.parts;
    const otherMainFiles = await this.#mainFilesOf(item, file);
    for (const candidate of otherMainFiles.length > 0 && !this.#isMainFile(file)
      ? [...otherMainFiles, file]
      : [file, ...otherMainFiles]) {
      if (!(await this.#mayBecomeImage(candidate))) continue;
      const refusal = await this.#catchRefusal(item, candidate, async () =>
        seriesMerge.mergeItem(await imageMarking.create(item, candidate)),
      );
      // If parts of the candidate are missing, the other files of the item are its parts too, and need not be tried.
      if (refusal === null || refusal instanceof MissingPartsError) return;
    }
  }

  /**
   * Runs `work`, which tries to make a file an image.
   *
   * @returns the error with which a source refused the file, after logging it; `null` if none refused it.
   */
  async #catchRefusal(item: ItemRecord, file: FileRecord, work: () => Promise<unknown>): Promise<LargeImageError | null> {
    try {
      await work();
      return null;
    } catch (error) {
      if (!(error instanceof LargeImageError)) throw error;
      this.parts.logger.info({ fileId: file.id, itemId: item.id, reason: error.message }, 'LargeImage:AutoSet:Refused');
      return error;
    }
  }

  /** Up to {@link maxMainFiles} main files of an item, without `excludedFile`. */
  async #mainFilesOf(item: ItemRecord, excludedFile?: FileRecord): Promise<FileRecord[]> {
    const files = await this.parts.records.findFilesOfItem(item);
    return files.filter((file) => file.id !== excludedFile?.id && this.#isMainFile(file)).slice(0, maxMainFiles);
  }

  #isMainFile(file: FileRecord): boolean {
    return this.parts.registry.candidates(file)[0]?.readsCompanions === true;
  }

  async #mayBecomeImage(file: FileRecord): Promise<boolean> {
    const autoSet = await this.parts.settings.get('large_image.auto_set');
    if (autoSet === 'all') return true;
    if (isNeverImage(file.name)) return false;
    return autoSet !== false && this.parts.registry.knows({ name: file.name, mimeType: file.mimeType });
  }

  /** Detects the source of a file again after its bytes were replaced. The new bytes may have another format, or may not be an image. */
  async #redetectSource(item: ItemRecord, file: FileRecord): Promise<void> {
    await this.parts.imageMarking.remove(item);
    const currentItem = await this.parts.records.findItem(item.id);
    if (currentItem === null || currentItem.largeImage !== null) return;
    try {
      await this.parts.imageMarking.create(currentItem, file);
    } catch (error) {
      if (!(error instanceof LargeImageError)) throw error;
      this.parts.logger.warn({ fileId: file.id, itemId: item.id, reason: error.message }, 'LargeImage:Lost');
    }
  }

  /**
   * Updates the image of an item after one of its other files was added or removed. If the source of the image reads other files, the
   * image has changed. Otherwise, a main file of the item may have become readable, and the item is then served from that file. If
   * parts of a main file are missing, the item waits for them.
   */
  async #updateAfterCompanionChange(item: ItemRecord): Promise<void> {
    const { registry } = this.parts;
    const { fileId, sourceName, originalId } = item.largeImage ?? {};
    if (fileId === undefined || sourceName === undefined || originalId !== undefined) return;
    const storedMarker = item.doc.largeImage as Record<string, unknown>;
    if (registry.get(sourceName)?.readsCompanions === true) return this.#changeRevision(item);
    for (const mainFile of await this.#mainFilesOf(item)) {
      if (mainFile.id === fileId || !(await this.#mayBecomeImage(mainFile))) continue;
      try {
        const newSourceName = await this.parts.imageMarking.findSourceForItem(item, mainFile);
        await this.#replaceMarker(item, { ...storedMarker, fileId: mainFile.doc._id, sourceName: newSourceName });
        return;
      } catch (error) {
        if (!(error instanceof LargeImageError)) throw error;
        if (error instanceof MissingPartsError) {
          // The image is a part of the waiting slide, or only accompanies it. The names of the missing parts are already stored.
          await this.parts.imageMarking.remove(item);
          return this.parts.records.markers.storeRefusal(item, error.reason);
        }
        this.parts.logger.info({ fileId: mainFile.id, itemId: item.id, reason: error.message }, 'LargeImage:AutoSet:Refused');
      }
    }
  }

  /** Changes the state of an image whose own file is the same, because another file that the image uses has changed. */
  async #changeRevision(item: ItemRecord): Promise<void> {
    const storedMarker = item.doc.largeImage as Record<string, unknown>;
    await this.#replaceMarker(item, { ...storedMarker, revision: randomUUID() });
  }

  /** Tries again to make the image of an item, because the files that it waited for have arrived. */
  async #retry(item: ItemRecord): Promise<void> {
    const file = item.missingFiles === null ? null : await this.parts.records.findFile(item.missingFiles.fileId);
    if (file === null || file.itemId !== item.id) return;
    if (item.largeImage === null) await this.#tryToMakeImage(item, file);
    else if (item.largeImage.originalId === undefined) await this.#updateAfterCompanionChange(item);
  }

  async #replaceMarker(item: ItemRecord, marker: Record<string, unknown>): Promise<void> {
    await this.parts.records.markers.replace(item, marker);
    this.parts.items.forget(item.id);
    await this.parts.imageMarking.discardPrevious(item);
  }

  /** Removes the large images that are served from removed files, and updates the images that use these files. */
  async #handleFilesRemoved(docs: readonly StoredDocument[]): Promise<void> {
    const { records, imageMarking, images } = this.parts;
    // Files without an item are skipped: no image is served from them, and there may be many.
    const files = docs.map((doc) => records.fileOf(doc)).filter(({ itemId }) => itemId !== null);
    for (const batch of batches(files)) {
      const servedItems = await records.markers.findItemsServedFrom(batch);
      for (const item of servedItems) await imageMarking.remove(item);
      for (const { id } of batch) images.closeFile(id);
      const servedFileIds = new Set(servedItems.map(({ largeImage }) => largeImage?.fileId));
      const existingItemIds = new Set(await records.filterExistingItems(batch.map(({ itemId }) => itemId!)));
      for (const file of batch)
        if (existingItemIds.has(file.itemId!)) await this.#updateAfterFileRemoval(file, servedFileIds.has(file.id));
    }
  }

  /** Updates the item that a file was removed from. @param wasServed whether a large image was served from the file. */
  async #updateAfterFileRemoval(file: FileRecord, wasServed: boolean): Promise<void> {
    const item = await this.parts.records.findItem(file.itemId!);
    if (item === null) return;
    if (item.largeImage !== null) await this.#updateAfterCompanionChange(item);
    else {
      await this.parts.records.markers.storeRefusal(item, null);
      if (wasServed) await this.#serveFromAnotherFile(item);
    }
    await this.#folderImageUpdater.handleChange(item, file);
  }

  /** Serves an item from another of its main files after the served file was removed. */
  async #serveFromAnotherFile(item: ItemRecord): Promise<void> {
    const [file] = await this.#mainFilesOf(item);
    if (file !== undefined) await this.#tryToMakeImage(item, file);
  }

  /** Removes everything that was stored for removed items. */
  async #handleItemsRemoved(docs: readonly StoredDocument[]): Promise<void> {
    const { items, changes, records } = this.parts;
    const removedItems = docs.map((doc) => ({ id: idText(doc._id), doc }));
    for (const { id } of removedItems) items.forget(id);
    await changes.announce(removedItems);
    await Promise.all(docs.map((doc) => this.#folderImageUpdater.handleChange(records.itemOf(doc), null)));
  }

  /** Updates the images that use files of hidden items. Nothing that is stored for the hidden items is removed. */
  async #handleItemsHidden(docs: readonly StoredDocument[]): Promise<void> {
    await Promise.all(docs.map((doc) => this.#folderImageUpdater.handleChange(this.parts.records.itemOf(doc), null)));
  }

  async #handleItemsShown(docs: readonly StoredDocument[]): Promise<void> {
    const { records } = this.parts;
    const handleFilesOf = async (item: ItemRecord) => {
      for (const file of await records.findFilesOfItem(item)) await this.#folderImageUpdater.handleChange(item, file);
    };
    await Promise.all(docs.map((doc) => handleFilesOf(records.itemOf(doc))));
  }

  /**
   * Makes the copy of an item a large image of its own copy of the image file. If that file was not copied, because a job had not
   * finished it yet, the copied item is not a large image.
   */
  async #handleItemCopied(doc: Record<string, unknown> & { _id: unknown }, fileIds: ReadonlyMap<string, string>): Promise<void> {
    const { records, items } = this.parts;
    const item = records.itemOf(doc);
    if (item.largeImage === null) return;
    const findFileCopy = async (id: string | undefined) => {
      const copyId = id === undefined ? undefined : fileIds.get(id);
      return copyId === undefined ? null : records.findFile(copyId);
    };
    const [fileCopy, originalCopy] = await Promise.all([
      findFileCopy(item.largeImage.fileId),
      findFileCopy(item.largeImage.originalId),
    ]);
    const {
      originalId: _originalId,
      expected: _expected,
      mergedInto: _mergedInto,
      ...storedMarker
    } = doc.largeImage as Record<string, unknown>;
    const marker = fileCopy && {
      ...storedMarker,
      fileId: fileCopy.doc._id,
      ...(originalCopy && { originalId: originalCopy.doc._id }),
    };
    await records.itemFields.store(item, 'largeImage', marker ?? undefined);
    items.forget(item.id);
    records.markers.announce(item.id);
  }
}

/**
 * Whether a file is a folder configuration, or a file that macOS adds next to each other file. Files with other names that start with
 * a dot can be parts of images.
 */
function isNeverImage(name: string): boolean {
  const lowerName = name.toLowerCase();
  return lowerName.startsWith('._') || (lowerName.startsWith('.') && (lowerName.endsWith('.yaml') || lowerName.endsWith('.yml')));
}
