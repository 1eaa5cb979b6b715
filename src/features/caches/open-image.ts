import type { LargeImage } from '../../tilesource/requests.js';

/** An image that the source cache keeps open. */
export interface OpenImage {
  image: LargeImage;
  sourceName: string;
  retainedBytes: number;
  close(): Promise<void>;
}
