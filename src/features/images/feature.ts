import type { Core } from '../../core/core.js';
import type { LibrarySettings } from '../../configuration-text/read-settings.js';
import { bindRoutes } from '../../http/route.js';
import type { InstallOptions } from '../../installation.js';
import { sweepTemporaryFiles } from '../../core/temporary-files.js';
import { TileSourceRegistry } from '../../tilesource/registry.js';
import { cziSource } from '../../tilesource/sources/czi/czi-source.js';
import { deepZoomSource } from '../../tilesource/sources/deepzoom/deepzoom-source.js';
import { dicomSource } from '../../tilesource/sources/dicom/dicom-source.js';
import { jpeg2000Source } from '../../tilesource/sources/jpeg2000/jpeg2000-source.js';
import { multiSource } from '../../tilesource/sources/multi/multi-source.js';
import { openSlideSource } from '../../tilesource/sources/openslide/openslide-source.js';
import { scanlinesSource } from '../../tilesource/sources/scanlines/scanlines-source.js';
import { sharpSource } from '../../tilesource/sources/sharp/sharp-source.js';
import { testSource } from '../../tilesource/sources/test/test-source.js';
import { tiffSource } from '../../tilesource/sources/tiff/tiff-source.js';
import { zarrSource } from '../../tilesource/sources/zarr/zarr-source.js';
import { packageVersion } from '../../core/version.js';
import type { CachedFiles } from '../cached-files/cached-files.js';
import type { CacheOffers } from '../caches/feature.js';
import type { Feature } from '../feature.js';
import type { Items } from '../items/items.js';
import type { Settings } from '../settings/settings.js';
import { DicomMerge } from './dicom-merge.js';
import { HostFollower } from './follow-host.js';
import { Images } from './images.js';
import { sourceRoutes } from './sources.routes.js';

const ownSources = [
  tiffSource,
  cziSource,
  deepZoomSource,
  dicomSource,
  jpeg2000Source,
  multiSource,
  openSlideSource,
  scanlinesSource,
  sharpSource,
  testSource,
  zarrSource,
];

/** What images need. */
interface ImageNeeds extends CacheOffers {
  core: Core;
  options: InstallOptions;
  library: LibrarySettings;
  settings: Settings;
  items: Items;
  cachedFiles: CachedFiles;
}

/** Large images of items: which there are, and opened for whoever shows them. */
export const imagesFeature: Feature<ImageNeeds, Images> = {
  name: 'images',
  async open({ core, options, library, settings, items, cachedFiles, caches, tiles, sources }, onClose) {
    const { host, records, events, logger, temporaryDirectory } = core;
    const registry = new TileSourceRegistry({
      logger,
      ignoredNames: library.all_sources_ignored_names,
      sourceIgnoredNames: library.source_ignored_names,
    }).register(...ownSources.map((source) => ({ ...source, version: packageVersion })), ...(options.tileSources ?? []));
    const images = new Images({
      records,
      items,
      cachedFiles,
      files: host.files,
      registry,
      sources,
      tiles,
      forgetFile: (fileId) => caches.forgetFile(fileId),
      settings,
      logger,
      temporaryDirectory,
    });
    const dicom = new DicomMerge({ host, records, items, images, settings, logger });
    new HostFollower({ dicom, images, records, items, cachedFiles, registry, settings, logger }).follow(events, onClose);
    const sweep = async () => ({
      temporaryFiles: await sweepTemporaryFiles(temporaryDirectory),
      ...(await dicom.sweep()),
    });
    return { offers: images, routes: bindRoutes(sourceRoutes, { images }), sweep };
  },
};
