import type { Core } from '../../core/core.js';
import { bindRoutes } from '../../http/route.js';
import type { AnnotationServices } from '../annotations/annotation-services.js';
import type { Feature } from '../feature.js';
import type { Images } from '../images/images.js';
import type { Links } from '../links/links.js';
import type { Settings } from '../settings/settings.js';
import { AnnotationInstances } from './annotations/annotation-instances.js';
import { DicomFiles } from './answers/dicom-files.js';
import { Instances } from './answers/instances.js';
import { Slides } from './answers/slides.js';
import { withLinkRoutes, type DicomContext } from './context.js';
import { frameRoutes } from './frames.routes.js';
import { ImageIndex } from './images/image-index.js';
import { ImageRecordModel } from './images/image-record.model.js';
import { ImageLocator } from './images/locator.js';
import { instanceRoutes } from './instances.routes.js';
import { metadataRoutes } from './metadata.routes.js';
import { renderedRoutes } from './rendered.routes.js';
import { ImageSearch } from './search/search.js';
import { searchRoutes } from './search/search.routes.js';

interface DicomNeeds {
  core: Core;
  settings: Settings;
  images: Images;
  annotations: AnnotationServices;
  links: Links;
}

/** Offers images and annotations as DICOM (QIDO-RS and WADO-RS). */
export const dicomWebFeature: Feature<DicomNeeds, null> = {
  async open({ core, settings, images, annotations, links }, onClose) {
    links.addKind('dicomweb');
    const { ownCollections, records, queues, temporaryDirectory } = core;
    const model = new ImageRecordModel(ownCollections);
    await model.createIndexes();
    const index = new ImageIndex({ core, images, settings, model });
    index.followChanges(onClose);
    const slides = new Slides({ images, model, queue: queues.tiles });
    const files = new DicomFiles({ images, queue: queues.tiles });
    const annotationInstances = new AnnotationInstances({ annotations, temporaryDirectory });
    onClose(() => annotationInstances.close());
    const context: DicomContext = {
      records,
      links,
      images,
      queues,
      index,
      locator: new ImageLocator({ images, index, model, annotations }),
      search: new ImageSearch({ records, access: core.access, images, index, model, annotations, queue: queues.searches }),
      slides,
      files,
      annotations: annotationInstances,
      instances: new Instances({ slides, files, annotations: annotationInstances }),
    };
    const routes = [...searchRoutes, ...metadataRoutes, ...frameRoutes, ...instanceRoutes, ...renderedRoutes];
    const sweep = ({ full }: { full: boolean }) => {
      if (full) index.compareAll();
      return Promise.resolve({});
    };
    return { offers: null, routes: bindRoutes(withLinkRoutes(routes), context), sweep };
  },
};
