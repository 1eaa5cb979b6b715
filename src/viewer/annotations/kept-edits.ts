import { createStore, del, entries, set, type UseStore } from 'idb-keyval';
import { serverName } from '../api.js';
import { currentUser } from '../session.js';
import type { Edit } from './model.js';

/** Unsaved changes of an annotation, as the browser stores them. */
interface KeptEdits {
  annotationId: string;
  itemId: string;
  version: number;
  edits: [string, Edit][];
}

/** The database of the browser; `null` if it allows none. */
let store: UseStore | null | undefined;
/** Why the browser stores nothing. */
let refusal: string | null = null;

function database() {
  try {
    store ??= createStore('large-image', 'unsaved');
  } catch (error) {
    store = null;
    refusal = String(error);
  }
  return store;
}

/**
 * The prefix under which changes that are made now are stored, also if the session ends meanwhile: nobody else who uses this browser sees them.
 * `null` if the user is unknown, as on pages with the element; changes are not stored then.
 */
export function ownerOfEdits() {
  const user = currentUser();
  return user && `${serverName()} ${user._id} `;
}

const failed = (error: unknown) => {
  refusal = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
};

/** Why unsaved changes are kept only while the page is open, because the storage of the browser is full or forbidden; otherwise `null`. */
export function reasonNotKept() {
  return refusal;
}

/** Stores unsaved changes, or removes them if there are none. @returns whether that succeeded */
export async function keep(owner: string | null, kept: KeptEdits): Promise<boolean> {
  const to = owner === null ? null : database();
  if (!to) return false;
  const key = `${owner}${kept.annotationId}`;
  try {
    await (kept.edits.length === 0 ? del(key, to) : set(key, kept, to));
    refusal = null;
    return true;
  } catch (error) {
    failed(error);
    return false;
  }
}

/** The unsaved changes of the user that earlier visits have left. */
export async function keptEdits(): Promise<KeptEdits[]> {
  const own = ownerOfEdits();
  const from = own === null ? null : database();
  if (own === null || !from) return [];
  try {
    return (await entries<string, KeptEdits>(from)).flatMap(([key, kept]) => (key.startsWith(own) ? [kept] : []));
  } catch (error) {
    failed(error);
    return [];
  }
}
