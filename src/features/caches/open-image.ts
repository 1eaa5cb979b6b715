import type { BorrowedImage } from '../../tilesource/tile-source.js';
import type { LargeImage } from '../../tilesource/requests.js';

/** An image that the source cache keeps open. */
export interface OpenImage {
  image: LargeImage;
  /** The same image for other images that it is a part of. */
  borrowed: BorrowedImage;
  /** The items and folders that it is made of beside its own. `named` are the items among them that it names by their ids. */
  parts: { items: ReadonlySet<string>; folders: ReadonlySet<string>; named: ReadonlySet<string> };
  sourceName: string;
  retainedBytes: number;
  close(): Promise<void>;
}
