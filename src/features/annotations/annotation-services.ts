import type { ElementStore } from './elements/element-store.js';
import type { OwnCollections } from '../../core/database/own-collections.js';
import type { Queues } from '../../core/concurrency/queues.js';
import type { WorkQueue } from '../../core/concurrency/work-queue.js';
import type { Core } from '../../core/core.js';
import { AnnotationPermissions } from './access/permissions.js';
import { AnnotationBodies } from './documents/body.js';
import { AnnotationCleanup } from './history/cleanup.js';
import { AnnotationEdits } from './documents/edits.js';
import { GeoJsonExport } from './documents/geojson-export.js';
import { AnnotationHistory } from './history/history.js';
import { BulkChanges } from './documents/bulk-changes.js';
import { AnnotationLists } from './documents/lists/lists.js';
import type { AnnotationDependencies } from './documents/annotation-dependencies.js';
import { AnnotationWriter } from './documents/writer.js';
import { AnnotationLifecycle } from './documents/lifecycle.js';
import { TableImports } from './table-import/table-imports.js';
import type { Items } from '../items/items.js';
import type { OverlayImages } from './overlay-images.js';

/** The services that routes and jobs about annotations call. */
export interface AnnotationServices {
  store: ElementStore;
  /** The queue in which requests for elements wait. */
  readQueue: WorkQueue;
  permissions: AnnotationPermissions;
  writer: AnnotationWriter;
  lifecycle: AnnotationLifecycle;
  bulkChanges: BulkChanges;
  edits: AnnotationEdits;
  history: AnnotationHistory;
  lists: AnnotationLists;
  cleanup: AnnotationCleanup;
  overlayImages: OverlayImages;
  tableImports: TableImports;
  geoJson: GeoJsonExport;
  /** The host's brand. The field in which an image or pixelmap element names its item is called after the brand, such as `girderId`. */
  brand: string;
}

/** Makes the services for annotations. */
export function createAnnotationServices(
  { access, host }: Pick<Core, 'access' | 'host'>,
  {
    items,
    overlayImages,
    brand,
    queues,
    ownCollections,
    temporaryDirectory,
    maxTableBytes,
    ...sharedDependencies
  }: Omit<AnnotationDependencies, 'bodies' | 'permissions' | 'overlayImages' | 'notify' | 'changeQueue'> & {
    items: Items;
    overlayImages: OverlayImages;
    brand: string;
    queues: Queues;
    ownCollections: OwnCollections;
    temporaryDirectory: string;
    /** Maximum size of a table that clients can send, in bytes. */
    maxTableBytes: number;
  },
): AnnotationServices {
  const { store, records } = sharedDependencies;
  const { directory } = host;
  const permissions = new AnnotationPermissions({ access, directory, items, records });
  const bodies = new AnnotationBodies(store, brand);
  const changeQueue = queues.edits;
  const dependencies: AnnotationDependencies = {
    ...sharedDependencies,
    bodies,
    permissions,
    overlayImages,
    notify: host.notify,
    changeQueue,
  };
  const writer = new AnnotationWriter(dependencies);
  const lifecycle = new AnnotationLifecycle(dependencies, writer);
  const edits = new AnnotationEdits(dependencies, writer, brand);
  return {
    store,
    readQueue: queues.elements,
    permissions,
    writer,
    lifecycle,
    bulkChanges: new BulkChanges({
      ownCollections,
      model: sharedDependencies.model,
      records,
      lifecycle,
      permissions,
      logger: sharedDependencies.logger,
    }),
    edits,
    history: new AnnotationHistory(dependencies, writer),
    lists: new AnnotationLists(dependencies, access),
    cleanup: new AnnotationCleanup(dependencies),
    overlayImages,
    tableImports: new TableImports({ store, edits, lifecycle, brand, temporaryDirectory, maxBytes: maxTableBytes }),
    geoJson: new GeoJsonExport(store, brand),
    brand,
  };
}
