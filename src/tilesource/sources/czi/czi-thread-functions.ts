import { bufferOf } from '../../../core/buffer-of.js';
import { readCziMetadata, type CziMetadata } from './czi-metadata.js';

/** Functions for CZI that run in the decoding threads. */
export const cziThreadFunctions = {
  /** Reads the XML of a CZI file, which may have many megabytes. */
  cziFacts(xml: Uint8Array): CziMetadata {
    return readCziMetadata(bufferOf(xml).toString('utf8'));
  },
};
