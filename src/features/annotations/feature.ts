import type { FileSettings } from '../../configuration-text/read-settings.js';
import type { Core } from '../../core/core.js';
import { ScheduleModel } from '../../core/database/schedule.js';
import { bindRoutes } from '../../http/route.js';
import type { InstallOptions } from '../../installation.js';
import type { Feature } from '../feature.js';
import type { Images } from '../images/images.js';
import type { Items } from '../items/items.js';
import type { JobStore } from '../jobs/jobs.js';
import type { Settings } from '../settings/settings.js';
import { createAnnotationServices, type AnnotationServices } from './annotation-services.js';
import { annotationRoutes } from './annotations.routes.js';
import { AnnotationModel } from './documents/annotation.model.js';
import { AnnotationMetadataSearch } from './documents/lists/metadata-search.js';
import { MongoElementRecords } from './elements/element-records.model.js';
import { PackedElementStore } from './elements/store.js';
import { ElementFollowers } from './element-followers.js';
import { followHost } from './follow-host.js';
import { AnnotationHousekeeping } from './history/housekeeping.js';
import { OverlayImages } from './overlay-images.js';

/** The dependencies of the feature. */
interface AnnotationNeeds {
  core: Core;
  options: InstallOptions;
  fileSettings: FileSettings;
  settings: Settings;
  items: Items;
  images: Images;
  jobs: JobStore;
}

/** The services that this feature gives to other features. */
export interface AnnotationOffers {
  annotations: AnnotationServices;
  metadataSearch: AnnotationMetadataSearch;
  model: AnnotationModel;
  followers: ElementFollowers;
}

const defaultCleanupMs = 60 * 60_000;

/** Annotations of items, with their elements, versions and permissions. */
export const annotationsFeature: Feature<AnnotationNeeds, AnnotationOffers> = {
  async open({ core, options, fileSettings, settings, items, images, jobs }, onClose) {
    const { ownCollections, records, events, logger, brand, queues, temporaryDirectory } = core;
    const overlayImages = new OverlayImages({ records, images, access: core.access });
    const store = new PackedElementStore({
      records: new MongoElementRecords(ownCollections),
      brand,
      overlaySizes: (itemId) => overlayImages.findSize(itemId),
    });
    onClose(() => store.close());
    const model = new AnnotationModel(ownCollections);
    onClose(() => model.close());
    await Promise.all([store.createIndexes(), model.createIndexes()]);
    const followers = new ElementFollowers();
    const annotations = createAnnotationServices(core, {
      model,
      store,
      followers,
      records,
      settings,
      logger,
      items,
      overlayImages,
      brand,
      queues,
      ownCollections,
      temporaryDirectory,
      maxTableBytes: fileSettings.max_annotation_input_file_length,
    });
    onClose(() => annotations.tableImports.close());
    onClose(() => annotations.geoJson.close());
    onClose(async () => {
      annotations.bulkChanges.close();
      await annotations.cleanup.close();
      await annotations.writer.close();
    });
    const housekeeping = new AnnotationHousekeeping({
      cleanup: annotations.cleanup,
      schedule: new ScheduleModel(ownCollections),
      settings,
      logger,
      everyMs: options.annotationCleanupMs ?? defaultCleanupMs,
    });
    onClose(() => housekeeping.close());
    followHost(events, { annotations, model, records }, onClose);
    const metadataSearch = new AnnotationMetadataSearch(annotations, records, core.access);
    return {
      offers: { annotations, metadataSearch, model, followers },
      routes: bindRoutes(annotationRoutes, { annotations, items, records, streamsEnd: jobs.closing }),
      // The cleanup comes last, so that it also removes the elements of the annotations that `bulkChanges` has just removed.
      sweep: async (sweepOptions) => ({
        ...(await annotations.bulkChanges.sweep(sweepOptions)),
        ...(await annotations.cleanup.sweep(sweepOptions)),
      }),
    };
  },
};
