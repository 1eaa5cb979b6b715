import type { HostRecords } from '../../core/host/host-records.js';
import { routeDefiner } from '../../http/route.js';
import type { ImageMarking } from '../images/image-marking.js';
import type { Images } from '../images/images.js';
import type { Items } from '../items/items.js';
import type { FolderImages } from './folder-images.js';
import type { LargeImageCreation } from './large-image-creation.js';

/** The context of the routes that make large images. */
export interface CreationContext {
  records: HostRecords;
  items: Items;
  images: Images;
  imageMarking: ImageMarking;
  creation: LargeImageCreation;
  folderImages: FolderImages;
}

/** Declares a route of this feature. */
export const defineRoute = routeDefiner<CreationContext>();
