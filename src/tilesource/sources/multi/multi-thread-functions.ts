import { orRefusal, type Refusal } from '../../codecs/threads/refusal.js';
import { readDescription, type MultiDescription } from './multi-description.js';
import { fittingNames, type FittingName, type PatternSearch } from './patterns.js';

/** What runs in the decoding threads for images that are made of others. */
export const multiThreadFunctions = {
  /** Reads the description of an image that is made of others. */
  multiDescription(text: string): { description: MultiDescription } | Refusal {
    return orRefusal(() => ({ description: readDescription(text) }));
  },

  /** Finds the files that match the patterns of such a description. */
  fittingNames(search: PatternSearch): { names: FittingName[][] } | Refusal {
    return orRefusal(() => ({ names: fittingNames(search) }));
  },
};
