import { administrationRoutes } from './administration.routes.js';
import { allCachedFileRoutes } from './cached-files/cached-files.routes.js';
import { annotationRoutes } from './annotations/annotations.routes.js';
import { associatedImageRoutes } from './images/associated-images.routes.js';
import { cachedFileRoutes } from './cached-files/item-cached-files.routes.js';
import { deepZoomRoutes } from './images/deep-zoom.routes.js';
import { histogramRoutes } from './images/histogram.routes.js';
import { internalMetadataRoutes } from './cached-files/internal-metadata.routes.js';
import { largeImageRoutes } from './creation/large-image.routes.js';
import { pictureRoutes } from './images/pictures.routes.js';
import { settingRoutes } from './settings/settings.routes.js';
import { testImageRoutes } from './images/test-image.routes.js';
import { tileFramesRoutes } from './images/tile-frames.routes.js';
import { tileRoutes } from './images/tiles.routes.js';
import { yamlConfigRoutes } from './configuration/yaml-config.routes.js';

/** Every route that works with the services of an installation. A path that could be two of them belongs to the first. */
export const serviceRoutes = [
  ...tileRoutes,
  ...pictureRoutes,
  ...largeImageRoutes,
  ...associatedImageRoutes,
  ...deepZoomRoutes,
  ...tileFramesRoutes,
  ...histogramRoutes,
  ...cachedFileRoutes,
  ...internalMetadataRoutes,
  ...allCachedFileRoutes,
  ...testImageRoutes,
  ...administrationRoutes,
  ...yamlConfigRoutes,
  ...settingRoutes,
  ...annotationRoutes,
];
