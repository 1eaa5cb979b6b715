import { CorruptTileError, FailedReadError, LargeImageError, MissingPartsError, TileSourceError } from '../../errors.js';
import { inRuns } from '../../core/concurrency/slices.js';
import { levelScale, type Box, type PyramidShape, type Window } from '../geometry.js';
import type { TileAddress } from '../tile-source.js';
import type { Picture } from './pixels.js';

/** Corrupt tiles of a picture. They are collected while the picture is read, and drawn as holes at the end. */
export class CorruptTiles {
  readonly #errors = new Map<string, CorruptTileError>();
  /** Number of other tiles that were read. */
  #good = 0;

  get count(): number {
    return this.#errors.size;
  }

  /** How often a corrupt tile was found; the same one may be found again. */
  met = 0;

  add(error: CorruptTileError): void {
    this.met += 1;
    this.#errors.set(tileKey(error.tile), error);
  }

  addGood(count = 1): void {
    this.#good += count;
  }

  /** @throws the first error, if the picture would contain nothing but corrupt tiles. */
  check(): void {
    const [first] = this.#errors.values();
    if (first !== undefined && this.#good === 0) throw first;
  }

  /**
   * Draws the holes, in place: opaque and hatched, so that nobody mistakes them for a part of the image.
   *
   * @param shown the area of the picture, in pixels of full resolution.
   */
  async draw(picture: Picture, shape: PyramidShape, shown: Window): Promise<void> {
    const across = picture.width / shown.width;
    const down = picture.height / shown.height;
    for (const { tile } of this.#errors.values()) {
      const scale = levelScale(shape, tile.level);
      const [width, height] = [shape.tileWidth * scale, shape.tileHeight * scale];
      const side = (from: number, length: number, ratio: number, limit: number): [number, number] => {
        const start = Math.max(0, Math.floor(from * ratio));
        return [start, Math.min(limit, Math.max(start + 1, Math.ceil((from + length) * ratio)))];
      };
      const [left, right] = side(tile.x * width - shown.left, width, across, picture.width);
      const [top, bottom] = side(tile.y * height - shown.top, height, down, picture.height);
      await hatch(picture, { left, top, width: right - left, height: bottom - top });
    }
  }
}

/** Width of the stripes of holes in pixels, and their two grays. */
const stripe = 8;
const grays = [64, 192] as const;

async function hatch({ data, width, bands }: Picture, box: Box): Promise<void> {
  if (box.width <= 0 || box.height <= 0) return;
  const hasAlpha = bands === 2 || bands === 4;
  await inRuns(box.height, Math.max(1, Math.ceil(65_536 / box.width)), (from, to) => {
    for (let y = box.top + from; y < box.top + to; y += 1) {
      for (let x = box.left; x < box.left + box.width; x += 1) {
        const at = (y * width + x) * bands;
        data.fill(grays[Math.floor((x + y) / stripe) % 2]!, at, at + bands);
        if (hasAlpha) data[at + bands - 1] = 255;
      }
    }
  });
}

/** A name that is equal only for the same tile. */
export function tileKey({ level, x, y, frame }: Readonly<TileAddress>): string {
  return `${frame}/${level}/${x}/${y}`;
}

/**
 * The error for a tile that a source could not read: a {@link CorruptTileError} if its bytes cannot be decoded, otherwise the error
 * unchanged, because a failed read may succeed the next time.
 */
export function tileError(error: unknown, tile: TileAddress): unknown {
  return error instanceof TileSourceError && !isFailedRead(error) ? new CorruptTileError(tile, error) : error;
}

/** Whether reading failed, rather than decoding. Sources may have wrapped the error. */
function isFailedRead(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof FailedReadError || cause instanceof MissingPartsError || cause.name === 'AbortError') return true;
    // These are full queues, unreachable hosts and missing files.
    if (cause instanceof LargeImageError && !(cause instanceof TileSourceError)) return true;
    // Errors of the operating system name their call; those of libraries, such as zlib, do not.
    if ('syscall' in cause) return true;
  }
  return false;
}
