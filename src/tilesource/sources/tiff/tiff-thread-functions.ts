import { resultOrRefusal, type Refusal } from '../../codecs/threads/refusal.js';
import { readOme } from './ome.js';

/** Functions for TIFF that run in the decoding threads. */
export const tiffThreadFunctions = {
  /** Reads OME-XML, which may describe many planes. Returns the description as JSON, in which maps are lists of entries. */
  omeDescription(xml: string): { json: string } | Refusal {
    return resultOrRefusal(() => {
      const description = readOme(xml);
      return { json: JSON.stringify({ ...description, associated: [...description.associated] }) };
    });
  },
};
