import { administrationRoutes } from './large-image/routes.js';
import { allCachedFileRoutes } from './large-image/cached-files.js';
import { annotationRoutes } from './annotation/routes.js';
import { associatedImageRoutes } from './item/associated-images.js';
import { cachedFileRoutes } from './item/cached-files.js';
import { deepZoomRoutes } from './item/deep-zoom.js';
import { histogramRoutes } from './item/histogram.js';
import { internalMetadataRoutes } from './item/internal-metadata.js';
import { largeImageRoutes } from './item/large-image.js';
import { pictureRoutes } from './item/pictures.js';
import { settingRoutes } from './system/settings.js';
import { testImageRoutes } from './item/test-image.js';
import { tileFramesRoutes } from './item/tile-frames.js';
import { tileRoutes } from './item/tiles.js';
import { yamlConfigRoutes } from './folder/yaml-config.js';

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
