import { browseTexts, commonTexts } from '../texts.js';

/** Documents of the API, as far as this page uses them. */
export interface Folder {
  _id: string;
  name: string;
  description?: string;
  public: boolean;
  /** 0 read, 1 write, 2 administer */
  _accessLevel: number;
  updated?: string;
  meta?: Record<string, unknown>;
}

export interface Item {
  _id: string;
  name: string;
  description?: string;
  folderId: string;
  created: string;
  updated?: string;
  size: number;
  meta?: Record<string, unknown>;
  /** `jobId` is the job that makes it, while it is `expected` */
  largeImage?: { fileId?: string; expected?: boolean; jobId?: string };
  /** reason why its file is not a large image */
  largeImageRefused?: string;
  /** Since when the file, which is served in place, has been gone. */
  fileMissing?: string;
  /** When other bytes were last found in the file, which is served in place. */
  fileChanged?: string;
}

/** The item fields that viewers know on every server. */
export type ImageItem = Pick<Item, '_id' | 'name' | 'folderId' | 'updated'>;

export type PathStep = { type: string; object: { _id: string; name?: string; login?: string } };

/** Whether an item can be opened in deep zoom: `yes`, `soon` while its pyramid is being made, or `no`. */
export function imageState({ largeImage }: Item): 'yes' | 'soon' | 'no' {
  if (largeImage === undefined || largeImage === null) return 'no';
  if (largeImage.expected) return 'soon';
  return largeImage.fileId ? 'yes' : 'no';
}

/** Sort order of names by their numbers. Documents of an earlier release come first, in alphabetical order. */
export const naturalOrder = '[["naturalName",1],["lowerName",1]]';

/** The action for a file that is not an image yet. The server can convert one that is only too large. */
export function retryLabel(reason: string) {
  return /convert|too (large|many)|at most/i.test(reason) ? browseTexts.convert : commonTexts.tryAgain;
}

/** A text that changes with the item, so that the browser does not show an older picture from its cache. */
export function itemVersion({ updated, created }: Pick<Item, 'updated'> & Partial<Item>) {
  return updated ?? created;
}

/** Whether two answers of the API are equal. */
export function isSame(one: unknown, other: unknown, { but }: { but?: string } = {}) {
  const [former, now] = [one, other].map((value) => JSON.stringify(value, (key, part) => (key === but ? undefined : part)));
  return former === now;
}
