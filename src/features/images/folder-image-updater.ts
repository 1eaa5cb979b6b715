import { groupCalls } from '../../core/database/group-calls.js';
import type { HostLogger } from '../../host.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { FileRecord, ItemRecord } from '../../core/host/records.js';
import type { TileSourceRegistry } from '../../tilesource/registry/registry.js';
import type { FolderDependants } from './folder-dependants.model.js';

/** Number of folders that are searched for images made from a file: its folder and the folders above. */
const maxFolders = 10;

/** Options of {@link FolderImageUpdater}. */
interface FolderImageUpdaterParts {
  records: HostRecords;
  dependants: FolderDependants;
  registry: TileSourceRegistry;
  logger: HostLogger;
  items: { forget(id: string): void };
  images: {
    /** Called when the image of an item has changed although its file has not. */
    changeRevision(item: ItemRecord): Promise<void>;
    /** Called when the files that an image was waiting for have arrived. */
    retry(item: ItemRecord): Promise<void>;
  };
}

/** A change of an item. */
interface FileChange {
  item: ItemRecord;
  /** The file that was added, changed or removed; `null` if the item was removed with all its files. */
  file: FileRecord | null;
}

/** Keeps images that are made of several files of a folder in step with these files. */
export class FolderImageUpdater {
  constructor(private readonly parts: FolderImageUpdaterParts) {}

  /**
   * After a file was added, changed or removed, updates the images of the file's folder and of the folders above it.
   *
   * @param file `null` if the item was removed with all its files.
   */
  async handleChange(item: ItemRecord, file: FileRecord | null): Promise<void> {
    await this.#handleChangesTogether({ item, file });
    const waitingItem = file === null ? null : await this.#reloadIfWaiting(item, file);
    if (waitingItem !== null) await this.parts.images.retry(waitingItem);
  }

  /** Handles changes together, because files that arrive together become images one after the other, within some milliseconds. */
  readonly #handleChangesTogether = groupCalls(
    async (changes: readonly FileChange[]) => {
      const changesByFolder = new Map<string, FileChange[]>();
      for (const change of changes) {
        const { folderId } = change.item;
        changesByFolder.set(folderId, [...(changesByFolder.get(folderId) ?? []), change]);
      }
      for (const [folderId, folderChanges] of changesByFolder) await this.#updateImagesAround(folderId, folderChanges);
      return changes.map(() => null);
    },
    { pauseMs: 100 },
  );

  /** Updates the images, in a folder and in the folders above it, that are made of changed files of this folder. */
  async #updateImagesAround(folderId: string, changes: readonly FileChange[]): Promise<void> {
    const { records, images, logger } = this.parts;
    const sources = this.parts.registry.sourcesThatReadFolders();
    const changedFiles = changes.map(({ item, file }) => ({
      item,
      file,
      paths: file === null ? [item.name] : pathsOf(item, file),
    }));
    const arrivedPaths = changedFiles.flatMap(({ file, paths }) => (file === null ? [] : paths));
    let pathPrefix = '';
    for (const folder of await records.contents.findWithAncestors(folderId, maxFolders)) {
      const waitingItems =
        arrivedPaths.length === 0
          ? []
          : await this.parts.dependants.markArrived(
              folder,
              arrivedPaths.map((path) => pathPrefix + path),
            );
      for (const waiting of waitingItems) {
        this.parts.items.forget(waiting.id);
        // `*` stands for any file that matches a pattern. Such a file may be among those that have arrived.
        if (waiting.missingFiles?.missing.every((each) => each === '*') === true) await images.retry(waiting);
      }
      for (const servedItem of await this.parts.dependants.findItemsServedBySources(folder, [...sources.keys()])) {
        const changedFile = changedFiles.find(
          ({ item, paths }) => servedItem.id !== item.id && paths.some((path) => this.#mayInclude(servedItem, pathPrefix + path)),
        );
        if (changedFile === undefined) continue;
        logger.debug({ itemId: servedItem.id, partOf: changedFile.item.id }, 'LargeImage:Parts:Changed');
        await images.changeRevision(servedItem);
      }
      pathPrefix = `${folder.name}/${pathPrefix}`;
    }
  }

  /** The current record of the item if it is waiting for this file, which is one of its own files; otherwise `null`. */
  async #reloadIfWaiting(item: ItemRecord, file: FileRecord): Promise<ItemRecord | null> {
    const current =
      item.missingFiles === null || item.missingFiles.fileId === file.id ? null : await this.parts.records.findItem(item.id);
    return current?.missingFiles?.missing.includes(file.name) === true ? current : null;
  }

  /** Whether the image of an item may include the file at a path. */
  #mayInclude({ name, largeImage }: ItemRecord, path: string): boolean {
    return this.parts.registry.get(largeImage?.sourceName ?? '')?.mayHold?.(name, path) ?? true;
  }
}

/** The paths under which an image in the folder may refer to a file. An item of several files counts as a folder. */
function pathsOf(item: ItemRecord, file: FileRecord): string[] {
  return [...new Set([file.name, item.name, `${item.name}/${file.name}`])];
}
