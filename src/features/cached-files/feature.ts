import type { Core } from '../../core/core.js';
import { bindRoutes } from '../../http/route.js';
import type { Feature } from '../feature.js';
import type { ImageOffers } from '../images/feature.js';
import type { Items } from '../items/items.js';
import type { JobStarter } from '../jobs/running/job-starter.js';
import type { Settings } from '../settings/settings.js';
import { cacheFilesJob } from './cache-files.job.js';
import { CachedFileModel } from './cached-file.model.js';
import { CachedFiles } from './cached-files.js';
import { cachedFilesSweep } from './cached-files-sweep.js';
import { adminCachedFileRoutes } from './cached-files.routes.js';
import { itemCachedFileRoutes } from './item-cached-files.routes.js';
import { thumbnailJob } from './thumbnails.job.js';

interface CachedFileNeeds extends Pick<ImageOffers, 'images' | 'changes'> {
  core: Core;
  settings: Settings;
  items: Items;
  runner: JobStarter;
}

/**
 * Thumbnails, associated images, tile frames and histograms that are stored as files of the host. They are made on request, or
 * in advance by jobs.
 */
export const cachedFilesFeature: Feature<CachedFileNeeds, CachedFiles> = {
  async open({ core: { host, leases, records, hiddenItems, logger }, settings, items, images, changes, runner }) {
    const model = new CachedFileModel(records, hiddenItems);
    const cachedFiles = new CachedFiles({ model, leases, records, files: host.files, settings, logger });
    // The listener is added before the first `await`, because images already react to events of the host.
    changes.onChange((changedItems) => cachedFiles.removeAll(changedItems));
    await model.createIndexes();
    const services = { records, images, cachedFiles, logger };
    return {
      offers: cachedFiles,
      routes: bindRoutes([...itemCachedFileRoutes, ...adminCachedFileRoutes], { records, items, cachedFiles, runner }),
      jobs: [cacheFilesJob(services, 'tileFrames'), cacheFilesJob(services, 'histogram'), thumbnailJob(services)],
      sweep: cachedFilesSweep({ model, records, hidden: hiddenItems, files: host.files }),
    };
  },
};
