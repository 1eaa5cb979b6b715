import { LRUCache } from 'lru-cache';
import { limitEntries } from '../../core/concurrency/lru-options.js';
import { TileSourceError } from '../../errors.js';
import type { HostFiles, HostFileTree, HostLogger } from '../../host.js';
import type { BlockCache } from './block-cache.js';
import type { FolderContents, ItemFile } from '../../core/host/folder-contents.js';
import type { FolderRecord, FileRecord, ItemRecord } from '../../core/host/records.js';
import type { FileTree, BorrowedImage, ByteReader, FolderFile, SourceFolder } from '../../tilesource/tile-source.js';
import { hostFileInput } from './file-input.js';

/** Maximum number of folders below an image that is itself a folder. */
const maxFolders = 20_000;
/** Maximum number of files in a folder that are compared with a pattern. */
const maxFiles = 20_000;
/** Maximum number of files of a tree whose records are kept in memory. */
const maxCachedFiles = 20_000;
/** Approximate memory of the record of a folder or file, in bytes. */
const bytesPerRecord = 500;

/** The other parts of an image, besides its file. The image is shown only to callers who can read all parts. */
export interface ImageParts {
  /** Ids of the items whose files the image uses. */
  items: Set<string>;
  /** Ids of the folders that the image uses as a whole. */
  folders: Set<string>;
  /** Ids of the items that the image refers to by id. They can be in any folder. */
  referencedItems: Set<string>;
}

/** Decides which other items and folders a file can refer to. All others count as missing. */
export interface FileVisibility {
  isItemVisible(id: string): Promise<boolean>;
  /** Filters folders to the visible ones. */
  filterFolders(ids: readonly string[]): Promise<ReadonlySet<string>>;
}

/** Opens a file of a folder as an image, which stays open while `use` runs. */
export type Borrow = <R>(
  itemFile: ItemFile,
  use: (image: BorrowedImage) => Promise<R> | R,
  options: { sourceName?: string; signal?: AbortSignal | undefined },
) => Promise<R>;

/** Options of {@link HostFolder}. */
export interface HostFolderOptions {
  contents: FolderContents;
  files: HostFiles;
  blocks: BlockCache;
  logger: HostLogger;
  /** The file of the image. Paths are relative to the folder of this file. */
  file: FileRecord;
  item: ItemRecord;
  findFolder: () => Promise<FolderRecord | null>;
  /** All files of the item, including `file`. */
  listOwnFiles: () => Promise<readonly FileRecord[]>;
  /** The file of the large image of an item. */
  findImageFile: (itemId: string) => Promise<ItemFile | null>;
  /** Receives every item and folder that the image uses. */
  parts: ImageParts;
  /** `null` makes everything visible. The caller's access to the image and its parts is then checked later. */
  visibility: FileVisibility | null;
  borrow: Borrow;
}

/** Splits a path into names. @returns `null` if the path is invalid or leaves the folder. */
function splitPath(path: string): string[] | null {
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  const isInvalid =
    path.startsWith('/') || path.includes('\\') || path.includes('\0') || path.length > 4096 || names.includes('..');
  return isInvalid || names.length > 64 ? null : names;
}

/** The folder of an item, as its files see it. Paths are looked up first among the files of the item itself, then in the folder. */
export class HostFolder implements SourceFolder {
  constructor(private readonly options: HostFolderOptions) {}

