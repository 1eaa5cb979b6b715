import { annotationAccessRoutes } from './access/access.routes.js';
import { annotationDocumentRoutes } from './documents/documents.routes.js';
import { annotationElementRoutes } from './elements/elements.routes.js';
import { annotationFolderRoutes } from './access/folder.routes.js';
import { annotationHistoryRoutes } from './history/history.routes.js';
import { annotationItemRoutes } from './documents/item.routes.js';
import { annotationListRoutes } from './documents/lists/lists.routes.js';
import { annotationMetadataRoutes } from './documents/metadata.routes.js';

/** Documents, elements, access and versions of annotations. */
export const annotationRoutes = [
  ...annotationListRoutes,
  ...annotationDocumentRoutes,
  ...annotationElementRoutes,
  ...annotationAccessRoutes,
  ...annotationHistoryRoutes,
  ...annotationMetadataRoutes,
  ...annotationItemRoutes,
  ...annotationFolderRoutes,
];
