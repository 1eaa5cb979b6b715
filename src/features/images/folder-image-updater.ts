import { groupCalls } from '../../core/database/group-calls.js';
import type { HostLogger } from '../../host.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { FileRecord, ItemRecord } from '../../core/host/records.js';
import type { TileSourceRegistry } from '../../tilesource/registry/registry.js';
import type { FolderDependants } from './folder-dependants.model.js';

/** How many folders, from a file's own folder upward, are searched for images made from the file. */
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

interface FileChange {
  item: ItemRecord;
  /** The file that was added, changed or removed; `null` if the item was removed with all its files. */
  file: FileRecord | null;
}

/** Updates images that are made from several files of a folder when one of these files changes. */
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

  /** Handles the changes of 100 ms together, because files that arrive together become images some milliseconds apart. */
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

  /** Updates the images that are made from changed files of a folder. These images are in the folder itself or in folders above it. */
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
      for (const waitingItem of waitingItems) {
        this.parts.items.forget(waitingItem.id);
        // `*` stands for any file that matches a pattern. One of the arrived files may match it.
        if (waitingItem.missingFiles?.missing.every((path) => path === '*') === true) await images.retry(waitingItem);
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

  /** The item's current record if the item is waiting for `file`, which is one of its own files; otherwise `null`. */
  async #reloadIfWaiting(item: ItemRecord, file: FileRecord): Promise<ItemRecord | null> {
    const currentItem =
      item.missingFiles === null || item.missingFiles.fileId === file.id ? null : await this.parts.records.findItem(item.id);
    return currentItem?.missingFiles?.missing.includes(file.name) === true ? currentItem : null;
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
