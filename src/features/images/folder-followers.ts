import { grouped } from '../../core/database/grouped.js';
import type { HostLogger } from '../../host.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { FileRecord, ItemRecord } from '../../core/host/records.js';
import type { TileSourceRegistry } from '../../tilesource/registry/registry.js';
import type { FolderDependants } from './folder-dependants.model.js';

/** Number of folders that are searched for images made from a file: its folder and the folders above. */
const maxFolders = 10;

/** Options of {@link FolderFollowers}. */
interface FollowerParts {
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

/** A file that was added, changed or removed; `null` if its item was removed. */
interface Change {
  item: ItemRecord;
  file: FileRecord | null;
}

/** Keeps images that are made of several files of a folder in step with these files. */
export class FolderFollowers {
  constructor(private readonly parts: FollowerParts) {}

  /**
   * Updates the images of its folder, and of the folders above, after a file was added, changed or removed.
   *
   * @param file `null` if the item was removed with all its files.
   */
  async handleChange(item: ItemRecord, file: FileRecord | null): Promise<void> {
    await this.#handleChangesTogether({ item, file });
    if (file !== null) for (const waiting of await this.#findOwnWaiting(item, file)) await this.parts.images.retry(waiting);
  }

  /** Files that arrive together, such as those of a served folder, become images one after the other within some milliseconds. Their changes are handled together. */
  readonly #handleChangesTogether = grouped(
    async (changes: readonly Change[]) => {
      const changesByFolder = new Map<string, Change[]>();
      for (const change of changes) {
        const { folderId } = change.item;
        changesByFolder.set(folderId, [...(changesByFolder.get(folderId) ?? []), change]);
      }
      for (const [folderId, folderChanges] of changesByFolder) await this.#updateImagesAround(folderId, folderChanges);
      return changes.map(() => null);
    },
    { pauseMs: 100 },
  );

  /** Updates the images in one folder and the folders above that are made of changed files of the folder. */
  async #updateImagesAround(folderId: string, changes: readonly Change[]): Promise<void> {
    const { records, images, logger } = this.parts;
    const sources = this.parts.registry.readingFolders();
    const changed = changes.map(({ item, file }) => ({ item, file, paths: file === null ? [item.name] : pathsOf(item, file) }));
    const arrived = changed.flatMap(({ file, paths }) => (file === null ? [] : paths));
    let pathPrefix = '';
    for (const folder of await records.contents.ancestry(folderId, maxFolders)) {
      const waitingItems =
        arrived.length === 0
          ? []
          : await this.parts.dependants.markArrived(
              folder,
              arrived.map((path) => pathPrefix + path),
            );
      for (const waiting of waitingItems) {
        this.parts.items.forget(waiting.id);
        if (waiting.waiting?.missing.every((each) => each === '*') === true) await images.retry(waiting);
      }
      for (const served of await this.parts.dependants.findItemsServedBy(folder, [...sources.keys()])) {
        const part = changed.find(
          ({ item, paths }) => served.id !== item.id && paths.some((path) => this.#mayHold(served, pathPrefix + path)),
        );
        if (part === undefined) continue;
        logger.debug({ itemId: served.id, partOf: part.item.id }, 'LargeImage:Parts:Changed');
        await images.changeRevision(served);
      }
      pathPrefix = `${folder.name}/${pathPrefix}`;
    }
  }

  /** The item itself, if it waits for this file. */
  async #findOwnWaiting(item: ItemRecord, file: FileRecord): Promise<ItemRecord[]> {
    const current = item.waiting === null || item.waiting.fileId === file.id ? null : await this.parts.records.findItem(item.id);
    return current?.waiting?.missing.includes(file.name) === true ? [current] : [];
  }

  /** Whether the image of an item may include the file at a path. */
  #mayHold({ name, largeImage }: ItemRecord, path: string): boolean {
    return this.parts.registry.get(largeImage?.sourceName ?? '')?.mayHold?.(name, path) ?? true;
  }
}

/** Paths by which an image in the folder may name a file: an item of several files counts as a folder. */
function pathsOf(item: ItemRecord, file: FileRecord): string[] {
  return [...new Set([file.name, item.name, `${item.name}/${file.name}`])];
}