  async file(path: string): Promise<FolderFile | null> {
    const names = splitPath(path);
    if (names === null || names.length === 0) return null;
    const ownFile = (await this.#mapOwnFiles()).get(names.join('/'));
    if (ownFile !== undefined) return this.#toFolderFile({ file: ownFile, item: this.options.item });
    const folderFile = await this.#findInFolders(names);
    if (folderFile === null) return null;
    this.options.parts.items.add(folderFile.item.id);
    return this.#toFolderFile(folderFile);
  }

  async files(path: string): Promise<readonly string[] | null> {
    const names = splitPath(path);
    if (names === null) return null;
    const prefix = names.length === 0 ? '' : `${names.join('/')}/`;
    const ownPaths = [...(await this.#mapOwnFiles()).keys()].filter(
      (ownPath) => ownPath.startsWith(prefix) && !ownPath.includes('/', prefix.length) && ownPath !== this.options.file.name,
    );
    const folder = await this.#folderAt(names);
    if (folder === null && ownPaths.length === 0) return null;
    const siblingNames =
      folder === null ? [] : await this.options.contents.listFileNames(folder, this.options.item, maxFiles + 1);
    if (siblingNames.length > maxFiles) throw new TileSourceError(`There are more than ${maxFiles} files in the folder.`);
    // The set removes duplicates: files of this item and of the folder can have the same path.
    return [...new Set([...ownPaths, ...siblingNames.map((name) => prefix + name)])].toSorted((a, b) => (a < b ? -1 : 1));
  }

  async tree(path: string): Promise<FileTree | null> {
    const names = splitPath(path);
    if (names === null) return null;
    const servedTree = this.options.files.tree?.(this.options.file.doc) ?? null;
    if (servedTree !== null) return toFileTree(servedTree, names);
    const prefix = names.length === 0 ? '' : `${names.join('/')}/`;
    const ownEntries = [...(await this.#mapOwnFiles())].filter(
      ([ownPath]) => ownPath.startsWith(prefix) && ownPath !== this.options.file.name,
    );
    const ownFileByPath = new Map(ownEntries.map(([ownPath, file]) => [ownPath.slice(prefix.length), file]));
    const folder = await this.#folderAt(names);
    if (folder === null) return ownFileByPath.size === 0 ? null : new HostTree(this.options, new Map(), ownFileByPath);
    const folders = await this.options.contents.listFoldersBelow(folder, maxFolders);
    const { visibility } = this.options;
    if (folders !== null && visibility !== null) {
      const visibleIds = await visibility.filterFolders([...folders.values()].map(({ id }) => id));
      for (const [folderPath, { id }] of folders) if (folderPath !== '' && !visibleIds.has(id)) folders.delete(folderPath);
    }
    if (folders === null) {
      throw new TileSourceError(`It contains more than ${maxFolders} folders. Store it as a ZIP file, without compression.`);
    }
    for (const { id } of folders.values()) this.options.parts.folders.add(id);
    return new HostTree(this.options, folders, ownFileByPath);
  }

  async item(id: string): Promise<FolderFile | null> {
    // Ids of items that do not exist are added too, so that callers cannot find out whether an item exists that they cannot read.
    this.options.parts.items.add(id);
    this.options.parts.referencedItems.add(id);
    if ((await this.options.visibility?.isItemVisible(id)) === false) return null;
    const image = await this.options.findImageFile(id);
    if (image === null) return null;
    return this.#toFolderFile(image);
  }

  async #findInFolders(names: readonly string[]): Promise<ItemFile | null> {
    const { contents } = this.options;
    const folder = await this.#folderAt(names.slice(0, -1));
    if (folder !== null) return contents.findFileByName(folder, names.at(-1)!);
    // An item with several files counts as a folder that has the item's name.
    const parentFolder = names.length > 1 ? await this.#folderAt(names.slice(0, -2)) : null;
    return parentFolder === null ? null : contents.findFileByName(parentFolder, names.at(-1)!, names.at(-2)!);
  }

  async #folderAt(names: readonly string[]): Promise<FolderRecord | null> {
    let folder = await this.options.findFolder();
    for (const name of names) {
      if (folder === null) return null;
      folder = await this.options.contents.findChildFolder(folder, name);
      if (folder !== null && (await this.options.visibility?.filterFolders([folder.id]))?.has(folder.id) === false) return null;
    }
    return folder;
  }

  /** Files of the item by their paths, relative to the folder of the image's file. */
  async #mapOwnFiles(): Promise<Map<string, FileRecord>> {
    const { file, listOwnFiles } = this.options;
    const folderPrefix = file.name.slice(0, file.name.lastIndexOf('/') + 1);
    const filesBelow = (await listOwnFiles()).filter(({ name }) => name.startsWith(folderPrefix));
    // The files are reversed so that the first of several files with the same name is kept.
    return new Map(filesBelow.toReversed().map((ownFile) => [ownFile.name.slice(folderPrefix.length), ownFile]));
  }

  async #toFolderFile(itemFile: ItemFile): Promise<FolderFile> {
    const { borrow } = this.options;
    const input = await hostFileInput(itemFile.file, this.options);
    return { ...input, id: itemFile.file.id, borrow: (use, options = {}) => borrow(itemFile, use, options) };
  }
}

/** The files that the host serves together with the image file, below the folder that `parentNames` lead to. */
function toFileTree(tree: HostFileTree, parentNames: readonly string[]): FileTree {
  return {
    retainedBytes: bytesPerRecord,
    async file(path) {
      const names = splitPath(path);
      return names === null || names.length === 0 ? null : tree.file([...parentNames, ...names].join('/'));
    },
    close: async () => undefined,
  };
}

/** A folder whose files are read by their paths. */
class HostTree implements FileTree {
  readonly mayGrow = true;
  readonly #records = new LRUCache<string, { file: FileRecord | null }>(limitEntries(maxCachedFiles));

  constructor(
    private readonly options: HostFolderOptions,
    private readonly folders: ReadonlyMap<string, FolderRecord>,
    private readonly ownFileByPath: ReadonlyMap<string, FileRecord>,
  ) {}

  get retainedBytes(): number {
    return (this.folders.size + this.ownFileByPath.size + maxCachedFiles / 10) * bytesPerRecord;
  }

  async file(path: string): Promise<Pick<ByteReader, 'size' | 'read'> | null> {
    const cachedRecord = this.#records.get(path) ?? { file: this.ownFileByPath.get(path) ?? (await this.#find(path)) };
    this.#records.set(path, cachedRecord);
    if (cachedRecord.file === null) return null;
    const input = await hostFileInput(cachedRecord.file, this.options);
    return {
      size: cachedRecord.file.size,
      read: async (offset, length, options) => {
        const reader = await input.open();
        try {
          return await reader.read(offset, length, options);
        } finally {
          await reader.close();
        }
      },
    };
  }

  async #find(path: string): Promise<FileRecord | null> {
    const { contents } = this.options;
    const names = splitPath(path);
    if (names === null || names.length === 0) return null;
    const name = names.at(-1)!;
    const folder = this.folders.get(names.slice(0, -1).join('/'));
    if (folder !== undefined) return (await contents.findFileByName(folder, name))?.file ?? null;
    const parentFolder = names.length > 1 ? this.folders.get(names.slice(0, -2).join('/')) : undefined;
    return parentFolder === undefined ? null : ((await contents.findFileByName(parentFolder, name, names.at(-2)))?.file ?? null);
  }

  async close(): Promise<void> {
    // Nothing is open here, because each read closes its file.
  }
}
