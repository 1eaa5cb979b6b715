import type { Answer, Documents } from '../answers.js';

export type Folder = Documents['Folder'];

/** A folder or a collection. Both can contain folders. */
export type Place = Folder | Documents['Collection'];

/** An item. The fields about its file are only set if the server reads the file in its original folder. */
export type Item = Documents['Item'] & {
  /** The time since which the file has been missing. */
  fileMissing?: string;
  /** The time at which the server last noticed that the contents of the file had changed. */
  fileChanged?: string;
};

/** The fields of an item that every server gives to the viewer. */
export type ImageItem = Pick<Item, '_id' | 'name' | 'folderId' | 'updated'>;

export type PathStep = Answer<'GET folder/{id}/rootpath'>[number];

/** Whether an item can be opened in deep zoom: `yes`, `soon` while its pyramid is being made, or `no`. */
export function imageState({ largeImage }: Item): 'yes' | 'soon' | 'no' {
  if (largeImage === undefined || largeImage === null) return 'no';
  if (largeImage.expected) return 'soon';
  return largeImage.fileId ? 'yes' : 'no';
}

/** The order of names in which numbers count by their values: `a2` before `a10`. Documents that an earlier release has stored have no `naturalName`; these documents come first, in alphabetical order. */
export const naturalOrder = '[["naturalName",1],["lowerName",1]]';

/** A parameter for addresses that changes with the item, so that the browser does not show an older picture from its cache. */
export function itemVersion({ updated, created }: Pick<Item, 'updated'> & Partial<Item>) {
  return updated ?? created;
}

/** Whether two responses of the API are equal. @param options `ignoredMember` is the name of a member that is not compared */
export function isSame(left: unknown, right: unknown, { ignoredMember }: { ignoredMember?: string } = {}) {
  const [leftText, rightText] = [left, right].map((value) =>
    JSON.stringify(value, (key, part) => (key === ignoredMember ? undefined : part)),
  );
  return leftText === rightText;
}

/** Ids of documents by type, for requests about several documents. */
export function idsByType(documents: readonly { type: string; doc: { _id: string } }[]) {
  const ids: Record<string, string[]> = {};
  for (const { type, doc } of documents) (ids[type] ??= []).push(doc._id);
  return ids;
}

/**
 * The names from the root to the parent of a folder or item, for display.
 *
 * @param path as the server writes it: the kind of the root, then names. Slashes and backslashes in a name are escaped with a backslash.
 */
export function parentPathText(path: string): string {
  const steps = path.match(/(\\.|[^/\\])+/gs)?.map((step) => step.replaceAll(/\\(.)/gs, '$1')) ?? [];
  return steps.slice(1, -1).join(' / ');
}
