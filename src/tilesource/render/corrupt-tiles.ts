import { CorruptTileError, FailedReadError, LargeImageError, MissingPartsError, TileSourceError } from '../../errors.js';
import type { TileAddress } from '../tile-source.js';

/**
 * The error of a tile that a source could not read: a {@link CorruptTileError} where its bytes cannot be decoded, otherwise the error as it is,
 * because a read that failed may succeed the next time.
 */
export function tileError(error: unknown, tile: TileAddress): unknown {
  return error instanceof TileSourceError && !isFailedRead(error) ? new CorruptTileError(tile, error) : error;
}

/** Whether reading failed, and not decoding. Sources may have wrapped the error. */
function isFailedRead(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof FailedReadError || cause instanceof MissingPartsError || cause.name === 'AbortError') return true;
    // Full queues, unreachable hosts, missing files.
    if (cause instanceof LargeImageError && !(cause instanceof TileSourceError)) return true;
    // Errors of the operating system name their call; those of libraries, such as zlib, do not.
    if ('syscall' in cause) return true;
  }
  return false;
}
