import type { Size } from '../geometry.js';
import type { Raster } from '../raster.js';
import { tagOf, type DirectoryPlan, type Tag, type TiffContainer } from './container.js';

/** A level of a pyramid that is being written. Offsets and lengths of its tiles in the file are row by row, in bytes. */
export interface Level extends Size {
  columns: number;
  offsets: Float64Array;
  lengths: Float64Array;
}

/** Maximum number of bytes of uncompressed tiles that wait to be encoded and written. */
const maxWaitingBytes = 2 ** 25;

/** A level of this size, before any of its tiles is written. */
export function createLevel({ width, height }: Size, tileSide: number): Level {
  const columns = Math.ceil(width / tileSide);
  const tiles = columns * Math.ceil(height / tileSide);
  return { width, height, columns, offsets: new Float64Array(tiles), lengths: new Float64Array(tiles) };
}

/** Size of the next coarser level. An odd last row or column is dropped. */
export function halfSize({ width, height }: Size): Size {
  return { width: Math.max(1, Math.floor(width / 2)), height: Math.max(1, Math.floor(height / 2)) };
}

/**
 * A directory for each level, finest first, with the tags that all tiled TIFFs need.
 *
 * @param first number of halvings from full resolution to the first level of the list.
 */
export function levelDirectories(levels: readonly Level[], tileSide: number, first = 0): DirectoryPlan[] {
  return levels.map(({ width, height, offsets, lengths }, index): DirectoryPlan => {
    const tags: Tag[] = [
      tagOf.long(254, first + index === 0 ? 0 : 1),
      tagOf.long(256, width),
      tagOf.long(257, height),
      tagOf.short(284, 1),
      tagOf.long(322, tileSide),
      tagOf.long(323, tileSide),
    ];
    return { tags, chunks: { kind: 'tiles', offsets, lengths } };
  });
}

/** Encodes tiles and appends them to a file, several at a time. */
export class TileQueue {
  readonly #container: TiffContainer;
  readonly #encode: (tile: Raster) => Promise<Uint8Array> | Uint8Array;
  readonly #writing = new Set<Promise<void>>();
  #failure: { error: unknown } | null = null;

  constructor(container: TiffContainer, encode: (tile: Raster) => Promise<Uint8Array> | Uint8Array) {
    this.#container = container;
    this.#encode = encode;
  }

  /** Starts to encode and write a tile; waits while too many bytes are being written. */
  async add(level: Level, index: number, tile: Raster): Promise<void> {
    const writing: Promise<void> = this.#write(level, index, tile)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
    // The caller reads on while tiles are encoded, up to this limit.
    while (this.#writing.size > 0 && (this.#writing.size + 1) * tile.data.byteLength > maxWaitingBytes) {
      await Promise.race(this.#writing);
    }
  }

  /** @throws the error of an earlier tile, if one has failed. */
  throwIfFailed(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  /** Waits until all tiles are written or have failed. Does not throw. */
  async settle(): Promise<void> {
    await Promise.all(this.#writing);
  }

  async #write(level: Level, index: number, tile: Raster): Promise<void> {
    const bytes = await this.#encode(tile);
    level.offsets[index] = await this.#container.append(bytes);
    level.lengths[index] = bytes.length;
  }
}
