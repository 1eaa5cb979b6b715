import type { OverlaySize } from '../../annotation-format/bounding-box.js';
import type { Caller, HostAccess } from '../../host.js';
import type { HostRecords } from '../../core/host/host-records.js';
import { batches } from '../../core/database/id-batches.js';
import type { Images } from '../images/images.js';

/** Options of {@link OverlayImages}. */
export interface OverlayImagesOptions {
  records: HostRecords;
  images: Images;
  access: Pick<HostAccess, 'filter'>;
}

/** The large images to which image and pixelmap elements refer. */
export class OverlayImages {
  constructor(private readonly options: OverlayImagesOptions) {}

  /** Finds the size of an item's large image. Returns `null` if the item has no large image, or if the image cannot be read. */
  async findSize(itemId: string): Promise<OverlaySize | null> {
    const { records, images } = this.options;
    try {
      const item = await records.findItem(itemId);
      if (item === null) return null;
      const { sizeX, sizeY } = await images.use(item, (image) => image.metadata());
      return { width: sizeX, height: sizeY };
    } catch {
      // An image that cannot be read now may be readable later. Until then its size is unknown.
      return null;
    }
  }

  /**
   * Returns a function like {@link findSize} that also returns `null` for images that the caller may not read. Writes use this function
   * to compute the bounding boxes of the caller's elements.
   */
  sizeFinderFor(caller: Caller | null): (itemId: string) => Promise<OverlaySize | null> {
    return async (itemId) => ((await this.readableFileIds([itemId], caller)).has(itemId) ? this.findSize(itemId) : null);
  }

  /** Finds the file ids of the items' large images, by item id in ascending order. Items that the caller may not read are left out. */
  async readableFileIds(itemIds: readonly string[], caller: Caller | null): Promise<Map<string, string>> {
    const { records, access } = this.options;
    const fileIdEntries: [string, string][] = [];
    const filter = itemIds.length === 0 ? {} : await access.filter(caller, 'item', 0);
    for (const batch of batches(itemIds)) {
      for (const { id, largeImage } of await records.findItems(batch, filter)) {
        if (largeImage?.fileId !== undefined) fileIdEntries.push([id, largeImage.fileId]);
      }
    }
    return new Map(fileIdEntries.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
