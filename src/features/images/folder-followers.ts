import type { HostLogger } from '../../host.js';
import type { HostRecords } from '../../core/host/host-records.js';
import type { FileRecord, ItemRecord } from '../../core/host/records.js';
import type { TileSourceRegistry } from '../../tilesource/registry/registry.js';

/** Folders above a file whose images may be made of it, itself counted. */
const maxAbove = 10;

/** What {@link FolderFollowers} works with. */
interface FollowerParts {
  records: HostRecords;
  registry: TileSourceRegistry;
  logger: HostLogger;
  items: { forget(id: string): void };
  images: {
    /** The image of an item has changed although its file has not. */
    changeRevision(item: ItemRecord): Promise<void>;
    /** What the image of an item waited for has come. */
    retry(item: ItemRecord): Promise<void>;
  };
}

/** Keeps images that are made of several files of a folder in step with these. */
export class FolderFollowers {
  constructor(private readonly parts: FollowerParts) {}

  /**
   * A file of an item has come, changed or gone: images of its folder, and of those above, may be made of it.
   *
   * @param file `null` where the item has gone with all its files.
   */
  async changed(item: ItemRecord, file: FileRecord | null): Promise<void> {
    const { records, images, logger } = this.parts;
    const sources = this.parts.registry.readingFolders();
    const paths = file === null ? [item.name] : pathsOf(item, file);
    let below = '';
    for (const folder of await records.contents.ancestry(item.folderId, maxAbove)) {
      for (const path of file === null ? [] : paths) {
        for (const waiting of await records.dependants.arrived(folder, below + path)) {
          this.parts.items.forget(waiting.id);
          if (waiting.waiting?.missing.every((each) => each === '*') === true) await images.retry(waiting);
        }
      }
      for (const served of await records.dependants.served(folder, [...sources.keys()])) {
        if (
          served.id === item.id ||
          !this.#mayHold(
            served,
            paths.map((path) => below + path),
          )
        )
          continue;
        logger.debug({ itemId: served.id, partOf: item.id }, 'LargeImage:Parts:Changed');
        await images.changeRevision(served);
      }
      below = `${folder.name}/${below}`;
    }
    if (file !== null) for (const waiting of await this.#ownWaiting(item, file)) await images.retry(waiting);
  }

  /** The item itself, where it waits for that file. */
  async #ownWaiting(item: ItemRecord, file: FileRecord): Promise<ItemRecord[]> {
    const now = item.waiting === null || item.waiting.fileId === file.id ? null : await this.parts.records.findItem(item.id);
    return now?.waiting?.missing.includes(file.name) === true ? [now] : [];
  }

  #mayHold({ name, largeImage }: ItemRecord, paths: readonly string[]): boolean {
    const source = this.parts.registry.get(largeImage?.sourceName ?? '');
    return source?.mayHold === undefined || paths.some((path) => source.mayHold?.(name, path) === true);
  }
}

/** Paths by which a file is found from its folder. */
function pathsOf(item: ItemRecord, file: FileRecord): string[] {
  return [...new Set([file.name, item.name, `${item.name}/${file.name}`])];
}
