import type { Core } from '../../core/core.js';
import { bindRoutes } from '../../http/route.js';
import type { AnnotationOffers } from '../annotations/feature.js';
import type { AnnotationOverlay } from '../annotations/overlay/overlay.js';
import type { Feature } from '../feature.js';
import type { Images } from '../images/images.js';
import type { Items } from '../items/items.js';
import type { Links } from '../links/links.js';
import { ZarrLabels } from './labels/zarr-labels.js';
import { ZarrFolders } from './zarr-folders.js';
import { ZarrImages } from './zarr-images.js';
import { zarrRoutes } from './zarr.routes.js';

interface ZarrNeeds extends Pick<AnnotationOffers, 'annotations'> {
  core: Core;
  overlay: AnnotationOverlay;
  images: Images;
  items: Items;
  links: Links;
}

/** Serves images of any format as OME-Zarr, and annotations as their labels. */
export const zarrFeature: Feature<ZarrNeeds, null> = {
  open({ core: { records, access, queues }, images, items, links, annotations, overlay }) {
    links.addKind('zarr');
    const labels = new ZarrLabels({ annotations, overlay, images, queues });
    const zarrImages = new ZarrImages({ images, queues, labels });
    const zarrFolders = new ZarrFolders({ records, access, images, queues, zarrImages });
    return { offers: null, routes: bindRoutes(zarrRoutes, { images, items, links, zarrImages, zarrFolders }) };
  },
};
