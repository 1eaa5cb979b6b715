import { resultOrRefusal, type Refusal } from '../../codecs/threads/refusal.js';
import { readDescription, type MultiDescription } from './multi-description.js';
import { findMatchingNames, type MatchingName, type PatternSearch } from './patterns.js';

/** Functions for images that combine other images. The functions run in the decoding threads. */
export const multiThreadFunctions = {
  /** Reads the description of an image that combines other images. */
  multiDescription(text: string): { description: MultiDescription } | Refusal {
    return resultOrRefusal(() => ({ description: readDescription(text) }));
  },

  /** Finds the files that match the patterns of a description. */
  matchingNames(search: PatternSearch): { names: MatchingName[][] } | Refusal {
    return resultOrRefusal(() => ({ names: findMatchingNames(search) }));
  },
};
