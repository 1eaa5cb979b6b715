import type { Core } from '../../core/core.js';
import { bindRoutes } from '../../http/route.js';
import type { CachedFiles } from '../cached-files/cached-files.js';
import type { Feature } from '../feature.js';
import type { Images } from '../images/images.js';
import type { Items } from '../items/items.js';
import type { JobStarter } from '../jobs/running/job-starter.js';
import { associatedImageRoutes } from './associated-images.routes.js';
import type { PictureContext } from './context.js';
import { deepZoomRoutes } from './deep-zoom.routes.js';
import { histogramRoutes } from './histogram.routes.js';
import { iiifImageRoutes } from './iiif/image.routes.js';
import { iiifPresentationRoutes } from './iiif/presentation.routes.js';
import { pictureRoutes } from './pictures.routes.js';
import { testImageRoutes } from './test-image.routes.js';
import { tileFramesRoutes } from './tile-frames.routes.js';
import { tileRoutes } from './tiles.routes.js';

/** The services that the feature uses. */
interface PictureNeeds {
  core: Core;
  items: Items;
  images: Images;
  cachedFiles: CachedFiles;
  runner: JobStarter;
}

/** Serves tiles, regions, pixels, combined frames, associated images, histograms, Deep Zoom and IIIF. */
export const picturesFeature: Feature<PictureNeeds, null> = {
  open({ core: { host, access, records, queues }, ...needs }) {
    const context: PictureContext = { ...needs, records, queues, files: host.files, access };
    const routes = [
      ...tileRoutes,
      ...pictureRoutes,
      ...associatedImageRoutes,
      ...deepZoomRoutes,
      ...tileFramesRoutes,
      ...histogramRoutes,
      ...testImageRoutes,
      ...iiifImageRoutes,
      ...iiifPresentationRoutes,
    ];
    return { offers: null, routes: bindRoutes(routes, context) };
  },
};
