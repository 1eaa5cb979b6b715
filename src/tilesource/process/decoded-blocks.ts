import { LRUCache } from 'lru-cache';
import type { Raster } from '../raster.js';
import { isSliceOver, nextSlice } from '../../core/concurrency/slices.js';
import { SharedWork } from './shared-work.js';

/**
 * Bytes that a cached block counts in addition to its samples. An entry takes some hundred bytes of memory, and time to remove.
 * Otherwise, files with blocks of single pixels would fill the memory with tens of millions of entries.
 */
const bytesPerEntry = 2048;

/** A block, and the keys of all cached blocks of its file. Evicting a block removes its own key from `keys`. */
interface CachedBlock {
  raster: Raster;
  keys: Set<string>;
}

/**
 * Caches decoded blocks, because neighboring tiles need the same block. Blocks are the parts in which a file stores its samples.
 * All files of a tile source share one cache, so that their total memory is bounded.
 */
export class DecodedBlocks {
  readonly #blocks: LRUCache<string, CachedBlock>;
  readonly #runningDecodes = new SharedWork<Raster>();
  #fileCount = 0;

  constructor(maxBytes: number) {
    this.#blocks = new LRUCache({
      maxSize: maxBytes,
      sizeCalculation: ({ raster }) => raster.data.byteLength + bytesPerEntry,
      dispose: ({ keys }, key) => keys.delete(key),
    });
  }

  /** Creates the access to the blocks of a file that has been opened. */
  createFileBlocks(): FileBlocks {
    this.#fileCount += 1;
    const prefix = `${this.#fileCount}/`;
    const keys = new Set<string>();
    return {
      read: (name, decode, signal) => {
        const key = prefix + name;
        const cached = this.#blocks.get(key);
        if (cached !== undefined) return Promise.resolve(cached.raster);
        return this.#runningDecodes.join(
          key,
          async (sharedSignal) => {
            const raster = await decode(sharedSignal);
            this.#blocks.set(key, { raster, keys });
            if (this.#blocks.has(key)) keys.add(key);
            return raster;
          },
          signal,
        );
      },
      free: () => void this.#forget(keys),
    };
  }

  async #forget(keys: ReadonlySet<string>): Promise<void> {
    for (const key of keys) {
      this.#blocks.delete(key);
      if (isSliceOver()) await nextSlice();
    }
  }
}

/** The decoded blocks of one file. */
export interface FileBlocks {
  /**
   * Returns the block with this name. A block that is not cached is decoded once for all simultaneous callers. Callers must not
   * change the block.
   *
   * @param decode gets a signal that is aborted when no caller is waiting.
   */
  read(name: string, decode: (signal: AbortSignal) => Promise<Raster>, signal?: AbortSignal): Promise<Raster>;
  /** Frees all blocks, because the file is closed. */
  free(): void;
}
