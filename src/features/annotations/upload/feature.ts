import type { FileSettings } from '../../../configuration-text/read-settings.js';
import type { Core } from '../../../core/core.js';
import type { Feature } from '../../feature.js';
import type { ImageMarking } from '../../images/image-marking.js';
import type { Items } from '../../items/items.js';
import type { JobStarter } from '../../jobs/running/job-starter.js';
import type { AnnotationServices } from '../annotation-services.js';
import { annotationUploadJob } from './upload.job.js';
import { AnnotationUploadModel } from './upload.model.js';
import { AnnotationUploads } from './uploads.js';

/** The dependencies of the feature. */
interface UploadNeeds {
  core: Core;
  fileSettings: FileSettings;
  items: Items;
  imageMarking: ImageMarking;
  annotations: AnnotationServices;
  runner: JobStarter;
}

/** Reads uploaded files as annotations of the items that the uploads name. */
export const annotationUploadFeature: Feature<UploadNeeds, null> = {
  async open({ core, fileSettings, items, imageMarking, annotations, runner }, onClose) {
    const { host, ownCollections, leases, records, callers, events, logger } = core;
    const model = new AnnotationUploadModel(ownCollections);
    await model.createIndexes();
    const uploads = new AnnotationUploads({
      model,
      leases,
      annotations,
      records,
      items,
      callers,
      imageMarking,
      files: host.files,
      runner,
      maxBytes: fileSettings.max_annotation_input_file_length,
      notify: host.notify,
      logger,
    });
    onClose(() => uploads.close());
    onClose(events.on('upload.finished', (upload) => uploads.handleFinished(upload)));
    const sweep = async () => ({ annotationUploadNames: await uploads.sweep() });
    return { offers: null, jobs: [annotationUploadJob(uploads)], sweep };
  },
};
