import type { Core } from '../../core/core.js';
import { bindRoutes } from '../../http/route.js';
import type { Feature } from '../feature.js';
import type { ImageOffers } from '../images/feature.js';
import type { Items } from '../items/items.js';
import type { JobStarter } from '../jobs/running/job-starter.js';
import type { JobStore } from '../jobs/jobs.js';
import { ConversionItems } from './conversion-items.js';
import { ConversionMarks } from './conversion-marks.model.js';
import { conversionJob } from './conversion.job.js';
import { creationRoutes } from './creation.routes.js';
import { folderImagesJob } from './folder-images.job.js';
import { FolderImages } from './folder-images.js';
import { LargeImageCreation } from './large-image-creation.js';
import { largeImageRoutes } from './large-image.routes.js';
import { pixelSizeRoutes } from './pixel-size.routes.js';

/** Dependencies of the feature. */
interface CreationNeeds extends Pick<ImageOffers, 'images' | 'imageMarking'> {
  core: Core;
  items: Items;
  jobs: JobStore;
  runner: JobStarter;
}

/** Turns items into large images, one by one or a whole folder at once. Files that no source reads are converted. */
export const creationFeature: Feature<CreationNeeds, null> = {
  async open({ core, items, images, imageMarking, jobs, runner }, onClose) {
    const { host, access, records, callers, logger, temporaryDirectory } = core;
    const { files, notify } = host;
    const conversionMarks = new ConversionMarks(records.parts);
    await conversionMarks.createIndexes();
    const conversionItems = new ConversionItems({ records, conversionMarks, files, host, jobs });
    const creation = new LargeImageCreation({
      registry: images.registry,
      records,
      conversionMarks,
      items,
      callers,
      imageMarking,
      files,
      conversionItems,
      jobs,
      runner,
      notify,
      logger,
    });
    const folderImages = new FolderImages({ records, items, images, imageMarking, jobs, runner, creation, access, logger });
    onClose(jobs.onUpdate((event) => creation.handleJobChange(event)));
    return {
      offers: null,
      routes: bindRoutes([...largeImageRoutes, ...pixelSizeRoutes, ...creationRoutes], {
        records,
        items,
        images,
        imageMarking,
        creation,
        folderImages,
      }),
      jobs: [
        conversionJob({ creation, images, conversionItems, records, files, temporaryDirectory }),
        folderImagesJob({ folderImages, callers, items }),
      ],
      sweep: ({ signal }) => creation.sweep(signal),
    };
  },
};
