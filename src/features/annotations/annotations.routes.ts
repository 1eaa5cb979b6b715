import { annotationAccessRoutes } from './access/access.routes.js';
import { annotationDocumentRoutes } from './documents/documents.routes.js';
import { annotationElementRoutes } from './elements/elements.routes.js';
import { annotationFolderRoutes } from './access/folder.routes.js';
import { annotationHistoryRoutes } from './history/history.routes.js';
import { annotationItemRoutes } from './documents/item.routes.js';
import { annotationListRoutes } from './documents/lists/lists.routes.js';
import { annotationMetadataRoutes } from './documents/metadata.routes.js';
import { patchTable } from './table-import/patch-table.routes.js';

/** The routes for documents, elements, permissions and versions of annotations. */
export const annotationRoutes = [
  ...annotationListRoutes,
  ...annotationDocumentRoutes,
  ...annotationElementRoutes,
  patchTable,
  ...annotationAccessRoutes,
  ...annotationHistoryRoutes,
  ...annotationMetadataRoutes,
  ...annotationItemRoutes,
  ...annotationFolderRoutes,
];
