import type { Core } from '../../core/core.js';
import { bindRoutes } from '../../http/route.js';
import type { CachedFiles } from '../cached-files/cached-files.js';
import type { Feature } from '../feature.js';
import type { Images } from '../images/images.js';
import type { JobStarter } from '../jobs/running/job-starter.js';
import { thumbnailJob } from '../cached-files/thumbnails.job.js';
import { thumbnailRoutes } from '../cached-files/thumbnails.routes.js';

/** The dependencies of the feature. */
interface ThumbnailNeeds {
  core: Core;
  images: Images;
  cachedFiles: CachedFiles;
  runner: JobStarter;
}

/** Thumbnails and associated images of all large images, made by a job in advance. */
export const thumbnailsFeature: Feature<ThumbnailNeeds, null> = {
  open({ core: { records, logger }, images, cachedFiles, runner }) {
    return {
      offers: null,
      routes: bindRoutes(thumbnailRoutes, { cachedFiles, runner }),
      jobs: [thumbnailJob({ records, images, cachedFiles, logger })],
    };
  },
};
