import type { BorrowedImage } from '../../tilesource/tile-source.js';
import type { LargeImage } from '../../tilesource/requests.js';

/** An image that the source cache keeps open. */
export interface OpenImage {
  image: LargeImage;
  /** The same image, for other images that include it. */
  borrowed: BorrowedImage;
  /** The other items and folders that the image consists of. `referencedItems` are those items that the image refers to by id. */
  parts: { items: ReadonlySet<string>; folders: ReadonlySet<string>; referencedItems: ReadonlySet<string> };
  sourceName: string;
  /** Memory that the open image uses, in bytes. */
  retainedBytes: number;
  close(): Promise<void>;
}
