import { cziThreadFunctions } from '../sources/czi/czi-thread-functions.js';
import { dicomThreadFunctions } from '../sources/dicom/dicom-thread-functions.js';
import { multiThreadFunctions } from '../sources/multi/multi-thread-functions.js';
import { tiffThreadFunctions } from '../sources/tiff/tiff-thread-functions.js';

/**
 * What the tile sources of the package run in the decoding threads. It is a list of its own next to that of the sources, because a thread must not
 * load everything that opens images.
 */
export const ownThreadFunctions = {
  ...cziThreadFunctions,
  ...dicomThreadFunctions,
  ...multiThreadFunctions,
  ...tiffThreadFunctions,
};
