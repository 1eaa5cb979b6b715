import type { ByteReader, SourceInput } from '../../../src/tilesource/tile-source.js';

/** An input of {@link memoryInput}, with a record of its reads. */
export interface MemoryInput extends SourceInput {
  path: null;
  /** Reads that left the file; a correct source makes none. */
  readonly strayReads: string[];
  readonly open: () => Promise<ByteReader>;
  openReaderCount(): number;
  /** Number of bytes that were read, including repeated reads. */
  bytesRead(): number;
}

/** A file in memory that notes reads outside of it. */
export function memoryInput(bytes: Uint8Array, name = 'memory.tif'): MemoryInput {
  const strayReads: string[] = [];
  let readers = 0;
  let read = 0;
  return {
    name,
    path: null,
    strayReads,
    openReaderCount: () => readers,
    bytesRead: () => read,
    open: async () => {
      readers += 1;
      return {
        size: bytes.length,
        read: async (offset, length) => {
          const isInside = Number.isSafeInteger(offset) && offset >= 0 && length >= 0 && offset + length <= bytes.length;
          if (!isInside) strayReads.push(`${length} at ${offset} of ${bytes.length}`);
          read += length;
          return new Uint8Array(bytes.subarray(offset, offset + length));
        },
        close: async () => {
          readers -= 1;
        },
      };
    },
  };
}
