import { del, entries, set } from 'idb-keyval';
import { lockPage, pageKey, pagePrefix, pageStore, pageName, pageOf, withPages } from '../page-store.js';
import type { Edit, Element } from './model.js';

/** Unsaved changes of an annotation, as the browser stores them. */
export interface StoredEdits {
  annotationId: string;
  itemId: string;
  version: number;
  edits: [string, Edit][];
  /** a shape that is only half drawn */
  draft: Element | null;
}

/** Why the browser did not store the last changes. */
let refusal: string | null = null;

const database = () => pageStore('large-image');

/**
 * The prefix of the keys of changes that the user makes now. They stay under it if the session ends before they are stored, so that no other user of this browser sees them. `null` if the user is unknown: then changes are not stored.
 */
export const ownerOfEdits = pagePrefix;

const rememberRefusal = (error: unknown) => {
  refusal = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
};

/** Why unsaved changes are kept only while the page is open, because the storage of the browser is full or forbidden; otherwise `null`. */
export function reasonNotKept() {
  return refusal;
}

/** Stores unsaved changes, or removes them if there are none. @returns whether that succeeded */
export async function storeEdits(owner: string | null, edits: StoredEdits): Promise<boolean> {
  if (owner === null) return false;
  const key = pageKey(owner, edits.annotationId);
  try {
    await lockPage();
    await (edits.edits.length === 0 && !edits.draft ? del(key, database()) : set(key, edits, database()));
    refusal = null;
    return true;
  } catch (error) {
    rememberRefusal(error);
    return false;
  }
}

/**
 * Passes on the unsaved changes of the user that no open page has, first those that this tab had before it was reloaded.
 *
 * @param take takes over the changes; returns whether it has stored them again
 * @returns number of changes in other tabs
 */
export async function takeStoredEdits(take: (edits: StoredEdits) => Promise<boolean>): Promise<number> {
  const prefix = pagePrefix();
  if (prefix === null) return 0;
  try {
    return await withPages(async (isOpen, formerPage) => {
      const stored = (await entries<string, StoredEdits>(database())).filter(([key]) => key.startsWith(prefix));
      const isFormer = ([key]: [string, StoredEdits]) => Number(pageOf(key) === formerPage);
      let elsewhere = 0;
      for (const [key, edits] of stored.toSorted((left, right) => isFormer(right) - isFormer(left))) {
        if (pageOf(key) === pageName) continue;
        if (isOpen(pageOf(key))) elsewhere += edits.edits.length + Number(edits.draft !== null);
        else if (await take(edits)) await del(key, database());
      }
      return elsewhere;
    });
  } catch (error) {
    rememberRefusal(error);
    return 0;
  }
}
