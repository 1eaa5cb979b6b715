import { transferBytes } from '../../../core/concurrency/thread-functions.js';
import { decodeZarrChunk, type ZarrChunk, type ZarrLibraries } from './zarr-chunk.js';

/** Functions for Zarr that run in the decoding threads. The threads load the libraries, because other formats use them too. */
export function zarrThreadFunctions(libraries: ZarrLibraries) {
  return {
    /** Decodes a chunk of a Zarr array. */
    async zarrChunk(chunk: ZarrChunk): Promise<Uint8Array<ArrayBuffer>> {
      const data = await decodeZarrChunk(chunk, libraries);
      return transferBytes(data, data);
    },
  };
}
