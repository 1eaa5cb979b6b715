import type { Types } from 'mongoose';
import type { FileInPlace } from '../../files/in-place.js';

/** A file that has an item, in its last known state. */
export type KnownFile = Pick<FileInPlace, '_id' | 'name' | 'size' | 'itemId'> & { storage: FileInPlace['storage'] };

/** Properties by which a file at a new path is recognized as a known file that is gone. */
export interface FileIdentity {
  inode: string;
  size: number;
  modified: Date;
  /** Called only if a file of this size and time is gone, because it reads from the disk. */
  digest: () => Promise<string>;
}

/**
 * Known files that no longer exist. They are looked up by keys instead of being compared one by one, because a folder of 100,000 files may have
 * been renamed.
 */
export class GoneFiles {
  readonly #filesByKey = new Map<string, Set<KnownFile>>();
  readonly #files = new Set<KnownFile>();

  add(file: KnownFile): void {
    this.#files.add(file);
    for (const key of keysOf(file)) {
      const filesWithKey = this.#filesByKey.get(key);
      if (filesWithKey === undefined) this.#filesByKey.set(key, new Set([file]));
      else filesWithKey.add(file);
    }
  }

  /** Number of files. */
  get size(): number {
    return this.#files.size;
  }

  /** Ids of the items of the files. */
  listItemIds(): Types.ObjectId[] {
    return [...this.#files].flatMap(({ itemId }) => itemId ?? []);
  }

  /** Removes and returns the gone file that has the same properties as a file at a new path; `null` if there is none. */
  async takeMoved({ inode, size, modified, digest }: FileIdentity): Promise<KnownFile | null> {
    const sizeAndTime = createSizeAndTimeKey(size, modified);
    if (!this.#filesByKey.has(sizeAndTime)) return null;
    const file = this.#findFirst(`${inode} ${sizeAndTime}`) ?? this.#findFirst(`${await digest()} ${sizeAndTime}`);
    if (file === undefined) return null;
    this.#remove(file);
    return file;
  }

  /** Removes and returns the files at a path. Copies of an item have separate records of the same file. */
  takeAt(path: string): KnownFile[] {
    const files = [...(this.#filesByKey.get(path) ?? [])];
    for (const file of files) this.#remove(file);
    return files;
  }

  #findFirst(key: string): KnownFile | undefined {
    const [firstFile] = this.#filesByKey.get(key) ?? [];
    return firstFile;
  }

  #remove(file: KnownFile): void {
    this.#files.delete(file);
    for (const key of keysOf(file)) {
      const filesWithKey = this.#filesByKey.get(key);
      filesWithKey?.delete(file);
      if (filesWithKey?.size === 0) this.#filesByKey.delete(key);
    }
  }
}

function createSizeAndTimeKey(size: number | undefined, modified: Date | undefined): string {
  return `${size ?? 0} ${modified?.getTime()}`;
}

/** The keys of a file: its path, and combinations of its properties. Only a path begins with a slash, so it cannot equal another key. */
function keysOf({ size, storage }: KnownFile): string[] {
  const sizeAndTime = createSizeAndTimeKey(size, storage.modified);
  return [storage.path, sizeAndTime, `${storage.inode} ${sizeAndTime}`, `${storage.digest} ${sizeAndTime}`];
}
