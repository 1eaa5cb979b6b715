import type { Size } from '../geometry.js';
import type { Raster } from '../raster.js';
import { tagOf, type DirectoryPlan, type Tag, type TiffContainer } from './container.js';

/** A level of a pyramid that is being written. Its tiles are numbered row by row. */
export interface Level extends Size {
  /** Number of tiles in a row. */
  columns: number;
  /** Position in the file, in bytes, of each tile. */
  offsets: Float64Array;
  /** Length in bytes of each tile. */
  lengths: Float64Array;
}

/** Maximum number of bytes of uncompressed tiles that wait to be encoded and written. */
const maxWaitingBytes = 2 ** 25;

/** Creates a level of this size, without tiles. */
export function createLevel({ width, height }: Size, tileSide: number): Level {
  const columns = Math.ceil(width / tileSide);
  const tileCount = columns * Math.ceil(height / tileSide);
  return { width, height, columns, offsets: new Float64Array(tileCount), lengths: new Float64Array(tileCount) };
}

/** Size of the next coarser level. An odd last row or column is dropped. */
export function halfSize({ width, height }: Size): Size {
  return { width: Math.max(1, Math.floor(width / 2)), height: Math.max(1, Math.floor(height / 2)) };
}

/**
 * A directory for each level, finest first, with the tags that all tiled TIFFs need.
 *
 * @param firstHalvings how many times the image was halved to make the first of these levels.
 */
export function levelDirectories(levels: readonly Level[], tileSide: number, firstHalvings = 0): DirectoryPlan[] {
  return levels.map(({ width, height, offsets, lengths }, index): DirectoryPlan => {
    const tags: Tag[] = [
      tagOf.long(254, firstHalvings + index === 0 ? 0 : 1), // NewSubfileType: reduced or not
      tagOf.long(256, width), // ImageWidth
      tagOf.long(257, height), // ImageLength
      tagOf.short(284, 1), // PlanarConfiguration: interleaved
      tagOf.long(322, tileSide), // TileWidth
      tagOf.long(323, tileSide), // TileLength
    ];
    return { tags, chunks: { kind: 'tiles', offsets, lengths } };
  });
}

/** Encodes tiles and appends them to a file, several at a time. */
export class TileQueue {
  readonly #container: TiffContainer;
  readonly #encode: (tile: Raster) => Promise<Uint8Array> | Uint8Array;
  readonly #runningWrites = new Set<Promise<void>>();
  #failure: { error: unknown } | null = null;

  constructor(container: TiffContainer, encode: (tile: Raster) => Promise<Uint8Array> | Uint8Array) {
    this.#container = container;
    this.#encode = encode;
  }

  /** Starts to encode and write a tile. Waits while too many bytes are being written. */
  async add(level: Level, tileIndex: number, tile: Raster): Promise<void> {
    const write: Promise<void> = this.#write(level, tileIndex, tile)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#runningWrites.delete(write));
    this.#runningWrites.add(write);
    // The caller reads on while tiles are encoded, up to this limit.
    while (this.#runningWrites.size > 0 && (this.#runningWrites.size + 1) * tile.data.byteLength > maxWaitingBytes) {
      await Promise.race(this.#runningWrites);
    }
  }

  /** @throws the error of an earlier tile, if one has failed. */
  throwIfFailed(): void {
    if (this.#failure !== null) throw this.#failure.error;
  }

  /** Waits until all tiles are written or have failed. Does not throw. */
  async settle(): Promise<void> {
    await Promise.all(this.#runningWrites);
  }

  async #write(level: Level, tileIndex: number, tile: Raster): Promise<void> {
    const bytes = await this.#encode(tile);
    level.offsets[tileIndex] = await this.#container.append(bytes);
    level.lengths[tileIndex] = bytes.length;
  }
}
