import { cziThreadFunctions } from '../sources/czi/czi-thread-functions.js';
import { dicomThreadFunctions } from '../sources/dicom/dicom-thread-functions.js';
import { multiThreadFunctions } from '../sources/multi/multi-thread-functions.js';
import { tiffThreadFunctions } from '../sources/tiff/tiff-thread-functions.js';
import type { ZarrLibraries } from '../sources/zarr/zarr-chunk.js';
import { zarrThreadFunctions } from '../sources/zarr/zarr-thread-functions.js';

/**
 * The functions that the tile sources of the package run in the decoding threads. This list is separate from the list of sources,
 * so that a thread does not load the code that opens images.
 *
 * @param libraries decoders that the threads load.
 */
export const ownThreadFunctions = (libraries: ZarrLibraries) => ({
  ...cziThreadFunctions,
  ...dicomThreadFunctions,
  ...multiThreadFunctions,
  ...tiffThreadFunctions,
  ...zarrThreadFunctions(libraries),
});
