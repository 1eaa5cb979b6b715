import { LRUCache } from 'lru-cache';
import type { Raster } from '../raster.js';
import { SharedWork } from './shared-work.js';

/**
 * Decoded parts of files that are larger than a tile, kept for the tiles beside it. One for all files of a tile source, so that their
 * memory is bounded together.
 */
export class DecodedBlocks {
  readonly #kept: LRUCache<string, Raster>;
  readonly #underWay = new SharedWork<Raster>();
  #lastOwner = 0;

  constructor(maxBytes: number) {
    this.#kept = new LRUCache({ maxSize: maxBytes, sizeCalculation: ({ data }) => Math.max(1, data.byteLength) });
  }

  /** The blocks of one opened file. */
  ofFile(): FileBlocks {
    this.#lastOwner += 1;
    const prefix = `${this.#lastOwner}/`;
    return {
      read: (name, decode, signal) => {
        const key = prefix + name;
        const kept = this.#kept.get(key);
        if (kept !== undefined) return Promise.resolve(kept);
        return this.#underWay.join(
          key,
          async (wanted) => {
            const raster = await decode(wanted);
            this.#kept.set(key, raster);
            return raster;
          },
          signal,
        );
      },
      forget: () => {
        for (const key of this.#kept.keys()) if (key.startsWith(prefix)) this.#kept.delete(key);
      },
    };
  }
}

/** The decoded blocks of one file. */
export interface FileBlocks {
  /**
   * The block of this name, from memory or else decoded, once for all callers at the same time. It must not be changed.
   *
   * @param decode gets a signal that is aborted when no caller waits any more.
   */
  read(name: string, decode: (signal: AbortSignal) => Promise<Raster>, signal?: AbortSignal): Promise<Raster>;
  /** Frees all blocks, because the file is closed. */
  forget(): void;
}
