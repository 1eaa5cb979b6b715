import { isGoneOrForbidden, pause } from '../../api.js';
import { followChanges, haveAnnotationsChanged, isUpToDate, listAnnotations, type ListState } from '../annotation-requests.js';
import type { AnnotationRecord } from '../annotation-model.js';

/** Time in milliseconds after which a closed event stream is opened again. Without a stream, the list is requested at this interval. */
const retryMs = 3000;

/** Follows changes of an item's annotations by others while the page is visible, until the signal aborts. */
export async function followList(
  itemId: string,
  options: {
    /** the current list of this page */
    currentList: () => AnnotationRecord[];
    onListChanged: (records: AnnotationRecord[]) => void;
    /** called if the item was removed or the user has lost access */
    onRefused: () => void;
    signal: AbortSignal;
  },
) {
  const { currentList, onListChanged, onRefused, signal } = options;
  let isRequesting = false;
  let needsRequest = false;
  /** whether the server has reported that the list is outdated */
  let isReportedStale = false;
  /** the last state that the open stream reported */
  let lastState: ListState | null = null;
  let wasDifferent = false;
  // The server only reports a state that differs from its last report. If this page makes a change and another user undoes it before the next
  // report, the server reports nothing. Therefore, the list is also compared with the last report at regular intervals.
  const timer = setInterval(() => {
    const isDifferent = lastState !== null && !isUpToDate(lastState, currentList());
    if (isDifferent && wasDifferent) void updateStaleList();
    wasDifferent = isDifferent;
  }, retryMs);
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  while (!signal.aborted) {
    if (!document.hidden) {
      // If the server cannot be reached, the loop tries again.
      await followChanges(itemId, { signal, onEvent }).catch(() => undefined);
      lastState = null;
      await updateList();
    }
    await pause(retryMs, signal);
  }

  function onEvent(state: ListState) {
    lastState = state;
    isReportedStale = false;
    if (!isUpToDate(state, currentList())) void updateStaleList();
  }

  function updateStaleList() {
    isReportedStale = true;
    return updateList();
  }

  /** Requests the list until it is up to date, and retries after a while if that fails. A change that is reported during a request leads to another request. */
  async function updateList() {
    needsRequest = true;
    if (isRequesting) return;
    isRequesting = true;
    while (needsRequest && !signal.aborted && !document.hidden) {
      needsRequest = false;
      try {
        await updateListOnce();
      } catch (error) {
        if (isGoneOrForbidden(error)) onRefused();
        else needsRequest = true;
        await pause(retryMs, signal);
      }
    }
    isRequesting = false;
  }

  async function updateListOnce() {
    const listBefore = currentList();
    if (!isReportedStale && !(await haveAnnotationsChanged(itemId, listBefore, signal))) return;
    isReportedStale = false;
    const newRecords = await listAnnotations(itemId, signal);
    // If this page has saved a change during the request, its own list is newer than the response.
    needsRequest ||= listBefore !== currentList();
    if (!needsRequest) onListChanged(newRecords);
  }
}
