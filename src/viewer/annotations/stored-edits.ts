import { del, entries, set } from 'idb-keyval';
import { lockPage, pageKey, pageStore, pageName, pageNameOf, userKeyPrefix, callWithOpenPages } from '../page-store.js';
import type { Edit, Element } from './annotation-model.js';

/** Unsaved changes of an annotation, as the browser stores them. */
export interface StoredEdits {
  annotationId: string;
  itemId: string;
  version: number;
  edits: [elementId: string, edit: Edit][];
  /** a shape that is only half drawn */
  draft: Element | null;
}

let lastFailure: string | null = null;

const openDatabase = () => pageStore('large-image');

const rememberFailure = (error: unknown) => {
  lastFailure = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
};

/** Why the browser did not store the last changes, for example because its storage is full or forbidden; `null` if it stored them. */
export function lastStorageFailure() {
  return lastFailure;
}

/** Stores an annotation's unsaved changes; if there are none, removes what was stored. Does nothing if the prefix is `null`. @returns whether storing or removing succeeded */
export async function storeEdits(prefix: string | null, storedEdits: StoredEdits): Promise<boolean> {
  if (prefix === null) return false;
  const key = pageKey(prefix, storedEdits.annotationId);
  try {
    await lockPage();
    await (storedEdits.edits.length === 0 && !storedEdits.draft
      ? del(key, openDatabase())
      : set(key, storedEdits, openDatabase()));
    lastFailure = null;
    return true;
  } catch (error) {
    rememberFailure(error);
    return false;
  }
}

/**
 * Offers the user's stored changes to `takeOver`, except for the changes of open pages. The changes that this tab had before it was reloaded are offered first.
 *
 * @param takeOver takes over the changes; returns whether it has stored them again, so that they can be deleted here
 * @returns number of changes in other tabs
 */
export async function offerStoredEdits(takeOver: (storedEdits: StoredEdits) => Promise<boolean>): Promise<number> {
  const prefix = userKeyPrefix();
  if (prefix === null) return 0;
  try {
    return await callWithOpenPages(async (isOpen, formerPage) => {
      const storedEntries = (await entries<string, StoredEdits>(openDatabase())).filter(([key]) => key.startsWith(prefix));
      const rank = ([key]: [string, StoredEdits]) => (pageNameOf(key) === formerPage ? 0 : 1);
      let countElsewhere = 0;
      for (const [key, storedEdits] of storedEntries.toSorted((left, right) => rank(left) - rank(right))) {
        if (pageNameOf(key) === pageName) continue;
        if (isOpen(pageNameOf(key))) countElsewhere += storedEdits.edits.length + Number(storedEdits.draft !== null);
        else if (await takeOver(storedEdits)) await del(key, openDatabase());
      }
      return countElsewhere;
    });
  } catch (error) {
    rememberFailure(error);
    return 0;
  }
}
