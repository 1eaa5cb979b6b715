import type { Core } from '../../core/core.js';
import type { FileSettings } from '../../configuration-text/read-settings.js';
import { bindRoutes } from '../../http/route.js';
import type { InstallOptions } from '../../installation.js';
import { sweepTemporaryFiles } from '../../core/temporary-files.js';
import { BlockCache } from './block-cache.js';
import { ownSources } from '../../tilesource/registry/own-sources.js';
import { TileSourceRegistry } from '../../tilesource/registry/registry.js';
import type { CacheOffers } from '../caches/feature.js';
import type { Feature } from '../feature.js';
import type { Items } from '../items/items.js';
import type { Settings } from '../settings/settings.js';
import { SeriesMerge } from './series-merge.js';
import { FolderDependants } from './folder-dependants.model.js';
import { HostFollower } from './follow-host.js';
import { ImageChanges } from './image-changes.js';
import { ImageMarking } from './image-marking.js';
import { Images } from './images.js';
import { sourceRoutes } from './sources.routes.js';

interface ImageNeeds extends CacheOffers {
  core: Core;
  options: InstallOptions;
  fileSettings: FileSettings;
  settings: Settings;
  items: Items;
}

/** The services that the feature offers to other features. */
export interface ImageOffers {
  images: Images;
  imageMarking: ImageMarking;
  changes: ImageChanges;
}

/** Makes items large images of their files, and opens these images for other features. */
export const imagesFeature: Feature<ImageNeeds, ImageOffers> = {
  async open({ core, options, fileSettings, settings, items, caches, tiles, sources }, onClose) {
    const { host, records, events, callers, logger, temporaryDirectory } = core;
    const registry = new TileSourceRegistry({
      logger,
      ignoredNames: fileSettings.all_sources_ignored_names,
      sourceIgnoredNames: fileSettings.source_ignored_names,
    }).register(...ownSources, ...(options.tileSources ?? []));
    const { files } = host;
    const blocks = new BlockCache(options.remoteBytes ?? fileSettings.memory.openSourceBytes);
    const changes = new ImageChanges();
    const dependants = new FolderDependants(records.parts);
    await dependants.createIndexes();
    const commonParts = { records, items, changes, files, blocks, logger, temporaryDirectory };
    const forgetFile = (fileId: string) => caches.forgetFile(fileId);
    const images = new Images({ ...commonParts, registry, sources, tiles, forgetFile, settings });
    const imageMarking = new ImageMarking({ ...commonParts, registry, dependants, images, callers });
    const seriesMerge = new SeriesMerge({ host, registry, records, dependants, items, images, imageMarking, settings, logger });
    new HostFollower({
      seriesMerge,
      images,
      imageMarking,
      records,
      dependants,
      items,
      changes,
      registry,
      settings,
      logger,
    }).follow(events, onClose);
    const sweep = async () => ({
      temporaryFiles: await sweepTemporaryFiles(temporaryDirectory),
      ...(await seriesMerge.sweep()),
    });
    return { offers: { images, imageMarking, changes }, routes: bindRoutes(sourceRoutes, { images }), sweep };
  },
};
