import { bindRoutes } from '../../../http/route.js';
import type { Feature } from '../../feature.js';
import type { Items } from '../../items/items.js';
import type { AnnotationServices } from '../annotation-services.js';
import { TableBlocks, createTableThreads } from './blocks.js';
import { TableFiles } from './files.js';
import { folderSummary } from './folder-summary.routes.js';
import { annotationTableRoutes } from './table.routes.js';
import { Tables } from './tables.js';

/** The services for other features that need measurements of elements. */
export interface TableOffers {
  blocks: TableBlocks;
  tables: Tables;
}

/** Tables of the measurements of elements: rows, counts and summaries that match a filter, and files. */
export const tableFeature: Feature<{ items: Items; annotations: AnnotationServices }, TableOffers> = {
  open({ items, annotations }, onClose) {
    const threads = createTableThreads();
    onClose(() => threads.close());
    const blocks = new TableBlocks(annotations.store, threads);
    const tables = new Tables(threads);
    const files = new TableFiles(threads);
    return {
      offers: { blocks, tables },
      routes: bindRoutes([...annotationTableRoutes, folderSummary], { annotations, items, blocks, tables, files }),
    };
  },
};
