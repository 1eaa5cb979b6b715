import type { Types } from 'mongoose';
import type { FileInPlace } from '../../files/in-place.js';

/** A file that has an item, in its last known state. */
export type KnownFile = Pick<FileInPlace, '_id' | 'name' | 'size' | 'itemId'> & { storage: FileInPlace['storage'] };

/** The facts by which a file is found among those that are gone. */
export interface FileFacts {
  inode: string;
  size: number;
  modified: Date;
  /** Called only if a file of this size and time is gone, because it reads from the disk. */
  digest: () => Promise<string>;
}

/**
 * Known files that no longer exist. They are found without comparing each with each, because a folder of 100,000 files may be renamed.
 */
export class GoneFiles {
  readonly #byKey = new Map<string, Set<KnownFile>>();
  readonly #files = new Set<KnownFile>();

  add(file: KnownFile): void {
    this.#files.add(file);
    for (const key of keysOf(file)) {
      const others = this.#byKey.get(key);
      if (others === undefined) this.#byKey.set(key, new Set([file]));
      else others.add(file);
    }
  }

  /** Number of files. */
  get size(): number {
    return this.#files.size;
  }

  /** Ids of the items of the files. */
  itemIds(): Types.ObjectId[] {
    return [...this.#files].flatMap(({ itemId }) => itemId ?? []);
  }

  /** Removes and returns the file that now has another path; `null` if there is none. */
  async take({ inode, size, modified, digest }: FileFacts): Promise<KnownFile | null> {
    const state = stateKey(size, modified);
    if (!this.#byKey.has(state)) return null;
    const file = this.#firstWith(`${inode} ${state}`) ?? this.#firstWith(`${await digest()} ${state}`);
    if (file === undefined) return null;
    this.#remove(file);
    return file;
  }

  /** Removes and returns the files at a path. Copies of an item have separate records of the same file. */
  takeAt(path: string): KnownFile[] {
    const files = [...(this.#byKey.get(path) ?? [])];
    for (const file of files) this.#remove(file);
    return files;
  }

  #firstWith(key: string): KnownFile | undefined {
    const [first] = this.#byKey.get(key) ?? [];
    return first;
  }

  #remove(file: KnownFile): void {
    this.#files.delete(file);
    for (const key of keysOf(file)) {
      const others = this.#byKey.get(key);
      others?.delete(file);
      if (others?.size === 0) this.#byKey.delete(key);
    }
  }
}

function stateKey(size: number | undefined, modified: Date | undefined): string {
  return `${size ?? 0} ${modified?.getTime()}`;
}

/** The keys of the different facts never equal each other, because paths begin with a slash. */
function keysOf({ size, storage }: KnownFile): string[] {
  const state = stateKey(size, storage.modified);
  return [storage.path, state, `${storage.inode} ${state}`, `${storage.digest} ${state}`];
}
