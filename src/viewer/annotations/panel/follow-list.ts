import { isRefused, pause } from '../../api.js';
import { followChanges, haveChanged, isStateOf, listAnnotations, type ListState } from '../requests.js';
import type { AnnotationRecord } from '../model.js';

/** Time in milliseconds after which a closed event stream is opened again. Without a stream, the list is requested at this interval. */
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
  let isRequesting = false;
  let isStale = false;
  /** whether the server has reported that the list is outdated */
  let isReportedStale = false;
  /** the last state that the open stream reported */
  let lastState: ListState | null = null;
  let wasDifferent = false;
  // The server reports a state that differs from the one before. If another user undoes a change of this page between two reports, it reports nothing.
  const timer = setInterval(() => {
    const isDifferent = lastState !== null && !isStateOf(lastState, listed());
    if (isDifferent && wasDifferent) void updateReported();
    wasDifferent = isDifferent;
  }, watchMs);
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  while (!signal.aborted) {
    if (!document.hidden) {
      // If the server cannot be reached, the request is repeated later.
      await followChanges(itemId, { signal, onEvent }).catch(() => undefined);
      lastState = null;
      await updateList();
    }
    await pause(watchMs, signal);
  }

  function onEvent(state: ListState) {
    lastState = state;
    isReportedStale = false;
    if (!isStateOf(state, listed())) void updateReported();
  }

  function updateReported() {
    isReportedStale = true;
    return updateList();
  }

  /** Requests the list until it is up to date, and retries after a while if that fails. A change that is reported during a request leads to another request. */
  async function updateList() {
    isStale = true;
    if (isRequesting) return;
    isRequesting = true;
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
    isRequesting = false;
  }

  async function request() {
    const before = listed();
    if (!isReportedStale && !(await haveChanged(itemId, before, signal))) return;
    isReportedStale = false;
    const next = await listAnnotations(itemId, signal);
    // A change that was saved here in the meantime is newer than the list.
    isStale ||= before !== listed();
    if (!isStale) onNew(next);
  }
}
