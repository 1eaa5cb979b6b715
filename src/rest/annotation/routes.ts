import { annotationAccessRoutes } from './access.js';
import { annotationDocumentRoutes } from './documents.js';
import { annotationElementRoutes } from './elements.js';
import { annotationFolderRoutes } from './folder.js';
import { annotationHistoryRoutes } from './history.js';
import { annotationItemRoutes } from './item.js';
import { annotationListRoutes } from './lists.js';
import { annotationMetadataRoutes } from './metadata.js';

import { annotationPlotRoutes } from './plot.js';

/** Everything below /annotation. */
export const annotationRoutes = [
  ...annotationListRoutes,
  ...annotationDocumentRoutes,
  ...annotationElementRoutes,
  ...annotationAccessRoutes,
  ...annotationHistoryRoutes,
  ...annotationMetadataRoutes,
  ...annotationItemRoutes,
  ...annotationPlotRoutes,
  ...annotationFolderRoutes,
];
