import { bufferOf } from '../../../core/buffer-of.js';
import { readCziFacts, type CziFacts } from './czi-metadata.js';

/** Functions for CZI that run in the decoding threads. */
export const cziThreadFunctions = {
  /** Reads the XML of a CZI file, which may have many megabytes. */
  cziFacts(xml: Uint8Array): CziFacts {
    return readCziFacts(bufferOf(xml).toString('utf8'));
  },
};
