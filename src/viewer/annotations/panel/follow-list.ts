import { isRefused, pause } from '../../api.js';
import { followChanges, haveChanged, isStateOf, listAnnotations, type ListState } from '../requests.js';
import type { AnnotationRecord } from '../model.js';

/** Time in milliseconds after which an ended event stream is opened again. Without a stream, the list is requested at this interval. */
const watchMs = 3000;

/** Follows changes of an item's annotations by others while the page is visible, until the signal aborts. */
export async function followList(
  itemId: string,
  options: {
    /** the current list of this page */
    listed: () => AnnotationRecord[];
    onNew: (records: AnnotationRecord[]) => void;
    /** called if the item was removed or the user has lost access */
    onRefused: () => void;
    signal: AbortSignal;
  },
) {
  const { listed, onNew, onRefused, signal } = options;
  let isAsking = false;
  let isStale = false;
  /** whether the server has reported that the list is outdated */
  let isToldOtherwise = false;
  while (!signal.aborted) {
    if (!document.hidden) {
      // If the server cannot be reached, the request is repeated later.
      await followChanges(itemId, { signal, onEvent }).catch(() => undefined);
      await follow();
    }
    await pause(watchMs, signal);
  }

  function onEvent(state: ListState) {
    isToldOtherwise = !isStateOf(state, listed());
    if (isToldOtherwise) void follow();
  }

  /** Requests the list until it is up to date. Retries after a while if that fails. Changes reported meanwhile are not lost. */
  async function follow() {
    isStale = true;
    if (isAsking) return;
    isAsking = true;
    while (isStale && !signal.aborted && !document.hidden) {
      isStale = false;
      try {
        await request();
      } catch (error) {
        if (isRefused(error)) onRefused();
        else isStale = true;
        await pause(watchMs, signal);
      }
    }
    isAsking = false;
  }

  async function request() {
    const before = listed();
    if (!isToldOtherwise && !(await haveChanged(itemId, before, signal))) return;
    isToldOtherwise = false;
    const next = await listAnnotations(itemId, signal);
    // A change that was saved here in the meantime is newer than the list.
    isStale ||= before !== listed();
    if (!isStale) onNew(next);
  }
}
