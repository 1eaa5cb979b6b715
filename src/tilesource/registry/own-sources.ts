import { packageVersion } from '../../core/version.js';
import type { TileSourceDefinition } from '../tile-source.js';
import { cziSource } from '../sources/czi/czi-source.js';
import { deepZoomSource } from '../sources/deepzoom/deepzoom-source.js';
import { dicomSource } from '../sources/dicom/dicom-source.js';
import { heifSource } from '../sources/pictures/heif-source.js';
import { icoSource } from '../sources/pictures/ico-source.js';
import { jpegXlSource } from '../sources/pictures/jpegxl-source.js';
import { jpegXrSource } from '../sources/pictures/jpegxr-source.js';
import { pcxSource } from '../sources/pictures/pcx-source.js';
import { jpeg2000Source } from '../sources/jpeg2000/jpeg2000-source.js';
import { multiSource } from '../sources/multi/multi-source.js';
import { openSlideSource } from '../sources/openslide/openslide-source.js';
import { scanlinesSource } from '../sources/scanlines/scanlines-source.js';
import { sharpSource } from '../sources/sharp/sharp-source.js';
import { testSource } from '../sources/test/test-source.js';
import { tiffSource } from '../sources/tiff/tiff-source.js';
import { zarrSource } from '../sources/zarr/zarr-source.js';

/** The tile sources that come with the package. */
export const ownSources: readonly TileSourceDefinition[] = [
  tiffSource,
  cziSource,
  deepZoomSource,
  dicomSource,
  heifSource,
  icoSource,
  jpeg2000Source,
  jpegXlSource,
  jpegXrSource,
  multiSource,
  openSlideSource,
  pcxSource,
  scanlinesSource,
  sharpSource,
  testSource,
  zarrSource,
].map((source) => ({ ...source, version: packageVersion }));
